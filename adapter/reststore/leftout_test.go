//go:build linux

package reststore_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// oddMapping maps products with attributes of every kind.
const oddMapping = `
name: odd
resources:
  products:
    attributes: [sku, name, description, status, weight, news_from_date, tier_price, stock_item]
    fetch: {path: /products, query: {id: $ids}, items: list, batch: 100}
    scan: {path: /products, items: list, pages: {page: page}}
    find: {path: /products, query: {key: $key}, items: list}
    id: sku
    key: .number
    read: '{sku, name, description, status, weight, news_from_date: .news, tier_price: [.tiers[]? | {website_id: 0, cust_group: 32000} + .]}'
    rest: '{attribute_set_id: 4, type_id: "simple", visibility: 4, tax_class_id: 2}'
    without: {create: no, update: no, delete: no}
  stock_items:
    part_of: products
    attributes: [qty]
    adopts: true
    items: |
      [.qty | values | {qty: ., stock_id: 1, is_in_stock: 1, manage_stock: 1, use_config_manage_stock: 0, backorders: 0, use_config_backorders: 1,
        stock_status_changed_auto: 0, min_qty: "0", use_config_min_qty: 1, min_sale_qty: "1", use_config_min_sale_qty: 1, max_sale_qty: "0",
        use_config_max_sale_qty: 1, use_config_notify_stock_qty: 1, is_qty_decimal: 0, is_decimal_divided: 0,
        qty_increments: "0", use_config_qty_increments: 1, enable_qty_increments: 0, use_config_enable_qty_inc: 1}]
    without: {update: no}
`

// oddShop is a backend with products whose values are odd.
type oddShop struct {
	mu        sync.Mutex
	documents map[string]jsonObject // by SKU
}

func (s *oddShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []jsonObject{}
	for _, sku := range slices.Sorted(maps.Keys(s.documents)) {
		if ids := r.URL.Query()["id"]; len(ids) == 0 || slices.Contains(ids, sku) {
			list = append(list, s.documents[sku])
		}
	}
	reply(w, http.StatusOK, jsonObject{"list": list})
}

// set gives the documents of all products these members.
func (s *oddShop) set(members jsonObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		maps.Copy(d, members)
	}
}

// An oddCase is a document with a value that does not fit its attribute, at least not on every engine.
type oddCase struct {
	name      string
	members   jsonObject
	attribute string // of products, or of stock_items after a point
	want      string // the value stored by engines that it fits; "" if it fits none
}

func oddCases() []oddCase {
	text := make([]byte, 9000) // that no index can compress to a size that it can hold
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rand.IntN(36)] //nolint:gosec // no secret
	}
	return []oddCase{
		{"a weight with more than four places", jsonObject{"weight": 1.2345679}, "weight", "1.2346"},
		{"a weight of nearly nothing", jsonObject{"weight": 1e-7}, "weight", "0.0000"},
		{"a weight with nine digits", jsonObject{"weight": 123456789.5}, "weight", "123456789.5000"},
		{"a weight beyond all", jsonObject{"weight": 3.3e30}, "weight", ""},
		{"a weight that is a text", jsonObject{"weight": "heavy"}, "weight", ""},
		{"a name that is long", jsonObject{"name": string(text[:300])}, "name", string(text[:300])},
		{"a name that is longer", jsonObject{"name": string(text)}, "name", string(text)},
		{"a name with a zero byte", jsonObject{"name": "a\x00b"}, "name", ""},
		{"a description that is a list", jsonObject{"description": []string{"a"}}, "description", ""},
		{"a status between two", jsonObject{"status": 1.5}, "status", ""},
		{"a status beyond all", jsonObject{"status": "9223372036854775808"}, "status", ""},
		{"a date that is none", jsonObject{"news": "soon"}, "news_from_date", ""},
		{"a date before all", jsonObject{"news": "0000-12-31T00:00:00Z"}, "news_from_date", ""},
		{"a tier beyond all", jsonObject{"tiers": []jsonObject{{"price_qty": 2, "price": 3.3e30}}}, "tier_price", ""},
		{"a quantity with nine digits", jsonObject{"qty": 123456789.5}, "stock_items.qty", "123456789.5000"},
		{"a quantity beyond all", jsonObject{"qty": 3.3e30}, "stock_items.qty", ""},
	}
}

