package reststore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// graphqlMapping is a mapping with GraphQL requests of all kinds.
const graphqlMapping = `name: graph
vars: {shop: main}
connection:
  graphql:
    path: /{$shop}/graphql
    fragments: |
      fragment customer on Customer { id mail }
  limits: {timeout: 2s, response_bytes: 64KiB, depth: 16}
  retry: {attempts: 3, budget: 1, wait: 1ms, max_wait: 3s}
  ping: {graphql: '{ shop }'}
  errors:
    - {when: '.body.errors[0].code == "TAKEN"', kind: conflict, field: '"email"', reason: '.body.errors[0].code'}
    - {when: '.body.errors[0].code == "GONE"', kind: not_found}
    - {when: '.body.errors[0].code == "LOST"', reason: '.body.errors[0].code'}
    - {when: .body.data.add.code, kind: invalid, reason: .body.data.add.code, any_status: true}
resources:
  customers:
    attributes: [email]
    fetch:
      graphql: 'query ($ids: [ID!]!) { customers(ids: $ids) { ...customer } }'
      variables: {ids: $ids}
      items: data.customers
      batch: 2
    scan:
      graphql: 'query all($since: Time, $after: String, $n: Int!) { customers(since: $since, after: $after, first: $n) { nodes { ...customer } page { end more } } }'
      variables: {since: $since}
      items: data.customers.nodes
      where: .mail != "guest"
      pages: {limit: n, size: 2, cursor: {query: after, next: data.customers.page.end, more: data.customers.page.more}}
    find:
      graphql: 'query ($key: Int!) { customer(legacy: $key) { id legacy } }'
      variables: {key: $key}
      item: data.customer
    joins:
      - graphql: 'query ($ids: [ID!]!) { cards(ids: $ids) { id } }'
        variables: {ids: $ids}
        items: data.cards
        from: card
        as: card
        id: id
    id: id
    key: .legacy
    read: '{email: .mail}'
    create:
      - name: it
        graphql: 'mutation ($in: In!) { add(in: $in) { id code } }'
        variables: {in: '{mail: .new.email, name: null}'}
        id: .data.add.id
        undo: {graphql: 'mutation ($id: ID!) { remove(id: $id) }', variables: {id: .id}}
      - {graphql: 'mutation ($id: ID!, $note: String) { note(id: $id, note: $note) }', variables: {id: .steps.it.data.add.id, note: .new.prefix}}
    update:
      - {name: old, graphql: 'query ($id: ID!) { customer(id: $id) { rev } }', variables: {id: .id}}
      - {graphql: 'mutation ($id: ID!, $rev: Int!) { set(id: $id, rev: $rev) }', variables: {id: .id, rev: .steps.old.data.customer.rev}}
    delete:
      - {each: '1, 2', graphql: 'mutation ($n: Int!) { remove(n: $n) }', variables: {n: $item}}
  products:
    attributes: [sku]
    fetch: {graphql: 'query ($id: Int!) { product(id: $id) { id sku } }', variables: {id: $id | tonumber}, aliases: true, batch: 3}
    scan: {graphql: 'query ($page: Int!) { products(page: $page) { id } total }', items: data.products, pages: {page: page, total: data.total}}
    find: {graphql: '{ newest { id legacy } }', items: data.newest, among: true}
    id: id
    key: .legacy
    read: '{sku}'
    without: {create: no, update: no, delete: no}
  product_images:
    part_of: products
    attributes: [file]
    items: .images
    identified: true
    create:
      - graphql: 'mutation ($file: Upload!, $to: ID!) { upload(file: $file, to: $to) }'
        variables: {to: .root.id}
        multipart: {variable: file, attribute: content, filename: '"a.png"', type: '"image/png"'}
        id: .data.upload
    without: {update: no, delete: no}
`

// A graphqlRequest is the body of a GraphQL request.
type graphqlRequest struct {
	Query     string
	Variables map[string]any
}

// serveGraphQL opens a mapping with answer as its backend, and returns the requests that it
// gets: the variables behind the document.
func serveGraphQL(t *testing.T, content string, answer func(graphqlRequest) string) (*Backend, *[]string) {
	t.Helper()
	var requests []string
	b := serve(t, content, nil, func(w http.ResponseWriter, r *http.Request) {
		var in graphqlRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/main/graphql" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		variables, _ := json.Marshal(in.Variables)
		requests = append(requests, strings.Join(strings.Fields(in.Query), " ")+" "+string(variables))
		respond(w, 200, answer(in))
	})
	return b, &requests
}

