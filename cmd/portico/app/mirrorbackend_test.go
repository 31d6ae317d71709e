//go:build linux

package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestMirrorWithBackend writes to a Portico whose customers a backend has. What the backend takes
// is repeated at the old shop, and what it refuses is not, whatever it refuses it for. Records
// are created at the old shop first, and then at the backend.
func TestMirrorWithBackend(t *testing.T) {
	backend, settings := startPeople(t)
	shop := runOldShop(t, magento1test.Demo, "")
	shop.console = shop.console.with(settings...)
	front := followShop(t, shop, mirroredWrites)
	p, writer := front.serve(t, append(ownConsumer(), "PORTICO_FOLLOW_WAIT=30s")...)
	old := newClient(t, front.target.BaseURL, demoAdmin())
	pollUntil(t, "a turn of all writes", func() bool {
		return scrapeMetrics(t, p.ops).sum("portico_mirror_turns_total", `outcome="turned"`) >= 8
	})
	backend.answer(func(one person) int {
		if strings.Contains(one.Name, "efused") {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	const customer = `{"firstname":"Ada","lastname":"L","email":"new@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`
	created := "/" // the path of what was created last
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
		{"an address", "POST", "created/addresses", addressBody("Rue 1"), false, 0, "Ada"},
		{"a stock item", "PUT", "/stockitems/2", `{"qty": 77}`, false, 1, "Grace"},
		{"a deletion", "DELETE", "/customers/2", "", false, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := strings.Replace(tt.path, "created", created, 1)
			got, err := writer.call(t.Context(), tt.method, path, tt.body)
			if err != nil || (got.status >= 300) != tt.refused {
				t.Fatalf("%d %s %v", got.status, got.body, err)
			}
			if _, location, ok := strings.Cut(got.header.Get("Location"), "/api/rest"); ok {
				path = location
				if tt.path == "/customers" {
					created = location
				}
			}
			var here, there reply
			pollUntil(t, path+" at the old shop", func() bool {
				here, there = writer.get(t, path), old.get(t, path)
				return there.status == here.status && withoutURLs(there.body) == withoutURLs(here.body)
			})
			pollUntil(t, "an empty outbox", func() bool { return scrapeMetrics(t, p.ops).sum("portico_mirror_entries", "") == 0 })
			if strings.Contains(there.body, "Refused") {
				t.Errorf("the old shop has %s", there.body)
			}
			id := tt.id
			if id == 0 {
				id = int64(keyIn(t, created))
			}
			if name, _, _ := strings.Cut(backend.people(t)[id], " "); name != tt.at {
				t.Errorf("the backend has %q, want %q", name, tt.at)
			}
		})
	}
	const touched = "UPDATE customer_entity SET updated_at = updated_at + INTERVAL 1 SECOND WHERE entity_id = 1" // a poll reads no date twice
	execute(t, front.old, nameCustomer(1, "Refused"), touched, "UPDATE cataloginventory_stock_item SET qty = qty - 2 WHERE item_id = 2")
	if got, err := writer.call(t.Context(), "PUT", "/stockitems/2", `{"qty": 77, "min_sale_qty": 2}`); err != nil || got.status != http.StatusOK {
		t.Errorf("%d %s %v", got.status, got.body, err)
	}
	pollUntil(t, "what the old shop has sold", func() bool {
		return strings.Contains(writer.get(t, "/stockitems/2").body, `"qty":"75.0000"`) && strings.Contains(old.get(t, "/stockitems/2").body, `"min_sale_qty":"2.0000"`)
	})
	pollUntil(t, "the record that the backend refuses", func() bool {
		return scrapeMetrics(t, p.ops).sum("portico_follow_parked_records", "") == 1
	})
	if got := writer.get(t, "/customers/1"); !strings.Contains(got.body, "Grace") {
		t.Errorf("what the backend refuses is here: %s", got.body)
	}
	// What the backend takes is not tried again, so the stop below interrupts no import.
	execute(t, front.old, nameCustomer(1, "Taken"), touched)
	pollUntil(t, "what the backend takes", func() bool { return strings.Contains(writer.get(t, "/customers/1").body, "Taken") })
	pollUntil(t, "no parked record", func() bool { return scrapeMetrics(t, p.ops).sum("portico_follow_parked_records", "") == 0 })
	p.stop(t)
	if out, _, err := console(front.environ).with(ownConsumer()...).run(t, "ids", "check", "--config", front.config); err != nil || out != "nothing found\n" {
		t.Errorf("portico ids check says %s%v", out, err)
	}
	if t.Failed() {
		t.Log(p.stderr.text())
	}
}
