package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
)

// A reloadable is a process whose configuration file the test changes.
type reloadable struct {
	*apptest.Process
	file string
}

// startReloadable serves the demo store under a configuration of the given lines, or the store of sql.dsn
// if that is among them.
func startReloadable(t *testing.T, lines ...string) *reloadable {
	t.Helper()
	r := &reloadable{file: filepath.Join(t.TempDir(), "portico.yaml")}
	r.write(t, lines...)
	arguments, isDemo := []string{"--config", r.file}, !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "sql.dsn: ") })
	if isDemo {
		arguments = append(arguments, "--demo")
	}
	r.Process = apptest.LaunchWith(t, nil, arguments...)
	r.AwaitAddresses(t, isDemo)
	return r
}

// write replaces the configuration file. Its first two lines are the addresses, unless lines
// set them.
func (r *reloadable) write(t *testing.T, lines ...string) {
	t.Helper()
	var text strings.Builder
	for _, address := range []string{"listen: 127.0.0.1:0", "ops.listen: 127.0.0.1:0"} {
		name, _, _ := strings.Cut(address, " ")
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+" ") }) {
			address = ""
		}
		text.WriteString(address + "\n")
	}
	text.WriteString(strings.Join(lines, "\n") + "\n")
	apptest.WriteFile(t, r.file, text.String())
}

// A reloadAnswer is the answer to POST /reload.
type reloadAnswer struct {
	status  int
	Changed []string
	Faults  []config.Fault
}

// reload asks for a reload on the operators' port.
func (r *reloadable) reload(t *testing.T, headers ...string) reloadAnswer {
	t.Helper()
	got := apptest.Send(t, "POST", r.Ops+"/reload", "", headers...)
	answer := reloadAnswer{status: got.Status}
	if got.Status != http.StatusUnauthorized {
		apptest.Parse(t, got.Body, &answer)
	}
	return answer
}

// hangup sends SIGHUP and waits until the program has reloaded its configuration, or refused
// to, for the nth time because of it.
func (r *reloadable) hangup(t *testing.T, n int) {
	t.Helper()
	r.Signal(t, syscall.SIGHUP)
	testenv.Await(t, "a reload", func() bool { return strings.Count(r.Stderr.Text(), `by="signal SIGHUP"`) >= n })
}

// mustChange writes lines and expects a reload to apply the named settings.
func (r *reloadable) mustChange(t *testing.T, lines []string, changed ...string) {
	t.Helper()
	r.write(t, lines...)
	want := reloadAnswer{status: http.StatusOK, Changed: append([]string{}, changed...)}
	if diff := cmp.Diff(want, r.reload(t), cmp.AllowUnexported(reloadAnswer{})); diff != "" {
		t.Fatalf("answer to POST /reload (-want +got):\n%s", diff)
	}
}

