package importer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// addCustomer returns a statement that adds a customer to a legacy store.
func addCustomer(id int, email string) string {
	return fmt.Sprintf("INSERT INTO customer_entity (entity_id, entity_type_id, website_id, email, group_id, created_at, updated_at) SELECT %d, entity_type_id, 1, '%s', 1, NOW(), NOW() FROM customer_entity WHERE entity_id = 1", id, email)
}

// TestFollowIntoBackend follows a legacy store into a store with a backend: records that are added,
// changed and removed in the legacy store are added, changed and removed at the backend, too.
// Changes that the backend refuses become dead letters, and while it is down, following stops.
func TestFollowIntoBackend(t *testing.T) {
	t.Parallel()
	backend, settings := apptest.StartPeople(t)
	dsn := sqltest.SQLite(t)
	shop := apptest.NewImported(t, magento1test.Demo, "", dsn)
	shop.Commands = shop.Commands.With(settings...)
	shop.Run(t, "--media", shop.Media, "all")
	flags := append([]string{"--config", shop.Config}, shop.From...)
	once := func(arguments ...string) (report apptest.Report, err error) {
		t.Helper()
		out, _, err := shop.Commands.Run(t, append(append([]string{"follow", "--once", "--json"}, flags...), arguments...)...)
		if err == nil {
			apptest.Parse(t, out, &report)
		}
		return report, err
	}
	expect := func(when, want string, parked ...string) {
		t.Helper()
		report, err := once()
		got, _, _ := strings.Cut(report.Counts()["customers"], " removed") // dead letters may have been tried more than once
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
		if got := apptest.SelectTexts(t, apptest.OpenStore(t, "sqlite", dsn), "SELECT reason FROM import_parked ORDER BY record_key"); !cmp.Equal(got, parked) {
			t.Errorf("%s: parked are %q, want %q", when, got, parked)
		}
		if out, _, err := shop.Commands.Run(t, "ids", "check"); parked == nil && (err != nil || out != "nothing found\n") {
			t.Errorf("%s: portico ids check says %s%v", when, out, err)
		}
	}
	if got := shop.Commands.MustRun(t, append([]string{"follow", "--check"}, flags...)...); !strings.Contains(got, "changes arrive within") {
		t.Errorf("--check says %s", got)
	}
	before := backend.Held(t)
	expect("nothing has changed", "")

	apptest.Execute(t, shop.DB, addCustomer(70, "new@example.com"), apptest.NameCustomer(1, "Changed"), "DELETE FROM customer_entity WHERE entity_id = 3")
	expect("changes", "1 created, 1 changed, 1")
	got := backend.Held(t)
	if len(got) != len(before) || !strings.HasPrefix(got[1], "Changed ") || got[3] != "" || !strings.HasSuffix(got[70], "new@example.com") {
		t.Errorf("the backend has %v", got)
	}

	backend.Answer(func(one apptest.Person) int {
		if strings.Contains(one.Email+one.Name, "efused") {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	apptest.Execute(t, shop.DB, addCustomer(71, "refused@example.com"), addCustomer(72, "other@example.com"), apptest.NameCustomer(1, "Refused"), apptest.NameCustomer(2, "Taken"))
	expect("refusals", "1 created, 1 changed, 0", "the backend refuses it", "the backend refuses it")
	got = backend.Held(t)
	if !strings.HasPrefix(got[1], "Changed ") || !strings.HasPrefix(got[2], "Taken ") || got[71] != "" || got[72] == "" {
		t.Errorf("the backend has %v", got)
	}
	backend.Answer(nil)
	expect("the backend accepts it", "1 created, 1 changed, 0")

	backend.Answer(func(apptest.Person) int { return http.StatusServiceUnavailable })
	apptest.Execute(t, shop.DB, addCustomer(73, "late@example.com"))
	if report, err := once(); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("while the backend is away: %+v, %v", report, err)
	}
	backend.Answer(nil)
	expect("the backend is back", "1 created, 0 changed, 0")
	if got := backend.Held(t); got[73] == "" {
		t.Errorf("the backend has %v", got)
	}
	expect("nothing has changed since", "")

	// A follower was killed while it removed a customer: the backend and the store have done that.
	store := apptest.OpenStore(t, "sqlite", dsn)
	apptest.Execute(t, store, "INSERT INTO backend_record (resource, legacy_id, backend_id, tag, base, note, changed_at) VALUES ('customers', 99, 'gone', 't', '{}', '"+`{"by":"killed","op":"delete","resource":"customers","key":99}`+"', 0)")
	if out, _, err := shop.Commands.Run(t, "ids", "check"); err == nil || !strings.HasPrefix(out, "unfinished ") {
		t.Errorf("portico ids check says %s%v, want an unfinished write", out, err)
	}
	expect("a write was interrupted", "")
}

// TestFollowIntoBackendKilled kills many followers of TestFollowIntoBackendKilledOnce.
func TestFollowIntoBackendKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	killBackendFollowers(t, 30)
}

// TestFollowIntoBackendKilledOnce kills "portico follow" with SIGKILL at random moments, while the
// legacy store changes at random and the backend is slow. In the end the backend has the same
// records as after an import of the legacy store into an empty backend.
func TestFollowIntoBackendKilledOnce(t *testing.T) {
	t.Parallel()
	killBackendFollowers(t, 3)
}

func killBackendFollowers(t *testing.T, rounds int) {
	t.Helper()
	backend, settings := apptest.StartPeople(t)
	dsn := sqltest.SQLite(t)
	from := sqltest.LoggedMariaDB(t)
	shop := apptest.NewImportedAt(t, from, magento1test.Fill(t, from, magento1test.Demo, ""), "", dsn)
	shop.Commands = shop.Commands.With(settings...)
	shop.Run(t, "--media", shop.Media, "all")
	start := func() *apptest.Process {
		return startFollow(t, shop.Commands, append([]string{"--config", shop.Config, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000"}, shop.From...)...)
	}
	backend.Answer(func(apptest.Person) int {
		time.Sleep(rand.N(20 * time.Millisecond))
		return 0
	})
	last, sample := 100, testenv.NewSample(t)
	for round := range rounds {
		f := start()
		f.Stderr.Await(t, f, saysFollows)
		after := time.Duration(sample.Int64N(int64(time.Second)))
		t.Logf("round %d is over after %s", round, after)
		for end := time.Now().Add(after); time.Now().Before(end); {
			time.Sleep(rand.N(20 * time.Millisecond)) // or the fresh import at the end takes minutes
			switch last++; rand.N(3) {
			case 0:
				apptest.Execute(t, shop.DB, fmt.Sprintf("DELETE FROM customer_entity WHERE entity_id = %d", 100+rand.N(last-100)))
			case 1:
				apptest.Execute(t, shop.DB, apptest.NameCustomer(1+rand.N(4), fmt.Sprint("Name ", last)))
			default:
				apptest.Execute(t, shop.DB, addCustomer(last, fmt.Sprintf("c%d@example.com", last)))
			}
		}
		f.Signal(t, os.Kill)
		if f.Wait(t) >= 0 {
			t.Fatalf("round %d: the follower has ended by itself:\n%s", round, f.Stderr.Text())
		}
		apptest.ExpireLease(t, "sqlite", dsn)
		// As if a minute had passed: no process works on the interrupted write any more.
		apptest.Execute(t, apptest.OpenStore(t, "sqlite", dsn), "UPDATE backend_record SET changed_at = 0 WHERE note IS NOT NULL")
	}
	backend.Answer(nil)
	f := start()
	fresh, elsewhere := apptest.StartPeople(t)
	again, _ := shop.WithStore(t)
	again.Commands = again.Commands.With(elsewhere...)
	again.Run(t, "--media", shop.Media, "all")
	want := fresh.Held(t)
	if !testenv.Poll(t, func() bool { return maps.Equal(want, backend.Held(t)) }) {
		t.Fatalf("a fresh import -, followed +:\n%s\n%s", cmp.Diff(want, backend.Held(t)), f.Stderr.Text())
	}
	// The backend has a record before the ID map does. A stop between the two leaves the rest to the
	// next follower.
	var out string
	if !testenv.Poll(t, func() bool {
		var err error
		out, _, err = shop.Commands.Run(t, "ids", "check")
		return err == nil
	}) {
		t.Errorf("portico ids check says %s", out)
	}
	f.Stop(t)
}
