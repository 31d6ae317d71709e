package program

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A shopCall is a call whose reply depends on the configuration of the shop.
type shopCall struct {
	client             *apptest.Client
	method, path, body string
}

// reply returns the status and the body of the reply, without what is random.
func (c *shopCall) reply(t *testing.T) (string, error) {
	got, err := c.client.Call(t.Context(), c.method, c.path, c.body)
	body := regexp.MustCompile(`form_key[^"]*`).ReplaceAllString(got.Body, "form_key")
	return fmt.Sprintf("%s %s: %d %s", c.method, c.path, got.Status, body), err
}

// TestReloadShop sends calls all the time while the program changes between two configurations of the
// shop, with faulty files in between. Each reply, cached or not, is that of one of the two, and a call
// that begins after a reload gets the reply of the new one.
func TestReloadShop(t *testing.T) {
	t.Parallel()
	shops := [2][]string{1: {
		"store.name: The other shop", "store.timezone: Asia/Tokyo", "store.link_url: http://pages.example", "store.media_url: http://images.example/media", "store.tax_country: DE",
		"stock.hide_sold_out: true", `customers.required_fields: "firstname,lastname,dob"`,
		"fields: [{resource: products, role: guest, read: [entity_id, sku, final_price_with_tax, image_url]}, {resource: orders, role: admin, read: [increment_id]}]",
	}}
	changed := []string{
		"store.name", "store.timezone", "store.link_url", "store.media_url", "store.tax_country", "stock.hide_sold_out", "customers.required_fields", "fields",
	}
	p := startReloadable(t)
	guest, admin := apptest.NewClient(t, p.Contract, ""), apptest.NewClient(t, p.Contract, apptest.DemoAdmin())
	calls := []shopCall{
		{guest, "GET", "/products/1", ""}, {guest, "GET", "/products?limit=5", ""}, {guest, "GET", "/products?limit=0", ""},
		{admin, "GET", "/orders/1", ""}, {admin, "PUT", "/customers/1", `{"dob":""}`}, {guest, "GET", p.Ops + "/openapi.json", ""},
	}
	var want [2][]string // by shop and call
	for shop := range shops {
		if shop > 0 {
			p.mustChange(t, shops[shop], changed...)
		}
		for i := range calls {
			reply, err := calls[i].reply(t)
			if err != nil {
				t.Fatal(err)
			}
			want[shop] = append(want[shop], reply)
			if shop > 0 && reply == want[0][i] {
				t.Errorf("the reply does not depend on the shop: %.300s", reply)
			}
		}
	}
	if page := apptest.Send(t, "GET", p.Contract+"/", "", "Accept", "text/html"); !strings.Contains(page.Body, "The other shop") {
		t.Errorf("the page of the shop: %.500s", page.Body)
	}
	const reloads, callers = 8, 4
	var done atomic.Bool
	var seen [2]atomic.Int64
	var calling sync.WaitGroup
	for caller := range callers {
		calling.Go(func() {
			tick := pace()
			for i := caller; !done.Load(); i++ {
				reply, err := calls[i%len(calls)].reply(t)
				shop := slices.IndexFunc(want[:], func(of []string) bool { return of[i%len(calls)] == reply })
				if err != nil || shop < 0 {
					t.Errorf("a reply of neither shop (%v): %.2000s", err, reply)
					return
				}
				seen[shop].Add(1)
				<-tick
			}
		})
	}
	for reload := range reloads {
		shop := reload % 2
		p.mustChange(t, shops[shop], changed...)
		if reload%4 == 3 {
			p.write(t, "store.currency: euro", "store.price_scope: shop", `customers.required_fields: "shoe_size"`)
			var named []string
			got := p.reload(t)
			for _, fault := range got.Faults {
				named = append(named, fault.Setting)
			}
			slices.Sort(named)
			if got.status != http.StatusConflict || !slices.Equal(named, []string{"store.currency", "store.price_scope"}) {
				t.Errorf("a faulty file: %+v", got)
			}
		}
		for i := range calls {
			if reply, err := calls[i].reply(t); err != nil || reply != want[shop][i] {
				t.Errorf("after reload %d (%v): %.500s\nwant %.500s", reload, err, reply, want[shop][i])
			}
		}
	}
	done.Store(true)
	calling.Wait()
	if seen[0].Load() == 0 || seen[1].Load() == 0 {
		t.Errorf("%d and %d replies of the two shops", seen[0].Load(), seen[1].Load())
	}
	p.Stop(t)
}

// TestReloadReplicas reloads two replicas one after the other that share a database and Redis. Meanwhile
// each gives the replies of its own configuration, cached ones too, whichever of them sells out a
// product; afterwards they share replies again.
func TestReloadReplicas(t *testing.T) {
	t.Parallel()
	server := apptest.NewRedis(t)
	common := []string{"sql.dsn: " + demotest.Postgres(t), "sql.media_dir: " + t.TempDir(), "cache.redis_url: " + server.URL(), "cache.memory_ttl: 0s", "cache.timeout: 5s", "public_url: http://shop.example"}
	hiding := append(slices.Clone(common), "stock.hide_sold_out: true")
	var replicas [2]*reloadable
	for i := range replicas {
		replicas[i] = startReloadable(t, common...)
	}
	read := func(when string, replica int, listed bool) (cached string) {
		t.Helper()
		got := apptest.Send(t, "GET", replicas[replica].Contract+"/api/rest/products?limit=100&attrs=sku", "", "Accept", "application/json")
		if got.Status != http.StatusOK || strings.Contains(got.Body, "kettle-steel") != listed {
			t.Errorf("%s, replica %d: %d: %s\nwant kettle-steel listed: %t", when, replica, got.Status, got.Body, listed)
		}
		return got.Header.Get("X-Cache")
	}
	check := func(when string, replica int, listed bool, cached string) {
		t.Helper()
		if got := read(when, replica, listed); got != cached {
			t.Errorf("%s, replica %d: %s, want %s", when, replica, got, cached)
		}
	}
	// filled checks for a MISS, and returns when Redis holds the reply. The first one is not stored if the
	// message that another replica has written arrives while it is made.
	filled := func(when string, replica int, listed bool) {
		t.Helper()
		check(when, replica, listed, "MISS")
		testenv.Await(t, "a stored reply", func() bool { return read(when, replica, listed) == "HIT" })
	}
	sell := func(replica int, body string) {
		t.Helper()
		requireOK(t, apptest.Send(t, "PUT", replicas[replica].Contract+"/api/rest/stockitems/1", body, "Authorization", apptest.DemoAdmin(), "Content-Type", "application/json", "Accept", "application/json"))
	}
	for i := range replicas {
		read("at first", i, true)
		check("at first, again", i, true, "HIT")
	}
	replicas[0].mustChange(t, hiding, "stock.hide_sold_out")
	filled("reloaded", 0, true)
	sell(1, `{"qty":0,"is_in_stock":0}`)
	filled("sold out by the other replica", 0, false)
	check("sold out", 1, true, "HIT")
	replicas[1].mustChange(t, hiding, "stock.hide_sold_out")
	check("both reloaded", 1, false, "HIT")
	sell(0, `{"qty":5,"is_in_stock":1}`)
	filled("refilled", 1, true)
	check("refilled", 0, true, "HIT")
	replicas[0].mustChange(t, common, "stock.hide_sold_out")
	sell(0, `{"qty":0,"is_in_stock":0}`)
	check("on the way back", 0, true, "HIT")
	check("not yet on the way back", 1, false, "MISS")
	for _, p := range replicas {
		p.Stop(t)
	}
}
