package mapping_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestClientErrors checks which replies of 500 and above count as caused by the client,
// because the contract demands them, and which need an operator's attention.
func TestClientErrors(t *testing.T) {
	const json = "application/json"
	tests := []struct {
		name       string
		magento    bool
		role       contract.Role // default Guest
		method     string        // default GET
		target     string
		body       string
		accept     string
		fails      error // error of the store
		panics     bool
		clientGone bool // whether the client has gone
		status     int
		client     bool
	}{
		{name: "no acceptable format", target: "/products", accept: "image/png", status: 500, client: true},
		{name: "no acceptable format, magento", magento: true, target: "/products", accept: "image/png", status: 500, client: true},
		{name: "no Accept, magento", magento: true, target: "/products", status: 500, client: true},
		{name: "crash of a modifier", magento: true, target: "/products?order=is_saleable", accept: json, status: 500, client: true},
		{name: "crash of a body", magento: true, role: contract.Admin, method: "PUT", target: "/stockitems/1", body: "5", accept: json, status: 500, client: true},
		{name: "e-mail address taken", magento: true, role: contract.Admin, method: "POST", target: "/customers", accept: json, status: 500, client: true,
			body: `{"firstname":"A","lastname":"B","email":"ada@example.com","website_id":1,"group_id":1,"password":"secret12"}`},
		{name: "stock item of another product", magento: true, role: contract.Admin, method: "PUT", target: "/stockitems/1", accept: json, status: 500, client: true,
			body: `{"item_id":2,"qty":1}`},
		{name: "store unavailable", target: "/products/1", accept: json, fails: &adapter.Error{Kind: adapter.Unavailable}, status: 503},
		{name: "store fails", target: "/products/1", accept: json, fails: errors.New("broken"), status: 500},
		{name: "store fails a write", role: contract.Admin, method: "PUT", target: "/stockitems/1", body: `{"qty":1}`, accept: json, fails: errors.New("broken"), status: 500},
		{name: "too slow", target: "/products/1", accept: json, fails: context.DeadlineExceeded, status: 503},
		{name: "client gone", target: "/products/1", accept: json, clientGone: true, status: 503, client: true},
		{name: "panic", target: "/products/1", accept: json, panics: true, status: 500},
	}
	for _, cached := range []bool{false, true} {
		var fails atomic.Pointer[error]
		var panics atomic.Bool
		shops := map[bool]*shop{}
		for _, d := range []*contract.Dialect{contract.Documented(), contract.Magento()} {
			with := settings()
			if cached {
				with.ReplyCache = newReplyCache(t, with.Now)
			}
			shops[d.Name == "magento"] = openShopWith(t, d, with, faultyStores(func(string, adapter.Key) error {
				if panics.Load() {
					panic("a mistake")
				}
				if err := fails.Load(); err != nil {
					return *err
				}
				return nil
			}))
		}
		for _, tt := range tests {
			name := tt.name
			if cached {
				name += ", replies kept"
			}
			t.Run(name, func(t *testing.T) {
				if tt.fails != nil {
					fails.Store(&tt.fails)
				}
				panics.Store(tt.panics)
				defer func() { fails.Store(nil); panics.Store(false) }()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.clientGone {
					cancel()
				}
				header := []string{"Content-Type", json}
				if tt.accept != "" {
					header = append(header, "Accept", tt.accept)
				}
				r := shops[tt.magento].serveWith(ctx, tt.role, tt.method, tt.target, tt.body, header...)
				if r.Status != tt.status || r.ClientError != tt.client {
					t.Errorf("status %d, the client's: %t; want %d, %t: %s", r.Status, r.ClientError, tt.status, tt.client, r.Body)
				}
			})
		}
	}
}

// TestLegacyNotAcceptable checks that a call is recognized whose Accept header the legacy store
// refuses with 500, before it is forwarded.
func TestLegacyNotAcceptable(t *testing.T) {
	s := openShop(t, contract.Magento())
	for accept, want := range map[string]bool{"image/png": true, "": true, "application/json": false} {
		r := httptest.NewRequest("GET", "/api/rest/products", nil)
		r.Header.Set("Accept", accept)
		if a, _, ok := s.service.AuthorizeLegacy(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil); !ok || a.NotAcceptable != want {
			t.Errorf("Accept %q: authorized %t, not acceptable %t, want %t", accept, ok, a.NotAcceptable, want)
		}
	}
}
