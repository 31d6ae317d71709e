//go:build linux

package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/contracttests/consistency"
)

// The routes of processes in front of an old shop: clients' reads are answered here, and their
// writes by the old shop, or here and repeated there.
const (
	writesToLegacy = "{resource: all, calls: reads, to: portico}, {resource: all, calls: writes, to: legacy}, {resource: outside, to: legacy}"
	mirroredWrites = "{resource: all, calls: reads, to: portico}, {resource: all, calls: writes, to: portico, mirror: true}, {resource: outside, to: legacy}"
)

// A followedFront is an old shop to which all writes go, and processes of "portico serve" in
// front of it that follow it and answer the reads.
type followedFront struct {
	*livingShop
	line    *slowProxy // between the processes and the old database
	environ []string
}

// newFollowedFront fills a store from an old shop. routes are those of the processes in front.
func newFollowedFront(t *testing.T, routes string) *followedFront {
	t.Helper()
	return followShop(t, runOldShop(t, magento1test.Demo, ""), routes)
}

// followShop is newFollowedFront for an old shop that runs.
func followShop(t *testing.T, shop *livingShop, routes string) *followedFront {
	t.Helper()
	f := &followedFront{livingShop: shop}
	dsn, err := mysql.ParseDSN(strings.TrimPrefix(f.from[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	f.line = newSlowProxy(t, dsn.Addr)
	dsn.Addr = f.line.Listen
	f.console = f.console.with("PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "store.db"))
	f.run(t, "--media", f.media, "all")
	file, err := os.OpenFile(f.config, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString("\nroutes: [" + routes + "]\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	f.environ = f.console.with(
		"PORTICO_LEGACY_URL="+strings.TrimSuffix(f.target.BaseURL, "/"), "PORTICO_PUBLIC_URL=", "PORTICO_FOLLOW_DSN=mysql:"+dsn.FormatDSN(), "PORTICO_FOLLOW_INTERVAL=100ms", "PORTICO_FOLLOW_COMPARE_PERIOD=1h", "PORTICO_LOG_LEVEL=warn",
	)
	return f
}

// serve starts a process that follows the shop.
func (f *followedFront) serve(t *testing.T, environ ...string) (*process, *client) {
	t.Helper()
	p := start(t, append(f.environ, environ...), "--config", f.config)
	return p, newClient(t, p.contract, demoAdmin())
}

// TestReadYourWrites writes at the old shop through one process, and reads at another one. While
// the old database is away, replies do not wait for longer than they may, and the changes
// arrive later.
func TestReadYourWrites(t *testing.T) {
	front := newFollowedFront(t, writesToLegacy)
	first, writer := front.serve(t, "PORTICO_FOLLOW_WAIT=30s") // however busy the machine is
	second, reader := front.serve(t, "PORTICO_FOLLOW_WAIT=30s")
	third, hasty := front.serve(t, "PORTICO_FOLLOW_WAIT=500ms")
	old, oldGuest, guest := newClient(t, front.target.BaseURL, demoAdmin()), newClient(t, front.target.BaseURL, ""), newClient(t, second.contract, "")

	withoutURLs := regexp.MustCompile(`"[a-z_]*url":"[^"]*",`)
	created := "/" // the path of what was created last
	for _, tt := range []struct {
		name, method, path, body string
		shown                    []string // what the write changes
	}{
		{"a product by its number", "PUT", "/products/3", `{"name": "Renamed"}`, []string{"/products/3"}},
		{"a product by its SKU", "PUT", "/products/kettle-steel", `{"price": 99}`, []string{"/products/1"}},
		{"a stock item", "PUT", "/stockitems/2", `{"qty": 0, "is_in_stock": 0}`, []string{"/stockitems/2", "/products/2"}},
		{"many stock items", "PUT", "/stockitems", `[{"item_id": 3, "qty": 33}, {"item_id": "4", "qty": 44}]`, []string{"/stockitems/3", "/stockitems/4"}},
		{"a website of a product", "DELETE", "/products/2/websites/1", "", []string{"/products/2/websites"}},
		{"a new customer", "POST", "/customers", `{"firstname":"Ada","lastname":"L","email":"reader@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`, []string{"created"}},
		{"a first address", "POST", "created/addresses", addressBody("Rue 1"), []string{"created"}},
		{"a changed address", "PUT", "created", `{"city": "Paris"}`, []string{"created"}},
		{"another default address", "POST", "/customers/1/addresses", addressBody("Rue 2"), []string{"/customers/1/addresses", "/customers/1"}},
		{"a deleted address", "DELETE", "/customers/addresses/1", "", []string{"/customers/1/addresses", "/customers/addresses/1"}},
		{"a deleted customer", "DELETE", "/customers/2", "", []string{"/customers/2", "/customers/2/addresses", "/orders"}},
		{"a deleted product", "DELETE", "/products/3", "", []string{"/products/3", "/stockitems/3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(path string) string { return strings.Replace(path, "created", created, 1) }
			for _, path := range tt.shown {
				guest.get(t, at(path)) // and has it cached
			}
			got, err := writer.call(t.Context(), tt.method, at(tt.path), tt.body)
			if err != nil || got.status >= 300 {
				t.Fatalf("%d %s %v", got.status, got.body, err)
			}
			if _, path, ok := strings.Cut(got.header.Get("Location"), "/api/rest"); ok {
				created = path
			}
			for _, path := range tt.shown {
				path = at(path)
				for there, here := range map[*client]*client{old: reader, oldGuest: guest} {
					there, here := there.get(t, path), here.get(t, path)
					if there.status != here.status || withoutURLs.ReplaceAllString(there.body, "") != withoutURLs.ReplaceAllString(here.body, "") {
						t.Errorf("%s\nthere %d %s\nhere  %d %s", path, there.status, there.body, here.status, here.body)
					}
				}
			}
		})
	}
	t.Run("at the same time", func(t *testing.T) {
		shopHistory{t, consistency.NewLog()}.play([]*client{writer, reader}, 3)
	})
	for _, p := range []*process{first, second} {
		seen := scrapeMetrics(t, p.ops)
		if applied, all := seen.sum("portico_follow_writes_total", `outcome="applied"`), seen.sum("portico_follow_writes_total"); applied < 9 || applied != all {
			t.Errorf("%v of %v writes were applied", applied, all)
		}
	}
	t.Run("the old database is away", func(t *testing.T) {
		name := historyFields()[1]
		write := func(value string) {
			t.Helper()
			got, err := hasty.call(t.Context(), http.MethodPut, name.path, fmt.Sprintf(`{"name": %q}`, value))
			if err != nil || got.status != http.StatusOK {
				t.Fatalf("%d %s %v", got.status, got.body, err)
			}
		}
		writes := func(outcome string) float64 {
			return scrapeMetrics(t, third.ops).sum("portico_follow_writes_total", fmt.Sprintf("outcome=%q", outcome))
		}
		pollUntil(t, "a write that was applied", func() bool {
			write("Before")
			return writes("applied") > 0
		})
		late := writes("late")
		front.line.block()
		write("Later")
		if body := hasty.get(t, name.path).body; !strings.Contains(body, `"Before"`) {
			t.Errorf("the old database is away, and here is %s", body)
		}
		if got := writes("late") - late; got != 1 {
			t.Errorf("%v writes were late, want 1", got)
		}
		front.line.reset()
		pollUntil(t, "the new name", func() bool { return strings.Contains(reader.get(t, name.path).body, `"Later"`) })
		third.stop(t)
		if text := third.stderr.text(); !strings.Contains(text, "outcome=late resource=products") || strings.Contains(text, "Later") {
			t.Errorf("the log:\n%s", text)
		}
	})
}

// TestReadYourWritesWithBackend writes customers at the old shop through one process, and reads them
// at another one, while a backend has the customers: it has each write before its reply. While the
// backend is away, replies wait no longer than they may, and the changes arrive later.
func TestReadYourWritesWithBackend(t *testing.T) {
	shop := runOldShop(t, magento1test.Demo, "")
	backend, settings := startPeople(t)
	shop.console = shop.console.with(settings...)
	front := followShop(t, shop, writesToLegacy)
	first, writer := front.serve(t, "PORTICO_FOLLOW_WAIT=30s")
	second, reader := front.serve(t, "PORTICO_FOLLOW_WAIT=30s")
	_, hasty := front.serve(t, "PORTICO_FOLLOW_WAIT=500ms")
	write := func(c *client, method, path, body string) reply {
		t.Helper()
		got, err := c.call(t.Context(), method, path, body)
		if err != nil || got.status >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, got.status, got.body, err)
		}
		return got
	}
	// expect compares whether the reader and the backend have a customer with a first name.
	expect := func(path, name string, want bool) {
		t.Helper()
		got, list := reader.get(t, path), reader.get(t, "/customers?limit=100")
		if has := got.status == http.StatusOK && strings.Contains(got.body, name); has != want {
			t.Errorf("%s: %d %s; want %s %v", path, got.status, got.body, name, want)
		}
		if has := strings.Contains(list.body, name); has != want {
			t.Errorf("the list is %s; want %s %v", list.body, name, want)
		}
		if has := strings.Contains(fmt.Sprint(backend.people(t)), name); has != want {
			t.Errorf("the backend has %v; want %s %v", backend.people(t), name, want)
		}
	}
	for round := range 3 {
		name := fmt.Sprint("Reader", round)
		reader.get(t, "/customers?limit=100") // and has it cached
		created := write(writer, "POST", "/customers", fmt.Sprintf(`{"firstname":%q,"lastname":"L","email":"%[1]s@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`, name))
		_, path, _ := strings.Cut(created.header.Get("Location"), "/api/rest")
		expect(path, name+"@example.com", true)
		write(writer, "PUT", path, `{"firstname": "Renamed"}`)
		expect(path, "Renamed", true)
		write(writer, "DELETE", path, "")
		expect(path, name+"@example.com", false)
	}
	for _, p := range []*process{first, second} {
		seen := scrapeMetrics(t, p.ops)
		if applied, all := seen.sum("portico_follow_writes_total", `outcome="applied"`), seen.sum("portico_follow_writes_total"); applied != all || p == first && applied < 9 {
			t.Errorf("%v of %v writes were applied", applied, all)
		}
	}

	backend.answer(func(person) int { return http.StatusServiceUnavailable })
	write(hasty, "PUT", "/customers/1", `{"firstname": "Later"}`)
	if body := reader.get(t, "/customers/1").body; strings.Contains(body, "Later") {
		t.Errorf("the backend is away, and here is %s", body)
	}
	backend.answer(func(one person) int {
		if one.Name == "Refused" {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	pollUntil(t, "the change at the backend", func() bool { return strings.HasPrefix(backend.people(t)[1], "Later ") })
	expect("/customers/1", "Later", true)
	write(writer, "PUT", "/customers/2", `{"firstname": "Refused"}`)
	expect("/customers/2", "Refused", false)
}

// addressBody returns a new address, which becomes the default.
func addressBody(street string) string {
	return fmt.Sprintf(`{"firstname":"A","lastname":"B","street":[%q],"city":"Lyon","postcode":"69000","country_id":"GB","telephone":"1","is_default_billing":1,"is_default_shipping":1}`, street)
}