// otherValue returns lines that change a setting to a valid value other than its default. The
// first line is the setting's own.
func otherValue(t *testing.T, s config.Setting) []string {
	t.Helper()
	special := map[string][]string{
		"limits.body_bytes":     {"1MiB"}, // at most an eighth of limits.requests_bytes
		"limits.query_bytes":    {"300KiB"},
		"limits.requests_bytes": {"200MiB"},
		"record.body_bytes":     {"2MiB"},
		"ops.token":             {"a-token-of-sixteen"},
		"cache.redis_url":       {"redis://127.0.0.1:1"},
		"follow.dsn":            {"mysql:shop@tcp(127.0.0.1:1)/shop"},
		"server.tls_cert":       {"cert.pem", "server.tls_key: key.pem"},
		"server.tls_key":        {"key.pem", "server.tls_cert: cert.pem"},
		"store.currency":        {"EUR"},
		"store.locale":          {"de_DE"},
		"store.tax_country":     {"DE"},
		"store.tax_region":      {"NY"},
		"store.tax_postcode":    {"90034"},
		"store.origin_country":  {"DE"},
		"store.origin_region":   {"NY"},
		"store.origin_postcode": {"10001"},
		"store.attribute_sets":  {`"4,9"`},
		"store.tax_classes":     {`"0,2"`},
		"store.themes":          {"base/default"},

		"customers.required_fields":            {`"firstname,lastname,dob"`},
		"customers.required_address_fields":    {`"firstname,lastname,city"`},
		"customers.countries":                  {`"US,CA"`},
		"customers.countries_without_postcode": {"HK"},
		"sql.dsn":                              {"sqlite:other.db"},
		"sql.write_connections":                {"3"},
		"sql.read_connections":                 {"3"},
		"media.endpoint":                       {"https://s3.example.com"},
		"media.prefix":                         {"images/"},
		"rest.mapping":                         {"./mapping.yaml"},
		"tracing.headers":                      {"Authorization=other", "tracing.endpoint: http://127.0.0.1:1"},
	}
	if value, ok := special[s.Name]; ok {
		return append([]string{s.Name + ": " + value[0]}, value[1:]...)
	}
	value := map[config.Kind]string{
		config.Text: "other", config.Address: "127.0.0.1:1", config.URL: "http://other.example", config.Networks: "127.0.0.1", config.Decimal: "0.5",
		config.Key: strings.Repeat("0a", 32), config.TimeZone: "Europe/Berlin", config.Names: "other",
	}[s.Kind]
	switch s.Kind {
	case config.Bool:
		value = strconv.FormatBool(s.Default != "true")
	case config.Int:
		n, err := strconv.ParseInt(s.Default, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		value = strconv.FormatInt(n+1, 10)
	case config.Size:
		value = "77MiB"
	case config.Duration:
		d, err := time.ParseDuration(s.Default)
		if err != nil {
			t.Fatal(err)
		}
		value = (d + time.Second).String()
	case config.Choice:
		value = s.Choices[slices.IndexFunc(s.Choices, func(c string) bool { return c != s.Default })]
	}
	return []string{s.Name + ": " + value}
}

// TestReloadEverySetting changes one setting after the other in the file of a running process.
// Marked settings are applied, all others are refused with their place, and neither keeps the
// next one from being changed.
func TestReloadEverySetting(t *testing.T) {
	t.Parallel()
	p := startReloadable(t)
	const line = 3 // after the addresses
	change := func(name string, reload bool, lines []string) {
		t.Run(name, func(t *testing.T) {
			if reload {
				p.mustChange(t, lines, name)
				p.mustChange(t, nil, name)
				return
			}
			p.write(t, lines...)
			got := p.reload(t)
			if got.status != http.StatusConflict || len(got.Faults) == 0 {
				t.Fatalf("%+v, want a refusal", got)
			}
			at := slices.IndexFunc(got.Faults, func(f config.Fault) bool { return f.Setting == name })
			if at < 0 || got.Faults[at].Origin != fmt.Sprintf("%s:%d", p.file, line) || !strings.Contains(got.Faults[at].Problem, "restart") {
				t.Errorf("faults %v", got.Faults)
			}
			p.mustChange(t, nil)
		})
	}
	for _, s := range program.New().Settings() {
		change(s.Name, s.Reload, otherValue(t, s))
	}
	for _, table := range config.Tables() {
		change(table.Name, table.Reload, []string{table.Name + ": [" + table.Example + "]"})
	}
	p.Stop(t)
}

// TestReloadEffects checks the effects of reloads on a running process, asked for in both
// ways.
func TestReloadEffects(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	dir := filepath.Join(t.TempDir(), "record")
	legacy := "legacy.url: " + old.URL
	p := startReloadable(t, legacy)
	get := func(path string, headers ...string) apptest.Reply {
		t.Helper()
		return apptest.Send(t, "GET", p.Contract+path, "", append(headers, "Accept", "application/json")...)
	}
	rows := func(got apptest.Reply) int {
		t.Helper()
		var records map[string]any
		apptest.Parse(t, got.Body, &records)
		return len(records)
	}
	all := rows(get("/api/rest/products?limit=0"))

	t.Run("log level", func(t *testing.T) {
		p.mustChange(t, []string{legacy, "log.level: error"}, "log.level")
		get("/api/rest/products?page=77")
		p.mustChange(t, []string{legacy}, "log.level")
		get("/api/rest/products?page=78")
		logged := func(text string) int { return strings.Count(p.Stderr.Text(), text) }
		testenv.Await(t, "the log line of the last request", func() bool { return logged("msg=request") >= 2 })
		if got := logged("msg=request"); got != 2 { // not the one under the level error
			t.Errorf("%d requests are logged, want 2", got)
		}
		if got := logged(`msg="configuration reloaded" by="client 127.0.0.1" changed=[log.level]`); got != 2 {
			t.Errorf("%d reloads are logged, want 2", got)
		}
	})
	t.Run("limits", func(t *testing.T) {
		if all < 2 {
			t.Fatalf("%d products", all)
		}
		p.mustChange(t, []string{legacy, "lists.max_rows: 1", "limits.body_bytes: 1KiB"}, "limits.body_bytes", "lists.max_rows")
		if got := rows(get("/api/rest/products?limit=0")); got != 1 {
			t.Errorf("%d products under lists.max_rows 1", got)
		}
		long := `{"qty": 1, "pad": "` + strings.Repeat("x", 2<<10) + `"}`
		put := func() int {
			return apptest.Send(t, "PUT", p.Contract+"/api/rest/stockitems/1", long, "Content-Type", "application/json", "Authorization", apptest.DemoAdmin()).Status
		}
		if got := put(); got != http.StatusBadRequest {
			t.Errorf("a body over limits.body_bytes: %d", got)
		}
		p.mustChange(t, []string{legacy, "lists.guest_max_rows: 1"}, "limits.body_bytes", "lists.max_rows", "lists.guest_max_rows")
		if got := put(); got != http.StatusOK {
			t.Errorf("a body within limits.body_bytes: %d", got)
		}
		if got := get("/api/rest/products?limit=0"); got.Status != http.StatusBadRequest {
			t.Errorf("%d under lists.guest_max_rows 1", got.Status)
		}
		if got := rows(get("/api/rest/products?limit=0", "Authorization", apptest.DemoAdmin())); got < all { // and products that Guests do not see
			t.Errorf("an Admin gets %d products, want %d or more", got, all)
		}
	})
	t.Run("rates", func(t *testing.T) {
		rate := []string{legacy, "limits.guest_rate: 0.0001", "limits.guest_burst: 1"}
		p.mustChange(t, rate, "limits.guest_rate", "limits.guest_burst", "lists.guest_max_rows")
		if got := get("/api/rest/products/1").Status; got != http.StatusOK {
			t.Errorf("the first: %d", got)
		}
		p.mustChange(t, append(rate, "log.level: debug"), "log.level") // keeps the counts
		if got := get("/api/rest/products/1").Status; got != http.StatusTooManyRequests {
			t.Errorf("the second: %d", got)
		}
		p.mustChange(t, []string{legacy}, "log.level", "limits.guest_rate", "limits.guest_burst")
		if got := get("/api/rest/products/1").Status; got != http.StatusOK {
			t.Errorf("without a rate: %d", got)
		}
	})
	t.Run("routes, shadow and recording", func(t *testing.T) {
		moved := []string{legacy, "routes:", "- {resource: products, to: legacy, shadow: true}", "shadow.clock: 1s", "record.dir: " + dir, "record.sample: 1"}
		if got := apptest.Send(t, "GET", p.Ops+"/shadow", "").Status; got != http.StatusNotFound {
			t.Errorf("/shadow without a shadowed route: %d", got)
		}
		p.write(t, moved...)
		p.hangup(t, 1)
		if got := get("/api/rest/products/1").Body; got != "old" {
			t.Errorf("the moved resource is answered %s", got)
		}
		testenv.Await(t, "a difference", func() bool {
			return strings.Contains(apptest.Send(t, "GET", p.Ops+"/shadow", "").Body, `"call": "getProduct"`)
		})
		if got := apptest.Send(t, "GET", p.Ops+"/migration", "").Body; !strings.Contains(got, `"routes":["products to legacy, shadowed"]`) ||
			!strings.Contains(got, `{"call":"getProduct","outcomes":{"different":1}`) || !strings.Contains(got, `"since":"2`) {
			t.Errorf("/migration: %s", got)
		}
		p.write(t, legacy)
		p.hangup(t, 2)
		if got := apptest.Send(t, "GET", p.Ops+"/migration", "").Body; !strings.Contains(got, `"routes":[]`) || !strings.Contains(got, `"call":"getProduct"`) {
			t.Errorf("/migration without a shadowed route: %s", got)
		}
		if got := get("/api/rest/products/1").Body; !strings.HasPrefix(got, "{") {
			t.Errorf("after the way back: %s", got)
		}
		testenv.Await(t, "recorded exchanges", func() bool {
			written, err := filepath.Glob(filepath.Join(dir, "exchanges", "*.json"))
			return err == nil && len(written) == 1
		})
	})
	t.Run("refused", func(t *testing.T) {
		secret := "b-token-of-sixteen"
		for name, lines := range map[string][]string{
			"a fault":                     {legacy, "log.level: loud", "lists.max_rows: 1"},
			"a restart":                   {legacy, "ops.token: " + secret, "lists.max_rows: 1"},
			"a folder that cannot be one": {legacy, "record.dir: " + filepath.Join(p.file, "x"), "lists.max_rows: 1"},
		} {
			p.write(t, lines...)
			want, _, _ := strings.Cut(lines[1], ":")
			got := p.reload(t)
			if got.status != http.StatusConflict || len(got.Faults) != 1 || got.Faults[0].Setting != want || got.Faults[0].Origin != p.file+":4" {
				t.Errorf("%s: %+v", name, got)
			}
			if got := rows(get("/api/rest/products?limit=0")); got != all {
				t.Errorf("%s: %d products, want %d", name, got, all)
			}
		}
		p.hangup(t, 3)
		text := p.Stderr.Text()
		if !strings.Contains(text, `msg="configuration not reloaded" by="signal SIGHUP" fault=`) || strings.Contains(text, secret) {
			t.Errorf("logged\n%s", text)
		}
	})
	metrics := apptest.ScrapeMetrics(t, p.Ops)
	for series, want := range map[string]float64{`portico_config_reloads_total{outcome="applied"}`: 9, `portico_config_reloads_total{outcome="refused"}`: 4, "portico_config_last_reload_successful": 0} {
		if got, ok := metrics[series]; got != want || !ok {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	if got := metrics["portico_config_last_reload_success_timestamp_seconds"]; got < float64(time.Now().Add(-time.Hour).Unix()) {
		t.Errorf("last reload at %v", got)
	}
	p.write(t, legacy)
	p.hangup(t, 4)
	if got := apptest.ScrapeMetrics(t, p.Ops)["portico_config_last_reload_successful"]; got != 1 {
		t.Errorf("after a reload that was not refused portico_config_last_reload_successful is %v", got)
	}
	p.Stop(t)
}

// TestReloadNeedsToken checks that a reload needs the token of the operators' port.
func TestReloadNeedsToken(t *testing.T) {
	t.Parallel()
	p := startReloadable(t, "ops.token: "+apptest.OpsToken)
	if got := p.reload(t).status; got != http.StatusUnauthorized {
		t.Errorf("without the token: %d", got)
	}
	if got := p.reload(t, "Authorization", "Bearer "+apptest.OpsToken); got.status != http.StatusOK || len(got.Changed) != 0 {
		t.Errorf("with the token: %+v", got)
	}
}

// TestReloadWithRequestInFlight checks that a request ends under the rules under which it
// began, also when the program reloads its configuration and then stops.
func TestReloadWithRequestInFlight(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "old")
	}))
	t.Cleanup(old.Close)
	legacy := "legacy.url: " + old.URL
	dir := filepath.Join(t.TempDir(), "record")
	p := startReloadable(t, legacy, "routes: [{resource: products, to: legacy}]", "record.dir: "+dir, "record.sample: 1")
	var held apptest.Reply
	var sending sync.WaitGroup
	sending.Go(func() { held = apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", "") })
	<-entered
	p.mustChange(t, []string{legacy}, "record.dir", "record.sample", "routes")
	if got := apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", ""); got.Body == "old" || got.Status != http.StatusOK {
		t.Errorf("a new request: %d %s", got.Status, got.Body)
	}
	p.Signal(t, syscall.SIGTERM)
	p.Stderr.Await(t, p.Process, "msg=stopping")
	p.Signal(t, syscall.SIGHUP) // does not end it
	p.Stderr.Await(t, p.Process, `by="signal SIGHUP"`)
	close(release)
	sending.Wait()
	if held.Body != "old" {
		t.Errorf("the request in flight: %d %s", held.Status, held.Body)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if written, err := filepath.Glob(filepath.Join(dir, "exchanges", "*.json")); err != nil || len(written) != 1 {
		t.Errorf("recorded %v (%v), want the request in flight", written, err)
	}
}

// TestHangupWhileStarting checks that SIGHUP does not end a program that has not opened its
// store yet.
func TestHangupWhileStarting(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := apptest.Launch(t, []string{"PORTICO_SQL_DSN=postgres://u:p@" + listener.Addr().String() + "/d?sslmode=disable"}, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	p.Signal(t, syscall.SIGHUP)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.Wait(t); code != 1 { // -1 if a signal has ended it
		t.Errorf("exit code %d, want 1: the store cannot be opened", code)
	}
}

// TestReloadUnderLoad sends calls all the time while the routes and a limit are reloaded back
// and forth. Each call gets the reply of one of the two configurations, never a mixture of
// one's route and the other's limit, and a call that begins after a reload gets the reply of
// the new one.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	legacy := "legacy.url: " + old.URL
	// In the order in which they take effect. Under the limit of the first, Portico would send
	// all products.
	systems := []struct {
		name  string
		lines []string
	}{
		{"legacy", []string{legacy, "routes: [{resource: products, to: legacy}]"}},
		{"portico", []string{legacy, "lists.max_rows: 1"}},
	}
	p := startReloadable(t, systems[1].lines...)
	guest := apptest.NewClient(t, p.Contract, "")
	systemOf := func() (string, error) {
		got, err := guest.Call(t.Context(), http.MethodGet, "/products?limit=0", "")
		if err != nil || got.Status != http.StatusOK {
			return "", fmt.Errorf("%d %s: %w", got.Status, got.Body, err)
		}
		if got.Body == "old" {
			return "legacy", nil
		}
		var records map[string]any
		if err := json.Unmarshal([]byte(got.Body), &records); err != nil || len(records) != 1 {
			return "", fmt.Errorf("a mixed reply (%w): %.100s", err, got.Body)
		}
		return "portico", nil
	}
	const reloads, callers = 30, 4
	var done atomic.Bool
	var mu sync.Mutex
	seen := map[string]int{}
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for tick := pace(); !done.Load(); <-tick {
				system, err := systemOf()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[system]++
				mu.Unlock()
			}
		})
	}
	for i := range reloads {
		system := systems[i%2]
		if i%10 == 9 {
			p.write(t, system.lines...)
			p.hangup(t, (i+1)/10)
		} else {
			p.mustChange(t, system.lines, "lists.max_rows", "routes")
		}
		if got, err := systemOf(); got != system.name || err != nil {
			t.Errorf("after reload %d: %s (%v), want %s", i, got, err, system.name)
		}
	}
	done.Store(true)
	calling.Wait()
	if len(seen) != len(systems) {
		t.Errorf("seen %v", seen)
	}
	t.Logf("answered by %v", seen)
	p.Stop(t)
}
