package reststore

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// viewsMapping has products whose names differ by store view, at addresses that begin with the store view.
const viewsMapping = `name: halls
resources:
  stores:
    attributes: [code, name, website_id]
    fetch: {path: /stores, items: list}
    scan: {path: /stores, items: list, where: .code != "admin", pages: {page: page}}
    id: code
    key: .id
    read: '{code, name: .code, website_id: 1}'
  products:
    attributes: [sku, name, description, price]
    fetch: {path: /all/products, query: {ids: '$ids | join(",")'}, items: list, batch: 10}
    scan: {path: /all/products, items: list, pages: {page: page}}
    joins: [{from: id, as: stock, path: /stock, items: list, id: id}]
    id: id
    key: .key
    read: '{sku, name, description, price}'
    views:
      attributes: [name, description]
      path: '/{$view}/products'
      query: {ids: '$ids | join(",")'}
      items: list
      batch: 10
      read: '{name, description}'
    update:
      - {when: '.changed != {}', method: PUT, path: '/all/products/{.id}', body: '{name: .new.name}'}
      - {each: '.views[]', method: PUT, path: '/{$item.id}/products/{.id}', body: '$item | .changed as $changed | .new | with_entries(select($changed[.key]))'}
    without: {create: no, delete: no, find: no}
`

// A viewServer has products at the default scope and at store views.
type viewServer struct {
	mu       sync.Mutex
	products map[string][]string // by scope: documents
	requests []string            // to store views
}

func (h *viewServer) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	scope, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Query().Get("page") == "2":
		respond(w, 200, `{"list": []}`)
	case scope == "stock":
		respond(w, 200, `{"list": []}`)
	case scope == "stores":
		respond(w, 200, `{"list": [{"code": "admin", "id": 0}, {"code": "en", "id": 1}, {"code": "fr", "id": 2}, {"code": "new", "id": 3}]}`)
	case r.Method == http.MethodPut:
		var body any
		_ = json.NewDecoder(r.Body).Decode(&body)
		h.requests = append(h.requests, fmt.Sprintf("%s %v", r.URL.Path, body))
		respond(w, 200, `{}`)
	default:
		if scope != "all" {
			h.requests = append(h.requests, scope+" "+r.URL.Query().Get("ids"))
		}
		respond(w, 200, `{"list": [`+strings.Join(h.products[scope], ", ")+`]}`)
	}
}

// sent returns the requests to store views since the last call, sorted.
func (h *viewServer) sent() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.requests = nil }()
	slices.Sort(h.requests)
	return h.requests
}

// storeIDs is an ID map of store views, without the new one.
func storeIDs() IDs { return memoryIDs{adapter.Stores: {1: "en", 2: "fr"}} }

