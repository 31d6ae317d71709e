//go:build linux

package migration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestMirrorWithBackend writes to a Portico whose customers a backend has. Writes that the
// backend accepts are repeated at the legacy store; writes that it refuses, for any reason, are
// not. Records are created at the legacy store first, and then at the backend.
func TestMirrorWithBackend(t *testing.T) {
	backend, settings := apptest.StartPeople(t)
	shop := apptest.StartLiving(t, magento1test.Demo, "")
	shop.Commands = shop.Commands.With(settings...)
	front := apptest.FrontOf(t, shop, apptest.MirroredWrites)
	p, writer := front.Serve(t, append(apptest.LegacyConsumer(), "PORTICO_FOLLOW_WAIT=30s")...)
	old := apptest.NewClient(t, front.Target.BaseURL, apptest.DemoAdmin())
	testenv.Await(t, "a turn of all writes", func() bool {
		return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_mirror_turns_total", `outcome="turned"`) >= 8
	})
	backend.Answer(func(one apptest.Person) int {
		if strings.Contains(one.Name, "efused") {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	const customer = `{"firstname":"Ada","lastname":"L","email":"new@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`
	created := "/" // the path of the record that was created last
	for _, tt := range []struct {
		name, method, path, body string
		refused                  bool
		id                       int64
		at                       string // the backend then has this first name
	}{
		{"a change", "PUT", "/customers/1", `{"firstname": "Grace", "lastname": "H"}`, false, 1, "Grace"},
		{"a refused change", "PUT", "/customers/1", `{"firstname": "Refused", "lastname": "R"}`, true, 1, "Grace"},
		{"another change", "PUT", "/customers/1", `{"lastname": "Hopper"}`, false, 1, "Grace"},
		{"a new customer", "POST", "/customers", customer, false, 0, "Ada"},
		{"what the backend has nothing of", "PUT", "created", `{"lastname": "Lovelace"}`, false, 0, "Ada"},
		{"an address", "POST", "created/addresses", apptest.AddressBody("Rue 1"), false, 0, "Ada"},
		{"a stock item", "PUT", "/stockitems/2", `{"qty": 77}`, false, 1, "Grace"},
		{"a deletion", "DELETE", "/customers/2", "", false, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := strings.Replace(tt.path, "created", created, 1)
			got, err := writer.Call(t.Context(), tt.method, path, tt.body)
			if err != nil || (got.Status >= 300) != tt.refused {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
			if _, location, ok := strings.Cut(got.Header.Get("Location"), "/api/rest"); ok {
				path = location
				if tt.path == "/customers" {
					created = location
				}
			}
			var here, there apptest.Reply
			testenv.Await(t, path+" at the legacy store", func() bool {
				here, there = writer.Get(t, path), old.Get(t, path)
				return there.Status == here.Status && withoutURLs(there.Body) == withoutURLs(here.Body)
			})
			testenv.Await(t, "an empty outbox", func() bool { return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_mirror_entries", "") == 0 })
			if strings.Contains(there.Body, "Refused") {
				t.Errorf("the legacy store has %s", there.Body)
			}
			id := tt.id
			if id == 0 {
				id = int64(keyIn(t, created))
			}
			if name, _, _ := strings.Cut(backend.Held(t)[id], " "); name != tt.at {
				t.Errorf("the backend has %q, want %q", name, tt.at)
			}
		})
	}
	const touched = "UPDATE customer_entity SET updated_at = GREATEST(NOW(), updated_at + INTERVAL 1 SECOND) WHERE entity_id = 1" // a poll reads no date twice
	apptest.Execute(t, front.DB, apptest.NameCustomer(1, "Refused"), touched, "UPDATE cataloginventory_stock_item SET qty = qty - 2 WHERE item_id = 2")
	if got, err := writer.Call(t.Context(), "PUT", "/stockitems/2", `{"qty": 77, "min_sale_qty": 2}`); err != nil || got.Status != http.StatusOK {
		t.Errorf("%d %s %v", got.Status, got.Body, err)
	}
	testenv.Await(t, "what the legacy store has sold", func() bool {
		return strings.Contains(writer.Get(t, "/stockitems/2").Body, `"qty":"75.0000"`) && strings.Contains(old.Get(t, "/stockitems/2").Body, `"min_sale_qty":"2.0000"`)
	})
	testenv.Await(t, "the record that the backend refuses", func() bool {
		return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_follow_parked_records", "") == 1
	})
	if got := writer.Get(t, "/customers/1"); !strings.Contains(got.Body, "Grace") {
		t.Errorf("what the backend refuses is here: %s", got.Body)
	}
	// A write that the backend accepts is not tried again, so the stop below interrupts no
	// import.
	apptest.Execute(t, front.DB, apptest.NameCustomer(1, "Taken"), touched)
	testenv.Await(t, "what the backend takes", func() bool { return strings.Contains(writer.Get(t, "/customers/1").Body, "Taken") })
	testenv.Await(t, "no parked record", func() bool { return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_follow_parked_records", "") == 0 })
	p.Stop(t)
	if out, _, err := apptest.Environment(front.Environ).With(apptest.LegacyConsumer()...).Run(t, "ids", "check", "--config", front.Config); err != nil || out != "nothing found\n" {
		t.Errorf("portico ids check says %s%v", out, err)
	}
	if t.Failed() {
		t.Log(p.Stderr.Text())
	}
}
