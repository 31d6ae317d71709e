package reststore

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// joinMapping has documents that refer to documents of another list.
const joinMapping = `name: halves
resources:
  products:
    attributes: [name, special_price]
    fetch: {path: /p, query: {ids: '$ids | join(",")'}, items: list, batch: 10}
    scan: {path: /p, items: list, where: .kind == "product" or .sale.price == 9, pages: {page: page}}
    find: {path: /p, query: {order: '"new"'}, items: list, among: true}
    joins:
    - {from: extra.sale, as: sale, path: /sales, query: {ids: '$ids | join(",")'}, items: sales, id: no, batch: 2}
    id: id
    key: .key
    read: '{name, special_price: .sale.price}'
    without: {create: no, update: no, delete: no}
`

// A joinServer serves two lists.
type joinServer struct {
	mu          sync.Mutex
	list, sales string
	requested   []string // the ids parameters of requests for sales
	fails       bool
}

func (h *joinServer) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.URL.Path == "/p" && r.URL.Query().Get("page") == "2":
		respond(w, 200, `{"list": []}`)
	case r.URL.Path == "/p":
		respond(w, 200, `{"list": [`+h.list+`]}`)
	case h.fails:
		respond(w, 400, `{}`)
	default:
		h.requested = append(h.requested, r.URL.Query().Get("ids"))
		respond(w, 200, `{"sales": [`+h.sales+`]}`)
	}
}

// change changes the server's data. Requests that were canceled may still be served.
func (h *joinServer) change(sales string, fails bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sales, h.fails = sales, fails
}

func TestJoin(t *testing.T) {
	h := &joinServer{
		list: `{"id": "a", "extra": {"sale": "s1"}}, {"id": "b"}, {"id": "c", "extra": {"sale": ""}}, {"id": "d", "extra": {"sale": "s2"}},
			{"id": "e", "extra": {"sale": "s1"}}, {"id": "f", "extra": {"sale": "gone"}}`,
		sales: `{"no": "s1", "price": 9}, {"no": "s2", "price": 8}, {"no": "unasked", "price": 7}`,
	}
	b := serve(t, joinMapping, nil, h.serve)
	fetch := func() (tags, prices []string) {
		t.Helper()
		documents, err := b.Fetch(t.Context(), adapter.Products, []string{"a", "b", "c", "d", "e", "f"})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			item, _, err := d.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tags = append(tags, d.Version)
			prices = append(prices, item.Record.Get("special_price").Text())
		}
		return tags, prices
	}
	before, prices := fetch()
	if want := []string{"9.0000", "", "", "8.0000", "9.0000", ""}; !slices.Equal(prices, want) {
		t.Errorf("prices %q, want %q", prices, want)
	}
	if slices.Sort(h.requested); !slices.Equal(h.requested, []string{"gone,s1", "s2"}) {
		t.Errorf("requested ids %q", h.requested)
	}
	h.change(`{"no": "s1", "price": 9.5}, {"no": "s2", "price": 8}`, false)
	after, _ := fetch()
	for i, same := range []bool{false, true, true, true, false, true} {
		if before[i] == after[i] != same {
			t.Errorf("document %d: the tag is the same: %t", i, !same)
		}
	}
	h.change("", true)
	if _, err := b.Fetch(t.Context(), adapter.Products, []string{"a"}); adapter.KindOf(err) != adapter.Internal {
		t.Errorf("request for joined documents fails: %v", err)
	}
	h.change(`{"price": 1`, false)
	if _, err := b.Fetch(t.Context(), adapter.Products, []string{"a"}); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("joined documents are not JSON: %v", err)
	}
}