// answered returns an answer with these bodies in turn.
func answered(bodies ...string) func(graphqlRequest) string {
	return func(graphqlRequest) string {
		body := bodies[0]
		bodies = bodies[1:]
		return body
	}
}

func TestGraphQLRequests(t *testing.T) {
	image := attrs{"content": "x"}.Record(schemas.Of(adapter.ProductImages))
	fetch := func(r adapter.Resource, ids ...string) func(*testing.T, *Backend) (string, error) {
		return func(t *testing.T, b *Backend) (string, error) {
			documents, err := b.Fetch(t.Context(), r, ids)
			return strings.Join(documentIDs(documents), " "), err
		}
	}
	scan := func(r adapter.Resource, since time.Time) func(*testing.T, *Backend) (string, error) {
		return func(t *testing.T, b *Backend) (string, error) {
			var ids []string
			err := b.Scan(t.Context(), r, since, func(d []replica.Document) error {
				ids = append(ids, documentIDs(d)...)
				return nil
			})
			return strings.Join(ids, " "), err
		}
	}
	for _, c := range []struct {
		name    string
		call    func(*testing.T, *Backend) (string, error)
		answers []string
		want    string
		err     string // part of the error
		sent    []string
	}{
		{name: "fetch", call: fetch(adapter.Customers, "a", "b"), answers: []string{`{"data": {"customers": [{"id": "a"}, {"id": 7}]}}`}, want: "a 7",
			sent: []string{`query ($ids: [ID!]!) { customers(ids: $ids) { ... customer } } fragment customer on Customer { id mail } {"ids":["a","b"]}`}},
		{name: "join", call: fetch(adapter.Customers, "a"), answers: []string{`{"data": {"customers": [{"id": "a", "card": "c"}]}}`, `{"data": {"cards": [{"id": "c"}]}}`}, want: "a",
			sent: []string{`query ($ids: [ID!]!) { customers(ids: $ids) { ... customer } } fragment customer on Customer { id mail } {"ids":["a"]}`,
				`query ($ids: [ID!]!) { cards(ids: $ids) { id } } {"ids":["c"]}`}},
		{name: "aliases", call: fetch(adapter.Products, "2", "1"), answers: []string{`{"data": {"r1": {"id": 2}, "r0": null}}`}, want: "2",
			sent: []string{`query ($id_0: Int!, $id_1: Int!, ) { r0: product(id: $id_0) { id sku } r1: product(id: $id_1) { id sku } } {"id_0":1,"id_1":2}`}},
		{name: "a missing alias", call: fetch(adapter.Products, "2", "1"), answers: []string{`{"data": {"r1": {"id": 2}}}`}, err: "data has 1 members, not 2",
			sent: []string{`query ($id_0: Int!, $id_1: Int!, ) { r0: product(id: $id_0) { id sku } r1: product(id: $id_1) { id sku } } {"id_0":1,"id_1":2}`}},
		{name: "where and cursors", call: scan(adapter.Customers, time.Unix(0, 0)), want: "a b", answers: []string{
			`{"data": {"customers": {"nodes": [{"id": "a"}, {"id": "g", "mail": "guest"}], "page": {"end": "x", "more": true}}}}`,
			`{"data": {"customers": {"nodes": [{"id": "b"}], "page": {"end": "y", "more": false}}}}`},
			sent: []string{
				`query all ($since: Time, $after: String, $n: Int!) { customers(since: $since, after: $after, first: $n) { nodes { ... customer } page { end more } } } fragment customer on Customer { id mail } {"n":2,"since":"1970-01-01T00:00:00Z"}`,
				`query all ($since: Time, $after: String, $n: Int!) { customers(since: $since, after: $after, first: $n) { nodes { ... customer } page { end more } } } fragment customer on Customer { id mail } {"after":"x","n":2,"since":"1970-01-01T00:00:00Z"}`}},
		{name: "more without a cursor", call: scan(adapter.Customers, time.Time{}), answers: []string{`{"data": {"customers": {"nodes": [], "page": {"end": null, "more": true}}}}`},
			err: "data.customers.page.more is true, but there is no next cursor", sent: []string{`query all ($since: Time, $after: String, $n: Int!) { customers(since: $since, after: $after, first: $n) { nodes { ... customer } page { end more } } } fragment customer on Customer { id mail } {"n":2}`}},
		{name: "more of another type", call: scan(adapter.Customers, time.Time{}), answers: []string{`{"data": {"customers": {"nodes": [], "page": {"end": null, "more": "no"}}}}`},
			err: "data.customers.page.more is not a boolean", sent: []string{`query all ($since: Time, $after: String, $n: Int!) { customers(since: $since, after: $after, first: $n) { nodes { ... customer } page { end more } } } fragment customer on Customer { id mail } {"n":2}`}},
		{name: "pages with a total", call: scan(adapter.Products, time.Time{}), want: "1", answers: []string{`{"data": {"products": [{"id": 1}], "total": 1}}`},
			sent: []string{`query ($page: Int!) { products(page: $page) { id } total } {"page":1}`}},
		{name: "find", want: "x", answers: []string{`{"data": {"customer": {"id": "x", "legacy": 7}}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				d, err := b.Find(t.Context(), adapter.Customers, 7, adapter.Record{})
				return d.ID, err
			}, sent: []string{`query ($key: Int!) { customer(legacy: $key) { id legacy } } {"key":7}`}},
		{name: "find among others", want: "8", answers: []string{`{"data": {"newest": [{"id": 7, "legacy": 6}, {"id": 8, "legacy": 7}]}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				d, err := b.Find(t.Context(), adapter.Products, 7, adapter.Record{})
				return d.ID, err
			}, sent: []string{`query { newest { id legacy } } {}`}},
		{name: "create", want: "n1", answers: []string{`{"data": {"add": {"id": "n1"}}}`, `{"data": {"note": null}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				return b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, New: customer("a@example.com")})
			}, sent: []string{`mutation ($in: In!) { add(in: $in) { id code } } {"in":{"mail":"a@example.com","name":null}}`,
				`mutation ($id: ID!, $note: String) { note(id: $id, note: $note) } {"id":"n1"}`}},
		{name: "undo", err: "conflict", answers: []string{`{"data": {"add": {"id": "n1"}}}`, `{"errors": [{"code": "TAKEN"}]}`, `{"data": {"remove": true}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				_, err := b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, New: customer("a@example.com")})
				return "", fmt.Errorf("%w, %s", err, adapter.KindOf(err))
			}, sent: []string{`mutation ($in: In!) { add(in: $in) { id code } } {"in":{"mail":"a@example.com","name":null}}`,
				`mutation ($id: ID!, $note: String) { note(id: $id, note: $note) } {"id":"n1"}`, `mutation ($id: ID!) { remove(id: $id) } {"id":"n1"}`}},
		{name: "query before a mutation", answers: []string{`{"data": {"customer": {"rev": 3}}}`, `{"data": {"set": 1}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				return "", b.Update(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "x", New: customer("a@example.com")})
			}, sent: []string{`query ($id: ID!) { customer(id: $id) { rev } } {"id":"x"}`, `mutation ($id: ID!, $rev: Int!) { set(id: $id, rev: $rev) } {"id":"x","rev":3}`}},
		{name: "required variable without a value", answers: []string{`{"data": {"customer": null}}`}, err: "test.yaml:53: the variable rev is null",
			call: func(t *testing.T, b *Backend) (string, error) {
				return "", b.Update(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "x", New: customer("a@example.com")})
			}, sent: []string{`query ($id: ID!) { customer(id: $id) { rev } } {"id":"x"}`}},
		{name: "each", answers: []string{`{"data": {"remove": 1}}`, `{"data": {"remove": 1}}`},
			call: func(t *testing.T, b *Backend) (string, error) {
				return "", b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "x"})
			}, sent: []string{`mutation ($n: Int!) { remove(n: $n) } {"n":1}`, `mutation ($n: Int!) { remove(n: $n) } {"n":2}`}},
		{name: "ping", answers: []string{`{"data": {"shop": null}}`}, sent: []string{`query { shop } {}`},
			call: func(t *testing.T, b *Backend) (string, error) { return "", b.Ping(t.Context()) }},
		{name: "ping of a backend with errors", answers: []string{`{"errors": [{}]}`}, sent: []string{`query { shop } {}`}, err: "ping upstream: query shop: unavailable",
			call: func(t *testing.T, b *Backend) (string, error) { return "", b.Ping(t.Context()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, requests := serveGraphQL(t, graphqlMapping, answered(c.answers...))
			got, err := c.call(t, b)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.err)
			}
			if !slices.Equal(*requests, c.sent) {
				t.Errorf("sent\n%s\nwant\n%s", strings.Join(*requests, "\n"), strings.Join(c.sent, "\n"))
			}
		})
	}
	t.Run("multipart", func(t *testing.T) {
		var parts []string
		b := serve(t, graphqlMapping, nil, func(w http.ResponseWriter, r *http.Request) {
			form, err := r.MultipartReader()
			for err == nil {
				part, failed := form.NextPart()
				if failed != nil {
					break
				}
				content, _ := io.ReadAll(part)
				parts = append(parts, strings.Join([]string{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)}, "|"))
			}
			respond(w, 200, `{"data": {"upload": "i"}}`)
		})
		id, err := b.Create(t.Context(), &replica.Write{Resource: adapter.ProductImages, RootID: "p", New: image})
		want := []string{
			`operations||application/json|{"query":"mutation ($file: Upload!, $to: ID!) {\nupload(file: $file, to: $to)\n}\n","variables":{"file":null,"to":"p"}}`,
			`map||application/json|{"0":["variables.file"]}`, `0|a.png|image/png|x`,
		}
		if err != nil || id != "i" || !slices.Equal(parts, want) {
			t.Errorf("%q, %v, sent %q", id, err, parts)
		}
	})
}

// TestGraphQLResponses checks the errors that responses to GraphQL requests mean, for a
// read and for a write.
func TestGraphQLResponses(t *testing.T) {
	const whole = `{"data": {"customers": [], "add": {"id": "x"}, "note": 1, "remove": 1}`
	for _, c := range []struct {
		name        string
		status      int // 200 if it is 0
		body        string
		ok          bool
		read, write adapter.ErrorKind
		field, want string // part of the read's error
	}{
		{name: "success", body: whole + `}`, ok: true},
		{name: "null errors", body: whole + `, "errors": null}`, ok: true},
		{name: "no errors", body: whole + `, "errors": []}`, ok: true},
		{name: "errors and data", body: whole + `, "errors": [{"message": "someone"}]}`, read: adapter.Unavailable, write: adapter.Unavailable, want: "fetch customers: query customers: unavailable: status 200 with GraphQL errors"},
		{name: "errors and null", body: `{"errors": [{"message": "someone"}], "data": null}`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "errors alone", body: `{"errors": [{"message": "someone"}]}`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "errors of another type", body: whole + `, "errors": "someone"}`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "null data", body: `{"data": null}`, read: adapter.Unavailable, write: adapter.Unavailable, want: "data is missing or null"},
		{name: "no data", body: `{}`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "null list", body: `{"data": {"customers": null, "add": null}}`, read: adapter.Unavailable, write: adapter.Internal, want: "data.customers is null"},
		{name: "no list", body: `{"data": {"add": null}}`, read: adapter.Unavailable, write: adapter.Internal, want: "data.customers is missing"},
		{name: "rule", body: `{"errors": [{"code": "TAKEN"}], "data": {"add": null}}`, read: adapter.Internal, write: adapter.Conflict, field: "email", want: `status 200, "TAKEN"`},
		{name: "rule without kind", body: `{"errors": [{"code": "LOST"}]}`, read: adapter.Unavailable, write: adapter.Unavailable, want: `status 200, "LOST"`},
		{name: "rule not_found on a list", body: `{"errors": [{"code": "GONE"}]}`, read: adapter.Internal, write: adapter.NotFound},
		{name: "errors as data", body: `{"data": {"add": {"code": "BAD"}, "customers": []}}`, read: adapter.Internal, write: adapter.Invalid, want: `"BAD"`},
		{name: "errors with a status", status: 400, body: `{"errors": [{"code": "TAKEN"}]}`, read: adapter.Internal, write: adapter.Conflict, field: "email"},
		{name: "a document that the backend rejects", status: 400, body: `{"errors": [{"message": "someone"}]}`, read: adapter.Internal, write: adapter.Invalid},
		{name: "not found", status: 404, body: `{}`, read: adapter.Internal, write: adapter.Internal, want: "status 404"},
		{name: "server error", status: 500, body: `{"errors": [{"message": "someone"}]}`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "HTML", body: `<html>`, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "cut", body: whole, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "nothing", body: ``, read: adapter.Unavailable, write: adapter.Unavailable},
		{name: "a list", body: `[` + whole + `}]`, read: adapter.Unavailable, write: adapter.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, graphqlMapping, nil, func(w http.ResponseWriter, _ *http.Request) { respond(w, max(c.status, 200), c.body) })
			_, err := b.Fetch(t.Context(), adapter.Customers, []string{"someone"})
			if (err == nil) != c.ok || err != nil && (adapter.KindOf(err) != c.read || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("fetch: %v, want %s, %q", err, c.read, c.want)
			}
			_, err = b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, New: customer("someone@example.com")})
			if (err == nil) != c.ok || err != nil && (adapter.KindOf(err) != c.write || fieldOf(err) != c.field) {
				t.Errorf("create: %v, want %s", err, c.write)
			}
			if err != nil && strings.Contains(err.Error(), "someone") {
				t.Errorf("the error %v has text of the response", err)
			}
		})
	}
}

// TestGraphQLSingle checks the responses to which a single document does not exist.
func TestGraphQLSingle(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   adapter.ErrorKind
	}{
		{"null", 200, `{"data": {"customer": null}}`, adapter.NotFound},
		{"rule", 200, `{"errors": [{"code": "GONE"}], "data": {"customer": null}}`, adapter.NotFound},
		{"errors", 200, `{"errors": [{}], "data": {"customer": null}}`, adapter.Unavailable},
		{"null data", 200, `{"data": null}`, adapter.Unavailable},
		{"missing", 200, `{"data": {}}`, adapter.Unavailable},
		{"another endpoint", 404, `{}`, adapter.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, graphqlMapping, nil, func(w http.ResponseWriter, _ *http.Request) { respond(w, c.status, c.body) })
			if _, err := b.Find(t.Context(), adapter.Customers, 7, adapter.Record{}); adapter.KindOf(err) != c.kind || err == nil {
				t.Errorf("%v, want %s", err, c.kind)
			}
		})
	}
}

// TestGraphQLRetries checks that queries are retried, and mutations are not.
func TestGraphQLRetries(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(context.Context, *Backend) error
		sent int
	}{
		{"query", fetchOne, 3},
		{"mutation", func(ctx context.Context, b *Backend) error {
			return b.Delete(ctx, &replica.Write{Resource: adapter.Customers, ID: "1"})
		}, 1},
	} {
		for failure, answer := range map[string]func() (*http.Response, error){
			"lost": func() (*http.Response, error) { return nil, errors.New("lost") },
			"busy": func() (*http.Response, error) { return httpResponse(503, ""), nil },
		} {
			t.Run(c.name+" "+failure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := openAt(t, graphqlMapping, nil, "http://graph.example")
					s := &scriptedTransport{answer: func(int, *http.Request) (*http.Response, error) { return answer() }}
					b.client.resty.SetTransport(s)
					if err := c.call(t.Context(), b); adapter.KindOf(err) != adapter.Unavailable || s.n != c.sent {
						t.Errorf("%v after %d requests, want %d", err, s.n, c.sent)
					}
				})
			})
		}
	}
}

// TestGraphQLLogin checks a login by a mutation, whose token is in a header, and that the
// error of an expired token leads to another login.
func TestGraphQLLogin(t *testing.T) {
	const auth = `
  auth:
    login:
      request: {graphql: 'mutation ($user: String!, $secret: String!) { login(user: $user, secret: $secret) }', variables: {user: $user, secret: $secret}}
      token_header: X-Token
      expired: .body.errors[0].code == "EXPIRED"
  limits`
	logins, valid, calls := 0, "", 0
	b := serve(t, strings.Replace(graphqlMapping, "\n  limits", auth, 1), nil, func(w http.ResponseWriter, r *http.Request) {
		var in graphqlRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		switch {
		case in.Variables["secret"] == "hush" && in.Variables["user"] == "u":
			logins++
			valid = fmt.Sprintf("t%d", logins)
			w.Header().Set("X-Token", valid)
			respond(w, 200, `{"data": {"login": true}}`)
		case r.Header.Get("Authorization") != "Bearer "+valid:
			respond(w, 200, `{"errors": [{"code": "EXPIRED"}], "data": {"remove": null}}`)
		default:
			calls++
			respond(w, 200, `{"data": {"customers": [], "remove": 1}}`)
		}
	})
	for range 2 {
		if err := fetchOne(t.Context(), b); err != nil || logins != 1 {
			t.Fatalf("%v, %d logins", err, logins)
		}
	}
	valid = "revoked"
	if err := b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "1"}); err != nil || logins != 2 || calls != 4 {
		t.Errorf("%v, %d logins, %d calls", err, logins, calls)
	}
}

func TestGraphQLMappingErrors(t *testing.T) {
	const find = "graphql: 'query ($key: Int!) { customer(legacy: $key) { id legacy } }'"
	checkMappingErrors(t, graphqlMapping, []mappingError{
		{"no connection", "  graphql:\n    path: /{$shop}/graphql\n    fragments: |\n      fragment customer on Customer { id mail }\n", "", []string{
			"small.yaml:6: connection.ping.graphql needs connection.graphql"}},
		{"no path", "    path: /{$shop}/graphql\n", "", []string{"small.yaml:4: connection.graphql.path must have a value"}},
		{"invalid path", "path: /{$shop}/", "path: /{$shop}?x=", []string{"small.yaml:5: connection.graphql.path must not contain ?"}},
		{"syntax of fragments", "      fragment customer on Customer { id mail }", "      fragment customer on Customer {\n        id mail(\n      }",
			[]string{"small.yaml:9: connection.graphql.fragments is not a valid GraphQL document: Expected Name"}},
		{"syntax", find, "graphql: 'query ($key: Int!) { customer(legacy: $key { id } }'", []string{"small.yaml:31: resources.customers.find.graphql is not a valid GraphQL document: Expected Name"}},
		{"syntax in a block", find, "graphql: |\n        query ($key: Int!) {\n          customer(legacy: $key) { id\n        }", []string{"small.yaml:35: resources.customers.find.graphql is not a valid GraphQL document: Expected Name"}},
		{"empty document", find, "graphql: ''", []string{"small.yaml:31: resources.customers.find.graphql must be a GraphQL document"}},
		{"subscription", find, "graphql: 'subscription ($key: Int!) { customer(legacy: $key) { id } }'", []string{"resources.customers.find.graphql is not a valid GraphQL document: must be a query or a mutation"}},
		{"two operations", "'{ shop }'", "'query a { shop } query b { shop }'", []string{"small.yaml:10: connection.ping.graphql is not a valid GraphQL document: must have exactly one operation"}},
		{"unknown fragment", "{ id legacy }", "{ ...person }", []string{"small.yaml:31: resources.customers.find.graphql is not a valid GraphQL document: uses the fragment person"}},
		{"undeclared variable in the document", "customer(legacy: $key)", "customer(legacy: $key, of: $shop)", []string{"uses $shop, which the operation does not declare"}},
		{"variable that is not declared", "variables: {key: $key}", "variables: {key: $key, more: 1}", []string{"small.yaml:32: resources.customers.find.variables.more is not declared by the document"}},
		{"required variable without a value", "variables: {key: $key}", "", []string{"small.yaml:31: resources.customers.find.graphql declares $key, which must not be null: add it to variables"}},
		{"pages of an undeclared variable", "limit: n, size", "limit: count, size", []string{"scan.graphql does not declare $count", "scan.graphql declares $n, which must not be null"}},
		{"file of an undeclared variable", "{variable: file", "{variable: data", []string{"create[0].graphql does not declare $data", "create[0].graphql declares $file"}},
		{"multipart with a field", "{variable: file", "{field: file", []string{"create[0].multipart.variable must have a value", "create[0].multipart.field must not be used here"}},
		{"items outside of data", "items: data.cards", "items: cards", []string{"joins[0].items must begin with data."}},
		{"item outside of data", "item: data.customer", "item: .", []string{"find.item must begin with data."}},
		{"total outside of data", "total: data.total", "total: total", []string{"scan.pages.total must begin with data."}},
		{"cursor outside of data", "next: data.customers", "next: customers", []string{"scan.pages.cursor.next must begin with data."}},
		{"more outside of data", "more: data.customers", "more: customers", []string{"scan.pages.cursor.more must begin with data."}},
		{"method", "{ shop }'}", "{ shop }', method: GET}", []string{"small.yaml:10: connection.ping.method must not be used together with graphql"}},
		{"path and body", "{ shop }'}", "{ shop }', path: /x, body: '1', query: {a: '1'}}", []string{
			"connection.ping.path must not be used", "connection.ping.body must not be used", "connection.ping.query must not be used"}},
		{"variables without graphql", "{graphql: '{ shop }'}", "{path: /, variables: {a: '1'}}", []string{"small.yaml:10: connection.ping.variables is only allowed in a request with graphql"}},
		{"neither path nor graphql", "ping: {graphql: '{ shop }'}", "ping: {headers: {A: b}}", []string{"small.yaml:10: connection.ping.path must have a value"}},
		{"aliases and items", "aliases: true,", "aliases: true, items: data.products,", []string{"resources.products.fetch must not have items, item or documents"}},
		{"aliases of two fields", "{ product(id: $id) { id sku } }", "{ product(id: $id) { id } shop }", []string{"resources.products.fetch.graphql must be a query of one field"}},
		{"aliases without graphql", "{graphql: 'query ($id: Int!) { product(id: $id) { id sku } }', variables: {id: $id | tonumber},", "{path: /p,", []string{"resources.products.fetch.aliases needs graphql"}},
		{"aliases in scan", "items: data.products,", "items: data.products, aliases: true,", []string{"resources.products.scan.aliases is only allowed in fetch"}},
		{"neither items nor aliases", "aliases: true, batch: 3", "batch: 3", []string{"resources.products.fetch needs items"}},
	})
}

// FuzzGraphQLResponse checks that a response has documents only if it has data and no
// errors, and then all documents that are in the data.
func FuzzGraphQLResponse(f *testing.F) {
	for _, seed := range []string{
		`{"data": {"customers": [{"id": 1}, {"id": "b"}], "customer": {"id": 1}}}`, `{"data": {"r0": {"id": 1}, "r1": null}, "errors": []}`,
		`{"errors": [{"code": "TAKEN"}], "data": {"customers": [{"id": 1}]}}`, `{"data": {"customers": null, "customer": null}}`, `{"data": null}`,
		`{"errors": null, "data": {"customers": []}, "errors": [1]}`, `{"data": {"customers": [null]}} {}`,
	} {
		f.Add([]byte(seed))
	}
	b := openAt(f, graphqlMapping, nil, "http://graph.example")
	customers, products := b.mapping.Resources[adapter.Customers], b.mapping.Resources[adapter.Products]
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, c := range []struct {
			request *documentRequest
			count   func(data map[string]any) int // of documents, or negative
		}{
			{customers.Fetch, func(data map[string]any) int {
				list, ok := data["customers"].([]any)
				if !ok {
					return -1
				}
				return len(list)
			}},
			{customers.Find, func(data map[string]any) int {
				switch v, ok := data["customer"]; {
				case !ok:
					return -1
				case v == nil:
					return 0
				}
				return 1
			}},
			{products.Fetch, func(data map[string]any) int {
				if len(data) != 2 {
					return -1
				}
				maps.DeleteFunc(data, func(_ string, v any) bool { return v == nil })
				return len(data)
			}},
		} {
			resp := &response{request: &preparedRequest{request: &c.request.request, repetitions: 2}, status: http.StatusOK, body: body}
			err := b.client.interpretResponse(t.Context(), resp)
			var documents []document
			if err == nil {
				documents, err = b.client.documents(t.Context(), c.request, resp, customers.ID)
			}
			if err != nil {
				if len(documents) > 0 {
					t.Errorf("%d documents together with %v", len(documents), err)
				}
				continue
			}
			v, err := expr.Decode(body, 10_000)
			if errors.Is(err, jsontext.ErrDuplicateName) || err != nil && strings.Contains(err.Error(), "characters") {
				continue // found when a document is decoded
			}
			all, _ := v.(map[string]any)
			data, _ := all["data"].(map[string]any)
			failed, isList := all["errors"].([]any)
			if err != nil || data == nil || len(failed) > 0 || all["errors"] != nil && !isList || c.count(data) != len(documents) {
				t.Errorf("%d documents in %q", len(documents), body)
			}
		}
	})
}
