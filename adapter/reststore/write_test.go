package reststore

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"io"
	"net/http"
	"strings"
	"testing"
)

// writingMapping is a mapping whose writes take several requests.
const writingMapping = `name: writing
resources:
  products:
    attributes: [sku, name, price, tier_price, stock_item]
    references: {tier_price.cust_group: customer_groups}
    fetch: {path: '/p/{$id}', item: .}
    scan: {path: /p, items: ., pages: {page: page}}
    id: id
    read: '{}'
    create:
      - when: .new.sku == "forbidden"
        method: GET
        path: '/refused/{error({invalid: "sku"})}'
      - {name: look, method: GET, path: /sets, query: {name: '"default"'}}
      - {name: made, method: POST, path: /p, headers: {X-Why: new}, body: '{sku: .new.sku, set: .steps.look.id, price: (.new.price | number), key}', id: .product.id, undo: {method: DELETE, path: '/p/{.id}'}}
      - {name: steps, each: '.new.tier_price // [] | .[]', method: POST, path: '/p/{.id}/tiers', body: '$item | {price, group: .cust_group_ref}', undo: {method: DELETE, path: '/p/{.id}/tiers/{$item.cust_group}'}}
      - {when: .new.name == "linked", method: POST, path: '/p/{.id}/links', undone_by: made}
      - {when: .steps.steps | length > 1, method: PUT, path: '/p/{.id}/order', body: '[.steps.steps[].tier]'}
    update:
      - {when: .changed.name, method: PATCH, path: '/p/{.id}', body: '{name: .new.name, was: .old.name, key}'}
      - {when: .changed.price, method: PUT, path: '/p/{.id}/price', body: .new.price | number}
    without: {delete: it keeps all, find: no}
  product_websites:
    part_of: products
    attributes: [website_id]
    references: {website_id: websites}
    match: [website_id]
    items: .sold
    create: [{method: PUT, path: '/p/{.root.id}/channels', body: '[.siblings[] | .record.website_id_ref] + [.root.key]'}]
    delete: [{method: DELETE, path: '/p/{.root.id}/channels/{.old.website_id_ref}'}]
  stock_items:
    part_of: products
    attributes: [qty]
    items: '[]'
    update: [{method: PUT, path: '/stock/{.root.record.sku}', body: '{qty: (.new.qty | number), product: [.root.id, .root.key], group: .root.record.tier_price[0].cust_group_ref}'}]
  product_images:
    part_of: products
    attributes: [label]
    identified: true
    items: .images
    create:
      - {name: file, method: POST, path: /files, multipart: {field: data, attribute: content, filename: '"a/b.png" | split("/")[-1]', type: '"image/png"'}}
      - {method: POST, path: '/p/{.root.id}/images', body: '{url: .steps.file.url}', id: .id}
    without: {update: no, delete: no}
`

// A recordingServer records requests and answers them by method and path: with JSON, or
// with a status.
type recordingServer struct {
	answers  map[string]string
	requests []string
}

func (e *recordingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := r.Method + " " + r.URL.RequestURI()
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary=") {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		file, head, err := r.FormFile("data")
		if err != nil {
			line += " " + err.Error()
		} else {
			content, _ := io.ReadAll(file)
			line += fmt.Sprintf(" %s %s %q", head.Filename, head.Header.Get("Content-Type"), content)
		}
	} else if len(body) > 0 {
		line += " " + string(body)
	}
	e.requests = append(e.requests, line)
	answer, ok := e.answers[r.Method+" "+r.URL.Path]
	var status int
	if n, _ := fmt.Sscanf(answer, "%d", &status); ok && n == 1 {
		w.WriteHeader(status)
		return
	}
	if !ok {
		answer = "{}"
	}
	respond(w, 200, answer)
}

func product(values attrs) adapter.Record { return values.Record(schemas.Of(adapter.Products)) }

func website(key int) adapter.Record {
	return attrs{"website_id": key}.Record(schemas.Of(adapter.ProductWebsites))
}

