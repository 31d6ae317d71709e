//go:build linux

package importer_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestReadYourWrites writes at the legacy store through one process, and reads at another one.
// While the legacy store's database is down, replies wait no longer than their limit, and the
// changes arrive later.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	front := apptest.NewFront(t, apptest.WritesToLegacy)
	first, writer := front.Serve(t, "PORTICO_FOLLOW_WAIT=30s") // however busy the machine is
	second, reader := front.Serve(t, "PORTICO_FOLLOW_WAIT=30s")
	third, hasty := front.Serve(t, "PORTICO_FOLLOW_WAIT=500ms")
	old, oldGuest, guest := apptest.NewClient(t, front.Target.BaseURL, apptest.DemoAdmin()), apptest.NewClient(t, front.Target.BaseURL, ""), apptest.NewClient(t, second.Contract, "")

	withoutURLs := regexp.MustCompile(`"[a-z_]*url":"[^"]*",`)
	created := "/" // the path of the last created record
	for _, tt := range []struct {
		name, method, path, body string
		shown                    []string // the fields that the write changes
	}{
		{"a product by its number", "PUT", "/products/3", `{"name": "Renamed"}`, []string{"/products/3"}},
		{"a product by its SKU", "PUT", "/products/kettle-steel", `{"price": 99}`, []string{"/products/1"}},
		{"a stock item", "PUT", "/stockitems/2", `{"qty": 0, "is_in_stock": 0}`, []string{"/stockitems/2", "/products/2"}},
		{"many stock items", "PUT", "/stockitems", `[{"item_id": 3, "qty": 33}, {"item_id": "4", "qty": 44}]`, []string{"/stockitems/3", "/stockitems/4"}},
		{"a website of a product", "DELETE", "/products/2/websites/1", "", []string{"/products/2/websites"}},
		{"a new customer", "POST", "/customers", `{"firstname":"Ada","lastname":"L","email":"reader@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`, []string{"created"}},
		{"a first address", "POST", "created/addresses", apptest.AddressBody("Rue 1"), []string{"created"}},
		{"a changed address", "PUT", "created", `{"city": "Paris"}`, []string{"created"}},
		{"another default address", "POST", "/customers/1/addresses", apptest.AddressBody("Rue 2"), []string{"/customers/1/addresses", "/customers/1"}},
		{"a deleted address", "DELETE", "/customers/addresses/1", "", []string{"/customers/1/addresses", "/customers/addresses/1"}},
		{"a deleted customer", "DELETE", "/customers/2", "", []string{"/customers/2", "/customers/2/addresses", "/orders"}},
		{"a deleted product", "DELETE", "/products/3", "", []string{"/products/3", "/stockitems/3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(path string) string { return strings.Replace(path, "created", created, 1) }
			for _, path := range tt.shown {
				guest.Get(t, at(path)) // and has it cached
			}
			got, err := writer.Call(t.Context(), tt.method, at(tt.path), tt.body)
			if err != nil || got.Status >= 300 {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
			if _, path, ok := strings.Cut(got.Header.Get("Location"), "/api/rest"); ok {
				created = path
			}
			for _, path := range tt.shown {
				path = at(path)
				for there, here := range map[*apptest.Client]*apptest.Client{old: reader, oldGuest: guest} {
					there, here := there.Get(t, path), here.Get(t, path)
					if there.Status != here.Status || withoutURLs.ReplaceAllString(there.Body, "") != withoutURLs.ReplaceAllString(here.Body, "") {
						t.Errorf("%s\nthere %d %s\nhere  %d %s", path, there.Status, there.Body, here.Status, here.Body)
					}
				}
			}
		})
	}
	t.Run("at the same time", func(t *testing.T) {
		shopHistory{t, testenv.NewOperationLog()}.play([]*apptest.Client{writer, reader}, 3)
	})
	for _, p := range []*apptest.Process{first, second} {
		seen := apptest.ScrapeMetrics(t, p.Ops)
		if applied, all := seen.Sum("portico_follow_writes_total", `outcome="applied"`), seen.Sum("portico_follow_writes_total"); applied < 9 || applied != all {
			t.Errorf("%v of %v writes were applied", applied, all)
		}
	}
	t.Run("the old database is away", func(t *testing.T) {
		name := historyFields()[1]
		write := func(value string) {
			t.Helper()
			got, err := hasty.Call(t.Context(), http.MethodPut, name.path, fmt.Sprintf(`{"name": %q}`, value))
			if err != nil || got.Status != http.StatusOK {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
		}
		writes := func(outcome string) float64 {
			return apptest.ScrapeMetrics(t, third.Ops).Sum("portico_follow_writes_total", fmt.Sprintf("outcome=%q", outcome))
		}
		testenv.Await(t, "a write that was applied", func() bool {
			write("Before")
			return writes("applied") > 0
		})
		late := writes("late")
		front.Line.Block()
		write("Later")
		if body := hasty.Get(t, name.path).Body; !strings.Contains(body, `"Before"`) {
			t.Errorf("the old database is away, and here is %s", body)
		}
		if got := writes("late") - late; got != 1 {
			t.Errorf("%v writes were late, want 1", got)
		}
		front.Line.Reset()
		testenv.Await(t, "the new name", func() bool { return strings.Contains(reader.Get(t, name.path).Body, `"Later"`) })
		third.Stop(t)
		if text := third.Stderr.Text(); !strings.Contains(text, "outcome=late resource=products") || strings.Contains(text, "Later") {
			t.Errorf("the log:\n%s", text)
		}
	})
}

// TestReadYourWritesWithBackend writes customers at the legacy store through one process, and reads
// them at another one, while a backend owns the customers: it has each write before the reply is
// sent. While the backend is down, replies wait no longer than their limit, and the changes arrive
// later.
func TestReadYourWritesWithBackend(t *testing.T) {
	t.Parallel()
	shop := apptest.StartLiving(t, magento1test.Demo, "")
	backend, settings := apptest.StartPeople(t)
	shop.Commands = shop.Commands.With(settings...)
	front := apptest.FrontOf(t, shop, apptest.WritesToLegacy)
	first, writer := front.Serve(t, "PORTICO_FOLLOW_WAIT=30s")
	second, reader := front.Serve(t, "PORTICO_FOLLOW_WAIT=30s")
	_, hasty := front.Serve(t, "PORTICO_FOLLOW_WAIT=500ms")
	write := func(c *apptest.Client, method, path, body string) apptest.Reply {
		t.Helper()
		got, err := c.Call(t.Context(), method, path, body)
		if err != nil || got.Status >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, got.Status, got.Body, err)
		}
		return got
	}
	// expect compares whether the reader and the backend have a customer with a first name.
	expect := func(path, name string, want bool) {
		t.Helper()
		got, list := reader.Get(t, path), reader.Get(t, "/customers?limit=100")
		if has := got.Status == http.StatusOK && strings.Contains(got.Body, name); has != want {
			t.Errorf("%s: %d %s; want %s %v", path, got.Status, got.Body, name, want)
		}
		if has := strings.Contains(list.Body, name); has != want {
			t.Errorf("the list is %s; want %s %v", list.Body, name, want)
		}
		if has := strings.Contains(fmt.Sprint(backend.Held(t)), name); has != want {
			t.Errorf("the backend has %v; want %s %v", backend.Held(t), name, want)
		}
	}
	for round := range 3 {
		name := fmt.Sprint("Reader", round)
		reader.Get(t, "/customers?limit=100") // and has it cached
		created := write(writer, "POST", "/customers", fmt.Sprintf(`{"firstname":%q,"lastname":"L","email":"%[1]s@example.com","website_id":1,"group_id":1,"password":"swordfish1"}`, name))
		_, path, _ := strings.Cut(created.Header.Get("Location"), "/api/rest")
		expect(path, name+"@example.com", true)
		write(writer, "PUT", path, `{"firstname": "Renamed"}`)
		expect(path, "Renamed", true)
		write(writer, "DELETE", path, "")
		expect(path, name+"@example.com", false)
	}
	for _, p := range []*apptest.Process{first, second} {
		seen := apptest.ScrapeMetrics(t, p.Ops)
		if applied, all := seen.Sum("portico_follow_writes_total", `outcome="applied"`), seen.Sum("portico_follow_writes_total"); applied != all || p == first && applied < 9 {
			t.Errorf("%v of %v writes were applied", applied, all)
		}
	}

	backend.Answer(func(apptest.Person) int { return http.StatusServiceUnavailable })
	write(hasty, "PUT", "/customers/1", `{"firstname": "Later"}`)
	if body := reader.Get(t, "/customers/1").Body; strings.Contains(body, "Later") {
		t.Errorf("the backend is away, and here is %s", body)
	}
	backend.Answer(func(one apptest.Person) int {
		if one.Name == "Refused" {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	testenv.Await(t, "the change at the backend", func() bool { return strings.HasPrefix(backend.Held(t)[1], "Later ") })
	expect("/customers/1", "Later", true)
	write(writer, "PUT", "/customers/2", `{"firstname": "Refused"}`)
	expect("/customers/2", "Refused", false)
}