// TestValuesThatDoNotFit checks on every engine that a product comes without a value that does not fit its
// attribute, which is named in the log and by a check, whether the product is new or known.
func TestValuesThatDoNotFit(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres", "mariadb"} {
		t.Run(engine, func(t *testing.T) {
			local := demotest.Open(t, sqlstore.Options{DSN: demotest.Database(t, engine), MediaDir: t.TempDir()}).Replica()
			fine := jsonObject{"name": "Fine", "description": "d", "status": 1, "weight": 2, "news": "2030-01-02T00:00:00Z", "tiers": []jsonObject{{"price_qty": 2, "price": 1}}, "qty": 3}
			shop := &oddShop{documents: map[string]jsonObject{}}
			cases := oddCases()
			sku := func(i int) string { return fmt.Sprintf("odd-%02d", i) }
			for i, c := range cases {
				shop.documents[sku(i)] = jsonObject{"sku": sku(i)}
				maps.Copy(shop.documents[sku(i)], fine)
				maps.Copy(shop.documents[sku(i)], c.members)
			}
			server := httptest.NewServer(shop)
			t.Cleanup(server.Close)
			backend, err := reststore.Open(reststore.Options{Mapping: []byte(oddMapping), File: "odd.yaml", URL: server.URL, IDs: idmap.NewCache(local)})
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			a, err := replica.New(replica.Options{Replica: local, Backend: backend, AllocateIDs: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = a.Close() })

			check := func(kept map[string]string) {
				t.Helper()
				if err := a.Scan(t.Context()); err != nil {
					t.Fatal(err)
				}
				leftOut := leftOutOf(t, a)
				for i, c := range cases {
					checkOdd(t, a, sku(i), c, leftOut[sku(i)], kept)
				}
			}
			check(nil)
			for i, c := range cases {
				if c.want == "" && !strings.Contains(log.String(), sku(i)) {
					t.Errorf("%s: %s is not named in the log", c.name, sku(i))
				}
			}
			shop.set(fine)
			check(map[string]string{"weight": "2.0000", "name": "Fine", "description": "d", "status": "1", "news_from_date": "2030-01-02 00:00:00", "tier_price": "", "stock_items.qty": "3.0000"})
		})
	}
}

// leftOutOf returns the values that a check reports as left out, by the id of the document.
func leftOutOf(t *testing.T, a *replica.Adapter) map[string]string {
	t.Helper()
	leftOut := map[string]string{}
	err := a.Check(t.Context(), func(f replica.Finding) error {
		switch {
		case f.Kind == replica.LeftOut:
			leftOut[f.ID] += f.Detail
		case f.Kind != replica.NotMapped: // products of the demo store
			t.Errorf("%+v", f)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return leftOut
}

// checkOdd checks that a product is listed, and that it has the value or a report names the value
// as left out. kept has the values that all documents have now; nil: they have the values of the
// cases.
func checkOdd(t *testing.T, a *replica.Adapter, sku string, c oddCase, leftOut string, kept map[string]string) {
	t.Helper()
	query := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "sku", Op: adapter.Eq, Operands: []string{sku}}}}}}
	found := adaptertest.MustSelect(t, adaptertest.StoreOf(t, a, adapter.Products), adapter.NewSchemas().Of(adapter.Products), adapter.ListParams{Query: query, With: onDemand(adapter.Products)})
	if len(found) != 1 {
		t.Errorf("%s: %d products", c.name, len(found))
		return
	}
	got := found[0].Get(c.attribute).Text()
	isNamed := strings.Contains(leftOut, c.attribute+" of products")
	if c.attribute == "stock_items.qty" {
		for _, item := range found[0].Get("stock_item").Records() {
			got = item.Get("qty").Text()
		}
		isNamed = strings.Contains(leftOut, "qty of stock_items") || strings.Contains(leftOut, "one of stock_items")
	}
	want := c.want
	if kept != nil {
		want = kept[c.attribute]
	}
	switch {
	case kept != nil && (got != want || leftOut != ""):
		t.Errorf("%s, corrected: %s is %.40q, want %.40q; left out: %q", c.name, c.attribute, got, want, leftOut)
	case kept == nil && want == "" && (got != "" || !isNamed), kept == nil && want != "" && got != want && (got != "" || !isNamed):
		t.Errorf("%s: %s is %.40q, want %.40q; left out: %q", c.name, c.attribute, got, want, leftOut)
	case kept == nil && got == want && want != "" && leftOut != "":
		t.Errorf("%s: %s is there, and left out: %q", c.name, c.attribute, leftOut)
	}
}
