package program_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestScripts calls the interface as clients of a shop whose web server rewrites no addresses do.
func TestScripts(t *testing.T) {
	t.Parallel()
	shop := apptest.Start(t, apptest.Environment{"PORTICO_STORE_CODE_IN_LINKS=true"}, "--demo", "--dialect", "magento").Contract
	documented := apptest.Start(t, nil, "--demo").Contract
	get := func(base string, target string, headers ...string) apptest.Reply {
		t.Helper()
		return apptest.Send(t, http.MethodGet, base+target, "", append(headers, "Accept", "application/json")...)
	}
	list, single := get(shop, "/api/rest/products?limit=2").Body, get(shop, "/api/rest/products/1?attrs=sku").Body
	for i, tt := range []struct{ script, query string }{
		{"/index.php", ""}, {"/api.php", "&type=rest"}, {"/french", ""}, {"/index.php/default", ""}, {"/api.php/french", "&type=rest"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			called := tt.script + "/api/rest/products"
			for range 2 { // the second one from the cache
				if got := get(shop, called+"?limit=2"+tt.query); got.Status != 200 || got.Body != list {
					t.Errorf("%d %s, want %s", got.Status, got.Body, list)
				}
				if got := get(shop, called+"/1?attrs=sku"+tt.query); got.Body != single {
					t.Errorf("%d %s, want %s", got.Status, got.Body, single)
				}
			}
			back := base64.RawStdEncoding.EncodeToString([]byte(shop + called + "/1"))[:len(shop)+len(called)]
			if got := get(shop, called+"/1?attrs=buy_now_url"+tt.query); !strings.Contains(got.Body, back) {
				t.Errorf("%s does not return to %s", got.Body, called)
			}
			if got := get(documented, called+"?limit=2"+tt.query); got.Status != 404 || got.Body != "Not found\n" {
				t.Errorf("documented: %d %s", got.Status, got.Body)
			}
			if tt.query != "" {
				return // SignedHeader signs no query
			}
			for address, status := range map[string]int{called: 200, "/api/rest/products": 401} {
				signed := apptest.SignedHeader("GET", shop+address, fmt.Sprintf("n%d-%d", i, status))
				if got := get(shop, called, "Authorization", signed); got.Status != status {
					t.Errorf("signed for %s: %d %s", address, got.Status, got.Body)
				}
			}
			created := apptest.Send(t, http.MethodPost, shop+tt.script+"/api/rest/customers/1/addresses",
				`{"firstname":"A","lastname":"B","street":["C"],"city":"D","country_id":"GB","postcode":"1","telephone":"2"}`,
				"Accept", "application/json", "Content-Type", "application/json", "Authorization", apptest.DemoAdmin())
			if place := created.Header.Get("Location"); created.Status != 200 || !strings.HasPrefix(place, "/api/rest/customers/addresses/") {
				t.Errorf("%d %s, Location %q", created.Status, created.Body, place)
			}
		})
	}
	if got := apptest.Send(t, http.MethodPost, shop+"/index.php/oauth/initiate", ""); got.Status != 400 || !strings.Contains(got.Body, "oauth_problem=parameter_absent") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := get(shop, "/api.php/api/rest/products?limit=2&type=soap"); got.Status != 404 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