// TestViews reads the values at store views.
func TestViews(t *testing.T) {
	h := &viewServer{products: map[string][]string{
		"all": {`{"id": "a", "name": "Kettle", "price": 5}`, `{"id": "b", "name": "Pot", "description": "Round"}`, `{"id": "c", "name": "Pan"}`},
		"en":  {`{"id": "a", "name": "Kettle"}`, `{"id": "b", "name": "Pot", "description": "Round"}`, `{"id": "c", "name": "Pan"}`},
		"fr":  {`{"id": "a", "name": "Bouilloire"}`, `{"id": "b", "name": "Pot", "description": ""}`},
		"new": {`{"id": "a", "name": "Olla"}`},
	}}
	b := serve(t, viewsMapping, storeIDs(), h.serve)
	documents, err := b.Fetch(t.Context(), adapter.Products, []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if sent := h.sent(); len(sent) != 0 {
		t.Errorf("before a document is read: %q", sent)
	}
	for i, want := range []struct{ views, requests string }{
		{"1: name -, description -; 2: name text Bouilloire, description -", "en a, fr a, new a"},
		{"1: name -, description -; 2: name -, description text ", "en b,c, fr b,c, new b,c"},
		{"1: name -, description -", ""}, // the store view does not have the product
	} {
		item, _, err := documents[i].Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := formatViews(item.Views); got != want.views {
			t.Errorf("document %d: %s, want %s", i, got, want.views)
		}
		if got := strings.Join(h.sent(), ", "); got != want.requests {
			t.Errorf("document %d: requests %s, want %s", i, got, want.requests)
		}
	}
	item, _, err := documents[0].Read(t.Context())
	if err != nil || !slices.Equal(item.Unresolved[adapter.Stores], []string{"new"}) {
		t.Errorf("unresolved %v (%v), want the new store view", item.Unresolved, err)
	}
}

// TestViewWrites sends changes at store views to the store views that have an id.
func TestViewWrites(t *testing.T) {
	h := &viewServer{}
	b := serve(t, viewsMapping, storeIDs(), h.serve)
	schema := adapter.NewSchemas().Of(adapter.Products)
	view := func(store adapter.Key, values attrs, changed ...string) replica.ViewWrite {
		return replica.ViewWrite{Store: store, Old: adapter.NewRecord(schema), New: values.Record(schema), Changed: changed}
	}
	err := b.Update(t.Context(), &replica.Write{
		Resource: adapter.Products, ID: "a", Old: adapter.NewRecord(schema), New: attrs{"name": "Kettle"}.Record(schema),
		Views: []replica.ViewWrite{
			view(1, attrs{"name": "Kettle", "description": nil}, "description"),
			view(2, attrs{"name": "Bouilloire", "description": nil}, "name", "description"),
			view(9, attrs{"name": "Kessel"}, "name"), // the backend does not have it
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/en/products/a map[description:<nil>]", "/fr/products/a map[description:<nil> name:Bouilloire]"}
	if sent := h.sent(); !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// TestViewsInMappings refuses views that cannot be read.
func TestViewsInMappings(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"attributes: [name, description]\n", "attributes: [name, price]\n", `is "price", which must be in the attributes of products, and may differ by store view`},
		{"attributes: [name, description]\n", "attributes: [name, meta_title]\n", `is "meta_title", which must be`},
		{"read: '{name, description}'", "read: '{name, sku}'", `returns "sku", which is not one of`},
		{"  stores:\n", "  websites:\n", "views needs the resource stores"},
	} {
		if !strings.Contains(viewsMapping, c.old) {
			t.Fatalf("the mapping has no %q", c.old)
		}
		_, err := openSmall(strings.Replace(viewsMapping, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

func formatViews(views replica.Views) string {
	var texts []string
	for _, store := range slices.Sorted(maps.Keys(views)) {
		text := ""
		for _, name := range []string{"name", "description"} {
			v := views[store].Get(name)
			shown := map[adapter.ValueKind]string{adapter.Absent: "absent", adapter.Null: "-", adapter.Text: "text " + v.Text()}[v.Kind()]
			text += ", " + name + " " + shown
		}
		texts = append(texts, fmt.Sprintf("%d: %s", store, text[2:]))
	}
	return strings.Join(texts, "; ")
}

// TestTryViews shows the values that store views have of their own.
func TestTryViews(t *testing.T) {
	h := &viewServer{products: map[string][]string{
		"all": {`{"id": "a", "name": "Kettle", "price": 5}`}, "en": {`{"id": "a", "name": "Kettle"}`}, "fr": {`{"id": "a", "name": "Bouilloire"}`},
	}}
	server := httptest.NewServer(http.HandlerFunc(h.serve))
	defer server.Close()
	trial, err := Try(t.Context(), Options{Mapping: []byte(viewsMapping), URL: server.URL}, adapter.Products, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, r := range trial.Records[1:] {
		shown = append(shown, fmt.Sprint(r.Store, " ", r.Values))
	}
	slices.Sort(shown)
	if want := []string{"en []", "fr [{name Bouilloire views }]"}; !slices.Equal(shown, want) {
		t.Errorf("store views %q, want %q", shown, want)
	}
}
