package reststore

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/adapter"
)

// triedMapping reads customers with a login, a join, references, and addresses, of which
// one value is missing.
const triedMapping = `name: tried
connection:
  graphql: {path: /graphql}
  auth: {login: {request: {path: '/login', query: {password: $secret}, body: '{$secret}'}, token: .token}}
resources:
  customers:
    attributes: [email, group_id]
    references: {group_id: customer_groups}
    fetch: {path: /customers, query: {ids: $ids}, items: list, batch: 2}
    scan: {path: /customers, items: list, where: .kind == "person", pages: {offset: offset}}
    find: {graphql: 'query ($key: Int) { list(key: $key) }', variables: {key: $key}, items: data.list}
    joins: [{from: card, as: card, path: /cards, query: {ids: $ids}, items: list, id: id}]
    id: id
    key: .number
    read: '{email: (.card.email // .email), group_id_ref: .group}'
    rest: '{website_id: 1, email: "replaced"}'
    without: {create: no, update: no, delete: no}
  customer_addresses:
    part_of: customers
    attributes: [city]
    items: '[.addresses[]? | {id, city, is_default_billing: 0}]'
    identified: true
    adopts: true
    without: {create: no, update: no, delete: no}
`

// serveTried answers the requests of triedMapping.
func serveTried(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{
		"/login":               `{"token": "t"}`,
		"/customers?ids=a":     `{"list": [{"id": "a", "number": 7, "kind": "person", "card": "c", "group": "g", "addresses": [{"id": 1, "city": "X"}]}]}`,
		"/customers?ids=shop":  `{"list": [{"id": "shop", "email": "s"}]}`,
		"/customers?ids=other": `{"list": [{"id": "a"}]}`,
		"/customers?ids=none":  `{"list": []}`,
		"/customers?ids=list":  `{"list": [{"id": "list", "kind": "person", "email": []}]}`,
		"/customers?ids=ill":   `{"list": [{"id": "ill", "number": -1}]}`,
		"/cards?ids=c":         `{"list": [{"id": "c", "email": "e"}]}`,
		"/graphql":             `{"data": {"list": [{"id": "b", "number": 8}, {"id": "a", "number": 7, "kind": "person"}]}}`,
	}[strings.Split(r.URL.RequestURI(), "?password")[0]]
	if answer == "" {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprint(w, answer)
}

func TestTry(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serveTried))
	t.Cleanup(server.Close)
	login := trialRequest{For: "login upstream", Method: "POST", URL: "/login", Status: 200}
	fetch := func(id string) trialRequest {
		return trialRequest{For: "fetch customers", Method: "GET", URL: "/customers?ids=" + id, Status: 200}
	}
	find := func(key int) trialRequest {
		return trialRequest{For: "find customers", Method: "POST", URL: "/graphql", Variables: map[string]any{"key": key}, Status: 200}
	}
	join := trialRequest{For: "fetch customers", Method: "GET", URL: "/cards?ids=c", Status: 200}
	records := []TrialRecord{
		{Resource: adapter.Customers, ID: "a", Key: 7, Imported: true, Values: []trialValue{{Attribute: "website_id", Value: 1, From: "rest"}, {Attribute: "email", Value: "e", From: "read"}, {Attribute: "group_id_ref", Value: "g", From: "read", Refers: adapter.CustomerGroups}}},
		{Resource: adapter.CustomerAddresses, ID: "1", Key: 0, Imported: true, Values: []trialValue{{Attribute: "city", Value: "X", From: "items"}, {Attribute: "is_default_billing", Value: 0, From: "items"}}},
	}
	notGiven := []string{"customer_addresses.is_default_shipping", "customers.disable_auto_group_change"}
	lacking := []string{"customers.disable_auto_group_change", "customers.group_id"} // null counts
	for _, c := range []struct {
		name string
		root adapter.Resource
		id   string
		key  adapter.Key
		want Trial // without documents
		err  string
	}{
		{"by id", adapter.Customers, "a", 0, Trial{Requests: []trialRequest{login, fetch("a"), join}, Records: records, Lacking: notGiven}, ""},
		{"by legacy id", adapter.Customers, "", 7, Trial{Requests: []trialRequest{login, find(7), fetch("a"), join}, Records: records, Lacking: notGiven}, ""},
		{"left out by scans", adapter.Customers, "shop", 0, Trial{
			Requests: []trialRequest{login, fetch("shop")}, Excluded: true, Lacking: lacking,
			Records: []TrialRecord{{Resource: adapter.Customers, ID: "shop", Key: 0, Imported: true, Values: []trialValue{{Attribute: "website_id", Value: 1, From: "rest"}, {Attribute: "email", Value: "s", From: "read"}, {Attribute: "group_id", Value: nil, From: "read"}}}},
		}, ""},
		{"a value that does not fit", adapter.Customers, "list", 0, Trial{
			Requests: []trialRequest{login, fetch("list")}, Lacking: lacking, LeftOut: []string{"tried.yaml:15: email of customers is not a string"},
			Records: []TrialRecord{{Resource: adapter.Customers, ID: "list", Imported: true, Values: []trialValue{{Attribute: "website_id", Value: 1, From: "rest"}, {Attribute: "email", Value: "replaced", From: "rest"}, {Attribute: "group_id", Value: nil, From: "read"}}}},
		}, ""},
		{"another document", adapter.Customers, "other", 0, Trial{Requests: []trialRequest{login, fetch("other")}}, `other documents alone, with the ids "a": correct the query of fetch`},
		{"no document", adapter.Customers, "none", 0, Trial{Requests: []trialRequest{login, fetch("none")}}, "the response has no document"},
		{"no such legacy id", adapter.Customers, "", 9, Trial{Requests: []trialRequest{login, find(9)}}, "contains only other documents: correct the query of find"},
		{"an unreadable document", adapter.Customers, "ill", 0, Trial{Requests: []trialRequest{login, fetch("ill")}, Excluded: true}, "the legacy id is not positive"},
		{"not found", adapter.Customers, "missing", 0, Trial{Requests: []trialRequest{login, {For: "fetch customers", Method: "GET", URL: "/customers?ids=missing", Status: 404}}}, "status 404"},
		{"a part", adapter.CustomerAddresses, "1", 0, Trial{}, "customer_addresses are parts of customers"},
		{"an unmapped resource", adapter.Products, "1", 0, Trial{}, "the mapping has no products; it has customers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Mapping: []byte(triedMapping), File: "tried.yaml", URL: server.URL, Secret: "hush"}
			got, err := Try(t.Context(), o, c.root, c.id, c.key)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if c.err == "" && !strings.Contains(string(got.Document), `"id": "`) || c.want.Lacking != nil && c.id != "list" && !c.want.Excluded && fmt.Sprintf("%s", got.Joined) != `[{card {"id": "c", "email": "e"}}]` {
				t.Errorf("document %s, joined %s", got.Document, got.Joined)
			}
			if whole, _ := json.Marshal(got); strings.Contains(string(whole)+fmt.Sprint(err), "hush") {
				t.Errorf("the trial has the secret: %s, %v", whole, err)
			}
			got.Document, got.Joined = nil, nil
			for i := range got.Requests {
				got.Requests[i].URL = strings.TrimPrefix(got.Requests[i].URL, server.URL)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTryFaults checks that nothing is sent with a mapping that has faults.
func TestTryFaults(t *testing.T) {
	got, err := Try(t.Context(), Options{Mapping: []byte("name: x"), File: "x.yaml", URL: "http://127.0.0.1:1"}, adapter.Customers, "1", 0)
	if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:1: resources ") || len(got.Requests) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
}