// TestJoins checks joins beside each other: the data that each adds, what a document without any refers to
// gets, the ids that are requested, and that a change of joined data is a change of the document.
func TestJoins(t *testing.T) {
	const joins = `    joins:
    - {from: sku, as: stock, many: true, path: /stock, query: {sku: $ids}, items: items, id: sku, batch: 2}
    - {from: brand, as: brand, path: /brands, query: {id: $ids}, items: list, id: id}
`
	from, to := strings.Index(joinMapping, "    joins:"), strings.Index(joinMapping, "    id: id\n")
	mapping := strings.Replace(joinMapping[:from]+joins+joinMapping[to:], "{name, special_price: .sale.price}",
		`{name: "\(.brand.name // "none"): \([.stock[].n] | tostring)"}`, 1)
	var mu sync.Mutex
	requested, stock := []string{}, `{"sku": "A,1", "n": 1}, {"sku": "B/2", "n": 5}, {"sku": "A,1", "n": 2}, {"sku": null}`
	b := serve(t, mapping, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p" {
			respond(w, 200, `{"list": [{"id": "a", "sku": "A,1", "brand": 7}, {"id": "b", "sku": "B/2", "brand": null}, {"id": "c", "sku": "C"}, {"id": "d"}]}`)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		requested = append(requested, r.URL.RawQuery)
		if r.URL.Path == "/brands" {
			respond(w, 200, `{"list": [{"id": 7, "name": "K"}]}`)
			return
		}
		respond(w, 200, `{"items": [`+stock+`]}`)
	})
	fetch := func() (tags, names []string) {
		t.Helper()
		documents, err := b.Fetch(t.Context(), adapter.Products, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			item, _, err := d.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tags, names = append(tags, d.Version), append(names, item.Record.Get("name").Text())
		}
		return tags, names
	}
	before, names := fetch()
	if want := []string{"K: [1,2]", "none: [5]", "none: []", "none: []"}; !slices.Equal(names, want) {
		t.Errorf("read %q, want %q", names, want)
	}
	if slices.Sort(requested); !slices.Equal(requested, []string{"id=7", "sku=A%2C1&sku=B%2F2", "sku=C"}) {
		t.Errorf("requested %q", requested)
	}
	mu.Lock()
	stock = strings.Replace(stock, `"n": 5`, `"n": 4`, 1)
	mu.Unlock()
	after, _ := fetch()
	for i, same := range []bool{true, false, true, true} {
		if before[i] == after[i] != same {
			t.Errorf("document %d: the tag is the same: %t", i, !same)
		}
	}
}

// TestJoinsInParallel checks that the requests of two joins are sent at the same time: each is answered once
// both have come.
func TestJoinsInParallel(t *testing.T) {
	mapping := strings.Replace(joinMapping, "    id: id\n", "    - {from: id, as: other, path: /other, items: o, id: id}\n    id: id\n", 1)
	var came sync.WaitGroup
	came.Add(2)
	b := serve(t, mapping, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p" {
			respond(w, 200, `{"list": [{"id": "a", "extra": {"sale": "s"}}]}`)
			return
		}
		came.Done()
		came.Wait()
		respond(w, 200, `{"sales": [], "o": []}`)
	})
	if _, err := b.Fetch(t.Context(), adapter.Products, []string{"a"}); err != nil {
		t.Error(err)
	}
}

// TestScanWhere checks that a scan omits documents that where does not select, but counts
// them in its pages.
func TestScanWhere(t *testing.T) {
	h := &joinServer{
		list:  `{"id": "a", "kind": "guest"}, {"id": "b", "kind": "product"}, {"id": "c", "extra": {"sale": "s"}}`,
		sales: `{"no": "s", "price": 9}`,
	}
	b := serve(t, joinMapping, nil, h.serve)
	var ids []string
	err := b.Scan(t.Context(), adapter.Products, time.Time{}, func(documents []replica.Document) error {
		ids = append(ids, documentIDs(documents)...)
		return nil
	})
	if err != nil || !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("found %q (%v), want b and c", ids, err)
	}
}

// TestFindAmong checks that a response may contain other documents if among is set.
func TestFindAmong(t *testing.T) {
	b := serve(t, joinMapping, nil, (&joinServer{list: `{"id": "a"}, {"id": "b", "key": 7}, {"id": "c", "key": 8}`}).serve)
	for key, want := range map[adapter.Key]string{7: "b", 8: "c", 9: "not_found"} {
		document, err := b.Find(context.WithoutCancel(t.Context()), adapter.Products, key, adapter.Record{})
		if got := document.ID; err != nil && adapter.KindOf(err).String() != want || err == nil && got != want {
			t.Errorf("%d: %q (%v), want %s", key, got, err, want)
		}
	}
}

func TestJoinErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"without from", "from: extra.sale, ", "", "joins[0].from must have a value"},
		{"without as", "as: sale, ", "", "joins[0].as must have a value"},
		{"invalid name", "as: sale,", "as: Sale 1,", "as must consist of lower-case letters"},
		{"two joins of one name", "    id: id\n", "    - {from: id, as: sale, path: /s, items: s, id: id}\n    id: id\n", `joins[1].as is "sale", as of another join`},
		{"pages", "batch: 2}", "batch: 2, pages: {offset: o}}", "joins[0].pages is only allowed in scan or find"},
		{"where in fetch", "items: list, batch", "items: list, where: ., batch", "where is only allowed in scan"},
		{"among in scan", "items: list, where", "items: list, among: true, where", "among is only allowed in find"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(joinMapping, c.old) {
				t.Fatal("joinMapping does not contain the text to replace")
			}
			if _, err := openSmall(strings.Replace(joinMapping, c.old, c.new, 1)); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
