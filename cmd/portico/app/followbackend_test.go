package app

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// startPeople starts a backend that holds customers, and returns it with the settings that name it.
func startPeople(t *testing.T) (backend *peopleBackend, settings []string) {
	t.Helper()
	backend = &peopleBackend{}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	mapping := filepath.Join(t.TempDir(), "people.yaml")
	if err := os.WriteFile(mapping, []byte(peopleMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	return backend, []string{"PORTICO_ADAPTER=rest", "PORTICO_REST_URL=" + server.URL, "PORTICO_REST_MAPPING=" + mapping}
}

// people returns what a backend holds, by legacy id, and fails if it holds one twice.
func (p *peopleBackend) people(t *testing.T) map[int64]string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[int64]string{}
	for _, one := range p.all {
		if one.Number == nil || all[*one.Number] != "" {
			t.Fatalf("%+v is there twice or without a legacy id", one)
		}
		all[*one.Number] = one.Name + " " + one.Email
	}
	return all
}

// answer has a backend answer creations and changes with a status; nil: it makes them.
func (p *peopleBackend) answer(status func(person) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// addCustomer returns a statement that adds a customer to an old shop.
func addCustomer(id int, email string) string {
	return fmt.Sprintf("INSERT INTO customer_entity (entity_id, entity_type_id, website_id, email, group_id, created_at, updated_at) SELECT %d, entity_type_id, 1, '%s', 1, NOW(), NOW() FROM customer_entity WHERE entity_id = 1", id, email)
}

// nameCustomer returns a statement that changes the first name of a customer of an old shop.
func nameCustomer(id int, name string) string {
	return fmt.Sprintf("UPDATE customer_entity_varchar SET value = '%s' WHERE entity_id = %d AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'firstname' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'customer'))", name, id)
}

// TestFollowIntoBackend follows an old shop into a store with a backend: what is new, changed and
// removed there is so at the backend, too. What that refuses is parked, and when it is away,
// following stops until it is back.
func TestFollowIntoBackend(t *testing.T) {
	backend, settings := startPeople(t)
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	shop := oldShop(t, magento1test.Demo, "", dsn)
	shop.console = shop.console.with(settings...)
	shop.run(t, "--media", shop.media, "all")
	flags := append([]string{"--config", shop.config}, shop.from...)
	once := func(arguments ...string) (report printedRecords, err error) {
		t.Helper()
		out, _, err := shop.console.run(t, append(append([]string{"follow", "--once", "--json"}, flags...), arguments...)...)
		if err == nil {
			parse(t, out, &report)
		}
		return report, err
	}
	expect := func(when, want string, parked ...string) {
		t.Helper()
		report, err := once()
		got, _, _ := strings.Cut(report.counts()["customers"], " removed") // what is parked may have been tried more than once
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
		if got := selectTexts(t, storeOf(t, "sqlite", dsn), "SELECT reason FROM import_parked ORDER BY record_key"); !cmp.Equal(got, parked) {
			t.Errorf("%s: parked are %q, want %q", when, got, parked)
		}
		if out, _, err := shop.console.run(t, "ids", "check"); parked == nil && (err != nil || out != "nothing found\n") {
			t.Errorf("%s: portico ids check says %s%v", when, out, err)
		}
	}
	if got := shop.console.mustRun(t, append([]string{"follow", "--check"}, flags...)...); !strings.Contains(got, "changes arrive within") {
		t.Errorf("--check says %s", got)
	}
	before := backend.people(t)
	expect("nothing has changed", "")

	execute(t, shop.old, addCustomer(70, "new@example.com"), nameCustomer(1, "Changed"), "DELETE FROM customer_entity WHERE entity_id = 3")
	expect("changes", "1 created, 1 changed, 1")
	got := backend.people(t)
	if len(got) != len(before) || !strings.HasPrefix(got[1], "Changed ") || got[3] != "" || !strings.HasSuffix(got[70], "new@example.com") {
		t.Errorf("the backend has %v", got)
	}

	backend.answer(func(one person) int {
		if strings.Contains(one.Email+one.Name, "efused") {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	execute(t, shop.old, addCustomer(71, "refused@example.com"), addCustomer(72, "other@example.com"), nameCustomer(1, "Refused"), nameCustomer(2, "Taken"))
	expect("refusals", "1 created, 1 changed, 0", "the backend refuses it", "the backend refuses it")
	got = backend.people(t)
	if !strings.HasPrefix(got[1], "Changed ") || !strings.HasPrefix(got[2], "Taken ") || got[71] != "" || got[72] == "" {
		t.Errorf("the backend has %v", got)
	}
	backend.answer(nil)
	expect("the backend accepts it", "1 created, 1 changed, 0")

	backend.answer(func(person) int { return http.StatusServiceUnavailable })
	execute(t, shop.old, addCustomer(73, "late@example.com"))
	if report, err := once(); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("while the backend is away: %+v, %v", report, err)
	}
	backend.answer(nil)
	expect("the backend is back", "1 created, 0 changed, 0")
	if got := backend.people(t); got[73] == "" {
		t.Errorf("the backend has %v", got)
	}
	expect("nothing has changed since", "")
}

// TestFollowIntoBackendKilled kills many followers of TestFollowIntoBackendKilledOnce.
func TestFollowIntoBackendKilled(t *testing.T) {
	nightly.Only(t, "faults")
	killBackendFollowers(t, 30)
}

// TestFollowIntoBackendKilledOnce kills "portico follow" with SIGKILL at random moments, while the
// old shop changes at random and the backend takes its time. In the end the backend has what it had
// if the old shop had been imported into an empty one.
func TestFollowIntoBackendKilledOnce(t *testing.T) { killBackendFollowers(t, 3) }

func killBackendFollowers(t *testing.T, rounds int) {
	t.Helper()
	backend, settings := startPeople(t)
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	from := sqltest.LoggedMariaDB(t)
	shop := shopAt(t, from, magento1test.Fill(t, from, magento1test.Demo, ""), "", dsn)
	shop.console = shop.console.with(settings...)
	shop.run(t, "--media", shop.media, "all")
	start := func() *process {
		return follow(t, shop.console, append([]string{"--config", shop.config, "--interval", "50ms", "--compare-period", "1h", "--allow-removals", "1000"}, shop.from...)...)
	}
	backend.answer(func(person) int {
		time.Sleep(rand.N(20 * time.Millisecond))
		return 0
	})
	last := 100
	for round := range rounds {
		f := start()
		f.stderr.await(t, f, saysFollows)
		after := rand.N(time.Second)
		t.Logf("round %d is over after %s", round, after)
		for end := time.Now().Add(after); time.Now().Before(end); {
			time.Sleep(rand.N(20 * time.Millisecond)) // or the fresh import at the end takes minutes
			switch last++; rand.N(3) {
			case 0:
				execute(t, shop.old, fmt.Sprintf("DELETE FROM customer_entity WHERE entity_id = %d", 100+rand.N(last-100)))
			case 1:
				execute(t, shop.old, nameCustomer(1+rand.N(4), fmt.Sprint("Name ", last)))
			default:
				execute(t, shop.old, addCustomer(last, fmt.Sprintf("c%d@example.com", last)))
			}
		}
		f.signal(t, os.Kill)
		if f.wait(t) >= 0 {
			t.Fatalf("round %d: the follower has ended by itself:\n%s", round, f.stderr.text())
		}
		expireLease(t, "sqlite", dsn)
		// As if a minute had passed: nobody is at work on the write that was interrupted.
		execute(t, storeOf(t, "sqlite", dsn), "UPDATE backend_record SET changed_at = 0 WHERE note IS NOT NULL")
	}
	backend.answer(nil)
	f := start()
	fresh, elsewhere := startPeople(t)
	again, _ := shop.withStore(t)
	again.console = again.console.with(elsewhere...)
	again.run(t, "--media", shop.media, "all")
	want := fresh.people(t)
	if !poll(func() bool { return maps.Equal(want, backend.people(t)) }) {
		t.Fatalf("a fresh import -, followed +:\n%s\n%s", cmp.Diff(want, backend.people(t)), f.stderr.text())
	}
	f.stop(t)
	if out, _, err := shop.console.run(t, "ids", "check"); err != nil {
		t.Errorf("portico ids check says %s%v", out, err)
	}
}
