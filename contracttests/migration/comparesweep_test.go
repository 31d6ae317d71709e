package migration_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// change sends writes of an Admin to a demo server.
func change(t *testing.T, base string, writes ...[3]string) {
	t.Helper()
	credentials := apptest.Credentials(t)
	admin := apptest.NewClient(t, base, credentials.Authorization(contracttests.Admin))
	for _, w := range writes {
		if got, err := admin.Call(t.Context(), w[0], w[1], w[2]); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s (%v)", w, got.Status, got.Body, err)
		}
	}
}

// TestSweep sweeps two servers with changed, missing and additional records. Every change must
// be reported, expected ones apart, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	legacy := apptest.StartDemo(t, "magento")
	candidate := apptest.StartDemo(t, "magento")
	change(t, candidate.Contract,
		[3]string{http.MethodPut, "/stockitems/2", `{"qty":"57"}`},
		[3]string{http.MethodPut, "/customers/2", `{"lastname":"Changed","group_id":"1","website_id":"1","firstname":"Grace","email":"grace@example.com"}`},
		[3]string{http.MethodDelete, "/products/11", ""},
		[3]string{http.MethodPut, "/products/4", `{"name":"Another Lamp"}`},
	)
	change(t, legacy.Contract, [3]string{http.MethodDelete, "/customers/3", ""})
	expected := apptest.NewFile(t, "expected.yaml", `
- {resource: stock_items, field: qty, record: 2, candidate: "57.0000", reason: raised after the move}
- {resource: products, field: name, record: 4, reason: renamed}
- {resource: products, field: stock_data.qty, reason: raised after the move}
- {resource: products, field: url_key, record: 1, reason: never happens}
`)
	// Without customer_2, which saves a quarter of the time.
	page := filepath.Join(t.TempDir(), "page.html")
	store := "sqlite:" + filepath.Join(t.TempDir(), "noted.db")
	note := []string{"--note", "--config", apptest.NewFile(t, "portico.yaml", "sql: {dsn: '"+store+"'}")}
	found, screen, err := runCompare(t, apptest.SweepArguments(legacy.Contract, candidate.Contract, "--credentials", apptest.CredentialsBefore(t, "customer_2"), "--expect", expected, "--html", page, "--ignore", "updated_at", note[0], note[1], note[2])...)
	if !isDifference(err) || found == nil {
		t.Fatalf("error %v\n%s", err, screen)
	}
	for _, e := range found.Expectations {
		if (e.Answers > 0) != (e.Reason != "never happens") {
			t.Errorf("expectation %+v", e)
		}
	}
	only := func(resource, as, system string, records int, keys ...string) {
		if !slices.ContainsFunc(found.OneSided, func(o migrate.OneSided) bool {
			return o.Resource == resource && o.As == as && o.Only == system && o.Records == records && slices.Equal(o.Keys, keys)
		}) {
			t.Errorf("no %d %s as %s only in the %s: %+v", records, resource, as, system, found.OneSided)
		}
	}
	only("customers", "admin", "candidate", 1, "3")
	only("products", "admin", "legacy", 1, "11")
	only("stock_items", "admin", "legacy", 1, "11")
	fields := map[string]bool{}
	for _, f := range found.Fields {
		fields[f.Call+" "+f.Field] = true
		if f.Call == "getStockItem" || strings.HasSuffix(f.Field, ".qty") {
			t.Errorf("%s %s is expected, and reported: %+v", f.Call, f.Field, f.Examples)
		}
		for _, e := range f.Examples {
			if e.Legacy == e.Candidate || e.Curl == "" {
				t.Errorf("example %+v", e)
			}
		}
	}
	for _, want := range []string{"getCustomer lastname", "listCustomers lastname", "listCustomers records", "listProducts records", "listStockItems records"} {
		if !fields[want] {
			t.Errorf("%s is not reported, but %v", want, fields)
		}
	}
	for _, accept := range []string{"json", "xml"} {
		if !slices.ContainsFunc(found.Fields, func(f migrate.FieldCount) bool {
			return slices.ContainsFunc(f.Examples, func(e migrate.Example) bool { return e.Accept == "application/"+accept })
		}) {
			t.Errorf("no difference in %s", accept)
		}
	}
	if found.Expected == 0 || found.Lost != 0 || !strings.Contains(found.Verdict(), fmt.Sprintf("and %d as expected", found.Expected)) {
		t.Errorf("%d expected, %d lost: %s", found.Expected, found.Lost, found.Verdict())
	}
	if got := found.Sweep; !slices.Equal(got.Callers, []string{"admin", "customer_1", "guest"}) || !slices.Equal(got.Stores, []string{"0", "1", "2", "3"}) || got.Records < 40 {
		t.Errorf("swept %+v", got)
	}
	for _, want := range []string{"about ", "only in the legacy: 1 products as admin", "never found: never happens", "swept: as admin"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in %s", want, screen)
		}
	}
	checkComparePage(t, page, found)
	checkNote(t, store, found)
}

