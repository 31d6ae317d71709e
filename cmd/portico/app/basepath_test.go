package app

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
)

// A shop in a subdirectory, as clients know it.
const (
	basePath  = "/shop"
	belowShop = "PORTICO_PUBLIC_URL=http://store.example" + basePath
)

// TestSuiteBelowBasePath runs the cases of images, which have links and Location headers,
// against a shop in a subdirectory.
func TestSuiteBelowBasePath(t *testing.T) {
	t.Parallel()
	a, server := startDemo(t, "documented", belowShop)
	target := targetOf(t, a, server, "documented")
	target.BaseURL += basePath + "/"
	suite := apptest.Suite(t)
	found, err := suite.Run(t.Context(), target, contracttests.Options{Parallel: 4, Match: regexp.MustCompile(`^(images/.*/json|oauth/.*)$`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found.Results {
		if r.Status == contracttests.Failed {
			t.Errorf("%s: %v", r.ID(), r.Failure)
		}
	}
	if passed := found.Count(contracttests.Passed); passed < 43 || len(found.Leftovers) > 0 {
		t.Errorf("%d cases passed, left behind %v", passed, found.Leftovers)
	}
}

// TestBasePath checks that paths outside the base path get 404 from every part of the program, and
// that the legacy store is called without the base path.
func TestBasePath(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	for name, shop := range map[string]*localServer{
		"portico": serveLocal(t, false, belowShop),
		"legacy":  serveFront(t, old.URL+"/old", []string{"resource: all, to: legacy"}, belowShop, "PORTICO_LEGACY_AUTH=caller"),
	} {
		for _, tt := range []struct {
			path   string
			status int    // of Portico
			asked  string // of the legacy store; "": none
		}{
			{"/api/rest/products?limit=1", 404, ""},
			{"/media/catalog/product/s/t/steel.png", 404, ""},
			{"/oauth/authorize", 404, ""},
			{"/shopping/api/rest/products", 404, ""},
			{"/Shop/api/rest/products", 404, ""},
			{"/%73hop/api/rest/products", 404, ""},
			{"/x/shop/api/rest/products", 404, ""},
			{"//shop/api/rest/products", 404, ""},
			{"/", 404, ""},
			{"/shop/api/rest/products?limit=1&x=%2F", 200, "/old/api/rest/products?limit=1&x=%2F"},
			{"/shop/api/rest/products/%31", 200, "/old/api/rest/products/%31"},
			{"/shop/api/rest//products/1/", 200, "/old/api/rest//products/1/"},
			{"/shop/api/restx/products", 400, "/old/api/restx/products"},
			{"/shop/oauth/authorize", 200, "/old/oauth/authorize"},
			{"/shop/shop/api/rest/products", 404, "/old/shop/api/rest/products"},
			{"/shop?a", 404, "/old/?a"},
			{"/shop/", 404, "/old/"},
		} {
			t.Run(name+tt.path, func(t *testing.T) {
				got := apptest.Send(t, http.MethodGet, shop.contract+tt.path, "", "Accept", "application/json")
				status, body := got.Status, got.Body
				asked := old.Last()
				switch {
				case name == "portico" || tt.asked == "":
					if status != tt.status || asked != nil || status == 404 && body != "Not found\n" {
						t.Errorf("%d %q, the legacy store was asked %v", status, body, asked)
					}
				case asked == nil || asked.RequestURI != tt.asked:
					t.Errorf("the legacy store was asked %v, want %s", asked, tt.asked)
				}
			})
		}
	}
}

// TestForwardedSignaturesBelowBasePath checks that with forwarded signatures, which cover the base
// path, the legacy store must have the same base path.
func TestForwardedSignaturesBelowBasePath(t *testing.T) {
	t.Parallel()
	_, old := startDemo(t, "magento", belowShop)
	shop := serveFront(t, old.URL+basePath, []string{"resource: orders, to: legacy"}, belowShop, "PORTICO_DIALECT=magento")
	credentials := apptest.Credentials(t)
	credentials.Signature = contracttests.HMACSHA1
	client, err := contracttests.NewClient(contracttests.Target{BaseURL: shop.contract + basePath, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	accept := "application/json"
	for _, path := range []string{"/orders/1", "/stockitems/1?attrs=item_id"} {
		got, err := client.Do(t.Context(), &contracttests.Step{As: contracttests.Admin, Method: http.MethodGet, Path: path, Accept: &accept})
		if err != nil || got.Status != http.StatusOK {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}

// TestAnnounceBasePath checks that the printed example calls of a demo store contain the
// base path.
func TestAnnounceBasePath(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.Sources{Sections: newProgram().Sections(), Environ: []string{belowShop}})
	if err != nil {
		t.Fatal(err)
	}
	data := demotest.Data(t)
	var said strings.Builder
	printStartup(newProgram(), &said, cfg, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{Port: 2}, data)
	all, below := strings.Count(said.String(), "/api/rest"), strings.Count(said.String(), "http://127.0.0.1:1"+basePath+"/api/rest")
	if all != 4 || below != all {
		t.Errorf("%d of %d addresses are below the base path:\n%s", below, all, said.String())
	}
}