func TestWrites(t *testing.T) {
	image := attrs{"content": "\x89PNG\xff\x00"}.Record(schemas.Of(adapter.ProductImages))
	newProduct := product(attrs{"sku": "s", "price": "12345678901234.5600", "tier_price": []attrs{{"cust_group": 2, "price": "1.0000"}, {"cust_group": 32000, "price": "1.0000"}}})
	linkedProduct := newProduct.Clone()
	linkedProduct.Set("name", adapter.TextValue("linked"))
	createRequests := []string{
		`GET /sets?name=default`,
		`POST /p {"key":5,"price":12345678901234.56,"set":9,"sku":"s"}`,
		`POST /p/77/tiers {"group":"g-two","price":"1.0000"}`,
		`POST /p/77/tiers {"group":null,"price":"1.0000"}`,
	}
	success := map[string]string{"GET /sets": `{"id": 9}`, "POST /p": `{"product": {"id": 77}}`, "POST /p/77/tiers": `{"tier": 1}`}
	successExcept := func(line, answer string) map[string]string {
		all := map[string]string{line: answer}
		for l, a := range success {
			if l != line {
				all[l] = a
			}
		}
		return all
	}
	for _, c := range []struct {
		name    string
		do      string
		write   replica.Write
		answers map[string]string
		want    []string
		id      string
		kind    adapter.ErrorKind
		field   string
		fails   bool
	}{
		{name: "a create", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: success, id: "77",
			want: append(createRequests[:4:4], `PUT /p/77/order [1,1]`)},
		{name: "rejected by the mapping", do: "create", write: replica.Write{Resource: adapter.Products, New: product(attrs{"sku": "forbidden"})},
			fails: true, kind: adapter.Invalid, field: "sku"},
		{name: "rejected by the first write request", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("POST /p", "409"),
			want: createRequests[:2], fails: true, kind: adapter.Conflict},
		{name: "rejected by a later request", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("POST /p/77/tiers", "422"),
			want: append(createRequests[:3:3], `DELETE /p/77`), fails: true, kind: adapter.Invalid},
		{name: "rollback fails", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct},
			answers: map[string]string{"GET /sets": `{"id": 9}`, "POST /p": `{"product": {"id": 77}}`, "POST /p/77/tiers": "422", "DELETE /p/77": "500"},
			want:    append(createRequests[:3:3], `DELETE /p/77`), fails: true, kind: adapter.Internal},
		{name: "rejected by the last request", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("PUT /p/77/order", "404"),
			want: append(createRequests[:4:4], `PUT /p/77/order [1,1]`, `DELETE /p/77/tiers/32000`, `DELETE /p/77/tiers/2`, `DELETE /p/77`), fails: true, kind: adapter.NotFound},
		{name: "undone by an earlier request", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: linkedProduct}, answers: successExcept("PUT /p/77/order", "422"),
			want: append(createRequests[:4:4], `POST /p/77/links`, `PUT /p/77/order [1,1]`, `DELETE /p/77/tiers/32000`, `DELETE /p/77/tiers/2`, `DELETE /p/77`), fails: true, kind: adapter.Invalid},
		{name: "unavailable", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("POST /p/77/tiers", "503"),
			want: createRequests[:3], fails: true, kind: adapter.Unavailable},
		{name: "response without id", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("POST /p", `{"product": {}}`),
			want: createRequests[:2], fails: true, kind: adapter.Internal},
		{name: "lookup not found", do: "create", write: replica.Write{Resource: adapter.Products, Key: 5, New: newProduct}, answers: successExcept("GET /sets", "404"),
			want: createRequests[:1], fails: true, kind: adapter.NotFound},

		{name: "an update", do: "update", write: replica.Write{Resource: adapter.Products, Key: 5, ID: "a/b", Old: product(attrs{"name": nil}),
			New: product(attrs{"name": "é", "price": "7.2500"}), Changed: []string{"name", "price"}},
			want: []string{`PATCH /p/a%2Fb {"key":5,"name":"é","was":null}`, `PUT /p/a%2Fb/price 7.25`}},
		{name: "an update of one attribute", do: "update", write: replica.Write{Resource: adapter.Products, ID: "1", New: product(attrs{"price": "0.0000"}), Changed: []string{"price"}},
			want: []string{`PUT /p/1/price 0`}},
		{name: "an update that cannot be rolled back", do: "update", write: replica.Write{Resource: adapter.Products, Key: 5, ID: "1", New: product(attrs{"name": "n", "price": "1.0000"}), Changed: []string{"name", "price"}},
			answers: map[string]string{"PUT /p/1/price": "422"},
			want:    []string{`PATCH /p/1 {"key":5,"name":"n","was":null}`, `PUT /p/1/price 1`}, fails: true, kind: adapter.Internal},
		{name: "a missing operation", do: "delete", write: replica.Write{Resource: adapter.Products, ID: "1"}, fails: true, kind: adapter.Unsupported},

		{name: "create a part", do: "create", write: replica.Write{Resource: adapter.ProductWebsites, RootKey: 5, RootID: "1", New: website(1), Siblings: []replica.Sibling{{Record: website(1)}, {Record: website(3)}}},
			want: []string{`PUT /p/1/channels ["w-one",null,5]`}},
		{name: "a part with its root", do: "update", write: replica.Write{Resource: adapter.StockItems, RootKey: 5, RootID: "1", New: attrs{"qty": "3.5000"}.Record(schemas.Of(adapter.StockItems)),
			Root: product(attrs{"sku": "a/b +c", "tier_price": []attrs{{"cust_group": 2}}})},
			want: []string{`PUT /stock/a%2Fb%20%2Bc {"group":"g-two","product":["1",5],"qty":3.5}`}},
		{name: "a part without a backend id", do: "create", write: replica.Write{Resource: adapter.ProductWebsites, RootID: "1", New: website(3)},
			fails: true, kind: adapter.Invalid, field: "website_id"},
		{name: "delete a part", do: "delete", write: replica.Write{Resource: adapter.ProductWebsites, RootID: "1", Old: website(1)},
			want: []string{`DELETE /p/1/channels/w-one`}},
		{name: "a file", do: "create", write: replica.Write{Resource: adapter.ProductImages, RootID: "1", New: image},
			answers: map[string]string{"POST /files": `{"url": "u"}`, "POST /p/1/images": `{"id": "i"}`}, id: "i",
			want: []string{`POST /files b.png image/png "\x89PNG\xff\x00"`, `POST /p/1/images {"url":"u"}`}},
		{name: "a resource that is not mapped", do: "update", write: replica.Write{Resource: adapter.Orders}, fails: true, kind: adapter.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &recordingServer{answers: c.answers}
			b := serve(t, writingMapping, groups, e.ServeHTTP)
			var id string
			var err error
			switch c.do {
			case "create":
				id, err = b.Create(t.Context(), &c.write)
			case "update":
				err = b.Update(t.Context(), &c.write)
			default:
				err = b.Delete(t.Context(), &c.write)
			}
			if (err != nil) != c.fails || err != nil && adapter.KindOf(err) != c.kind || id != c.id {
				t.Errorf("%q, %v; want %q, %s", id, err, c.id, c.kind)
			}
			if field := fieldOf(err); field != c.field {
				t.Errorf("field %q, want %q", field, c.field)
			}
			if got, want := strings.Join(e.requests, "\n"), strings.Join(c.want, "\n"); got != want {
				t.Errorf("sent\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func fieldOf(err error) string {
	var known *adapter.Error
	if !errors.As(err, &known) {
		return ""
	}
	return known.Field
}

// TestInput checks the form in which expressions see a record.
func TestInput(t *testing.T) {
	m := `name: input
resources:
  customers:
    attributes: [email, group_id, dob]
    references: {group_id: customer_groups}
    fetch: {path: /c, items: c}
    scan: {path: /c, items: c, pages: {page: p}}
    id: id
    read: '{}'
    create: [{method: POST, path: /c, body: ., id: '"1"'}]
    without: {update: no, delete: no, find: no}
`
	e := &recordingServer{}
	b := serve(t, m, groups, e.ServeHTTP)
	r := attrs{"email": "a@example.com", "group_id": 1, "dob": "1985-12-10 00:00:00", "prefix": nil}.Record(schemas.Of(adapter.Customers))
	if _, err := b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, Key: 1 << 52, New: r, Changed: []string{"email"}}); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(e.requests[0], " /c ")
	want := `{"changed":{"email":true},"headers":{},"id":null,"key":4503599627370496,"new":{"dob":"1985-12-10 00:00:00","email":"a@example.com","group_id":1,"group_id_ref":"g-one","prefix":null},` +
		`"old":null,"parts":{},"root":{"id":null,"key":0,"record":null},"siblings":[],"steps":{},"views":[]}`
	if body != want || !json.Valid([]byte(body)) {
		t.Errorf("input\n%s\nwant\n%s", body, want)
	}
}