// checkNote checks a store's record of a sweep.
func checkNote(t *testing.T, dsn string, found *migrate.Report) {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn})
	text, _, err := db.Evidence().Last(t.Context(), plan.SweepEvidence)
	if err != nil {
		t.Fatal(err)
	}
	var got plan.Sweep
	apptest.Parse(t, text, &got)
	var answers, different, accepted int64
	for _, swept := range got.Resources {
		answers, different, accepted = answers+swept.Answers, different+swept.Different, accepted+swept.Accepted
	}
	if answers != int64(found.Compared) || different != int64(found.Different) || accepted != int64(found.Expected) {
		t.Errorf("noted %d answers, %d different, %d accepted, want those of %s", answers, different, accepted, found.Verdict())
	}
	if got.Resources["customers"].Different == 0 || got.Resources["stock_items"].Accepted == 0 || got.Resources["order_items"].Different != 0 || !got.Complete ||
		got.Legacy != found.Legacy || !got.Started.Equal(found.Started) || got.Ended.Before(got.Started) || !slices.Equal(got.Callers, found.Sweep.Callers) {
		t.Errorf("noted %+v", got)
	}
}

// TestSweepContinues kills and interrupts a sweep as a process. It must continue from its
// state, and report the same in the end as a sweep that runs through.
func TestSweepContinues(t *testing.T) {
	t.Parallel()
	legacy := apptest.StartDemo(t, "magento")
	demo := apptest.ProxyTo(t, legacy.Contract)
	var asked, most atomic.Int64
	held := make(chan struct{}, 1)
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limit := most.Load(); asked.Add(1) > limit && limit > 0 {
			select {
			case held <- struct{}{}:
			default:
			}
			<-r.Context().Done() // the process ends
			return
		}
		demo.ServeHTTP(w, r)
	}))
	t.Cleanup(counted.Close)
	state := filepath.Join(t.TempDir(), "sweep.state")
	arguments := apptest.SweepArguments(legacy.Contract, counted.URL, "--stores", "1", "--sample", "30%", "--seed", "7", "--json", "-")
	whole, screen, err := runCompare(t, arguments[:len(arguments)-2]...)
	if err != nil {
		t.Fatal(err, screen)
	}
	all := asked.Load()
	arguments = append(arguments, "--state", state)
	for _, s := range []os.Signal{syscall.SIGKILL, os.Interrupt} {
		asked.Store(0)
		most.Store(all / 2)
		p := launchCompare(t, arguments...)
		testenv.Receive(t, "the comparison to get this far", held)
		p.Signal(t, s)
		code := p.Wait(t)
		if _, err := os.Stat(state); err != nil {
			t.Fatalf("after %v: %v", s, err)
		}
		if s == os.Interrupt && (code != program.ExitCannotRun || !strings.Contains(p.Stderr.Text(), "repeat the command to continue")) {
			t.Errorf("exit code %d; it said %q", code, p.Stderr.Text())
		}
		if _, _, err := apptest.Run(t, append([]string{"compare", "--seed", "8"}, slices.DeleteFunc(slices.Clone(arguments), func(a string) bool { return a == "--seed" || a == "7" })...)...); err == nil ||
			!strings.Contains(err.Error(), `is the state of another sweep: its --seed is "7", not "8"`) {
			t.Errorf("with other options: %v", err)
		}
		for len(held) > 0 {
			<-held
		}
	}
	asked.Store(0)
	most.Store(0)
	p := launchCompare(t, arguments...)
	if code := p.Wait(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.Stderr.Text())
	}
	var got migrate.Report
	apptest.Parse(t, p.Stdout.Text(), &got)
	if got.Compared != whole.Compared || got.Sweep.Records != whole.Sweep.Records || !slices.Equal(got.Calls, whole.Calls) {
		t.Errorf("continued: %d answers, %d records, want %d and %d", got.Compared, got.Sweep.Records, whole.Compared, whole.Sweep.Records)
	}
	if asked.Load() > all*3/4 {
		t.Errorf("the last run sent %d of %d requests", asked.Load(), all)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state of a complete sweep: %v", err)
	}
}

