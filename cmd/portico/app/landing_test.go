package app

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"strings"
	"testing"
)

// acceptOfBrowser is the Accept header of a browser that opens a page.
const acceptOfBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestLanding: a browser that opens the address of the shop gets a page, unless a legacy store
// answers there. All other clients get the same reply as for any path that Portico does not serve.
func TestLanding(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	legacy := "PORTICO_LEGACY_AUTH=caller"
	plain, below := serveLocal(t, false), serveLocal(t, true, belowShop, "PORTICO_DIALECT=magento")
	for _, tt := range []struct {
		name   string
		shop   *localServer
		path   string
		accept string // "-": none
		status int
		asked  bool // the legacy store
	}{
		{"browser", plain, "/", acceptOfBrowser, 200, false},
		{"curl", plain, "/", "*/*", 404, false},
		{"no Accept", plain, "/", "-", 404, false},
		{"JSON", plain, "/", "application/json", 404, false},
		{"XML", plain, "/", "text/xml", 404, false},
		{"another path", plain, "/index.html", acceptOfBrowser, 404, false},
		{"base path", below, "/shop", acceptOfBrowser, 200, false},
		{"base path with a slash", below, "/shop/", acceptOfBrowser, 200, false},
		{"outside the base path", below, "/", acceptOfBrowser, 404, false},
		{"all to legacy", serveFront(t, old.URL, []string{"resource: all, to: legacy"}, legacy), "/", acceptOfBrowser, 200, true},
		{"outside to legacy", serveFront(t, old.URL, []string{"resource: outside, to: legacy"}, legacy), "/", acceptOfBrowser, 200, true},
		{"orders to legacy", serveFront(t, old.URL, []string{"resource: orders, to: legacy"}, legacy), "/", acceptOfBrowser, 200, false},
		{"all to legacy, below a base path", serveFront(t, old.URL, []string{"resource: all, to: legacy"}, legacy, belowShop), "/shop/", acceptOfBrowser, 200, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var headers []string
			if tt.accept != "-" {
				headers = []string{"Accept", tt.accept}
			}
			got := apptest.Send(t, http.MethodGet, tt.shop.contract+tt.path, "", headers...)
			if asked := old.Last() != nil; got.Status != tt.status || asked != tt.asked {
				t.Fatalf("%d, want %d; the legacy store was asked: %t, want %t\n%s", got.Status, tt.status, asked, tt.asked, got.Body)
			}
			if tt.asked {
				if got.Body != "old" {
					t.Errorf("not the reply of the legacy store:\n%s", got.Body)
				}
				return
			}
			if tt.status == http.StatusOK {
				if !strings.Contains(got.Body, "/api/rest</code>") || strings.Contains(got.Body, "Portico "+newProgram().Build.Version) {
					t.Errorf("the page:\n%s", got.Body)
				}
				return
			}
			reference := apptest.Send(t, http.MethodGet, tt.shop.contract+"/nowhere", "", headers...)
			for _, header := range []http.Header{got.Header, reference.Header} {
				header.Del("X-Request-Id")
				header.Del("Date")
			}
			if got.Body != "Not found\n" || got.Header.Get("Vary") != "" || len(got.Header) != len(reference.Header) {
				t.Errorf("%q with %v, want the reply to any other path, with %v", got.Body, got.Header, reference.Header)
			}
		})
	}
}
