package mapping_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A customerShop serves the demo store in both dialects, with additional customers that
// have the fields missing from the demo's.
type customerShop struct {
	services map[string]*mapping.Service
	headers  map[string]string // Authorization header by caller
	reads    *reads
}

const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// openCustomerShop opens the shop; maxRows limits lists without a limit.
func openCustomerShop(t *testing.T, maxRows int64) *customerShop {
	t.Helper()
	data := loadDemo(t)
	ada, ben := data.Records[adapter.Customers][0], data.Records[adapter.Customers][1]
	ada.Set("suffix", adapter.TextValue(""))
	ada.Set("confirmation", adapter.TextValue("0123456789abcdef0123456789abcdef"))
	ada.Set("last_logged_in", adapter.TextValue("2012-02-03 04:05:06"))
	ben.Set("prefix", adapter.NullValue())
	ben.Set("middlename", adapter.TextValue("A"))
	ben.Set("reward_update_notification", adapter.IntegerValue(1))
	home, office := data.Records[adapter.CustomerAddresses][0], data.Records[adapter.CustomerAddresses][1]
	home.Set("prefix", adapter.TextValue("Ms."))
	home.Set("suffix", adapter.TextValue("II"))
	office.Set("company", adapter.NullValue())
	office.Set("street", adapter.TextsValue([]string{"1", "", "3", "4"}))

	with := mapping.Settings{Settings: pipeline.Settings{MaxRows: maxRows}}
	return serveCustomers(t, openStore(t, data), data, contract.StandardFields(), adapter.NewSchemas(), with)
}

// serveCustomers serves store, which holds data, in both dialects.
func serveCustomers(t *testing.T, store *store, data *adapter.Dataset, fields *contract.Fields, schemas *adapter.Schemas, with mapping.Settings) *customerShop {
	t.Helper()
	shop := &customerShop{services: map[string]*mapping.Service{}, headers: map[string]string{"guest": ""}, reads: &reads{}}
	with.Settings = pipeline.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 14, MaxRows: cmp.Or(with.MaxRows, 100), Now: time.Now}
	for _, d := range contract.Dialects() {
		var err error
		shop.services[d.Name], err = mapping.New(d, fields, shop.reads.counting(store), schemas, store.authenticator(), with, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, token := range data.Tokens {
		caller := "admin"
		if token.CustomerID != 0 {
			caller = fmt.Sprintf("customer %d", token.CustomerID)
		}
		shop.headers[caller] = authorization(data, token)
	}
	return shop
}

// get sends a GET for a path below the prefix.
func (shop *customerShop) get(t *testing.T, dialect, as, path, accept string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequest("GET", "/api/rest"+path, nil)
	r.Header.Set("Accept", accept)
	header, known := shop.headers[as]
	if !known {
		t.Fatalf("no caller %q", as)
	}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	response := shop.services[dialect].Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
	return response.Status, string(response.Body)
}

const (
	orderingRefused  = `{"messages":{"error":[{"code":400,"message":"Resource collection ordering error."}]}}`
	filteringRefused = `{"messages":{"error":[{"code":400,"message":"Resource collection filtering error."}]}}`
)

// TestCustomerListsAreBounded checks that lists without a limit respect the operator's
// limit.
func TestCustomerListsAreBounded(t *testing.T) {
	shop := openCustomerShop(t, 1)
	for path, want := range map[string]string{
		"/customers?limit=0&attrs=email":         `{"1":{"email":"ada@example.com"}}`,
		"/customers/2/addresses?attrs=entity_id": `[{"entity_id":"4"}]`,
	} {
		if status, body := shop.get(t, "documented", "admin", path, asJSON); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}