// TestSweepRefuses checks the error messages for sweeps that cannot be made.
func TestSweepRefuses(t *testing.T) {
	t.Parallel()
	demo := apptest.StartDemo(t, "magento")
	folder := t.TempDir()
	in := func(name, content string) string { return apptest.NewFile(t, name, content) }
	for _, tt := range []struct {
		name, want string
		arguments  []string
	}{
		{"requests", "--sweep needs no --requests", []string{"--sweep", "--requests", folder}},
		{"flag of a sweep", "--rate is a flag of --sweep", []string{"--requests", folder, "--rate", "1"}},
		{"rate", "--rate must be 0 to", []string{"--sweep", "--rate", "-1"}},
		{"rate that is no number", "--rate must be 0 to", []string{"--sweep", "--rate", "NaN"}},
		{"empty sample", "--sample must be more than 0%", []string{"--sweep", "--sample", "0%"}},
		{"large sample", `at most 100%, not "1.5"`, []string{"--sweep", "--sample", "1.5"}},
		{"no sample", `not "all"`, []string{"--sweep", "--sample", "all"}},
		{"pause", "--pause must not be negative", []string{"--sweep", "--pause", "-1s"}},
		{"store", `--stores: "../1" is no id`, []string{"--sweep", "--stores", "../1"}},
		{"folder of the state", "--state: there is no folder", []string{"--sweep", "--state", filepath.Join(folder, "none", "a")}},
		{"no state", "is no state of a sweep", []string{"--sweep", "--state", in("state", "{}")}},
		{"note without a sweep", "--note is a flag of --sweep", []string{"--requests", folder, "--note"}},
		{"note in no store", "--note: ", []string{"--sweep", "--note", "--config", in("portico.yaml", "sql: {dsn: 'sqlite:"+filepath.Join(folder, "none", "a.db")+"'}")}},
		{"no expectations", "--expect: open", []string{"--sweep", "--expect", filepath.Join(folder, "none")}},
		{"expectations", "expected.yaml:1: [0].field must have a value", []string{"--sweep", "--expect", in("expected.yaml", "- {call: getProduct}")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, screen, err := runCompare(t, append([]string{"--legacy", demo.Contract, "--candidate", demo.Contract}, tt.arguments...)...)
			if found != nil || apptest.ExitCode(err) != program.ExitCannotRun || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q\n%s", err, tt.want, screen)
			}
		})
	}
}

// TestRequestsWithExpectations checks that recorded requests may differ as expected, too.
func TestRequestsWithExpectations(t *testing.T) {
	t.Parallel()
	legacy := apptest.StartDemo(t, "magento")
	candidate := apptest.StartDemo(t, "magento")
	change(t, candidate.Contract, [3]string{http.MethodPut, "/stockitems/2", `{"qty":"57"}`})
	file := filepath.Join(t.TempDir(), "reads.json")
	accept := "application/json"
	var steps []contracttests.Step
	for _, path := range []string{"/stockitems", "/stockitems/2", "/stockitems/3"} {
		steps = append(steps, contracttests.Step{As: "admin", Method: http.MethodGet, Path: path, Accept: &accept})
	}
	writeRequests(t, file, []contracttests.Exchange{{Name: "stock", Steps: steps}})
	expected := apptest.NewFile(t, "expected.yaml", `- {resource: stock_items, field: qty, record: 2, reason: raised}`)
	found, screen, err := runCompare(t, "--legacy", legacy.Contract, "--candidate", candidate.Contract, "--requests", file, "--expect", expected)
	if err != nil || found.Expected != 2 || found.Verdict() != "All 3 answers are equal, apart from 2 that differ as expected" || found.Expectations[0].Answers != 2 {
		t.Errorf("%+v (%v)\n%s", found, err, screen)
	}
}

// TestSweepProgress checks that the rate and the time left are drawn on a terminal.
func TestSweepProgress(t *testing.T) {
	t.Parallel()
	script := testenv.Need(t, "script")
	legacy := apptest.StartDemo(t, "magento")
	command := apptest.Program(t) + " compare '" + strings.Join(apptest.SweepArguments(legacy.Contract, legacy.Contract, "--stores", "1", "--sample", "1%"), "' '") + "'"
	p := apptest.StartProgram(t, nil, script, "-qec", command, "/dev/null")
	if p.Wait(t) != 0 || !regexp.MustCompile(`0 differ · [0-9]+/s · [0-9ms]+ left`).MatchString(p.Stdout.Text()) {
		t.Errorf("on a terminal it wrote %q", p.Stdout.Text())
	}
}
