package app

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/demo"
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
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
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

// TestBasePath checks that paths outside the base path get 404 from every part of the
// program, and that the legacy system is called without the base path.
func TestBasePath(t *testing.T) {
	t.Parallel()
	old := newLegacyStub(t)
	for name, shop := range map[string]*localServer{
		"portico": serveLocal(t, false, belowShop),
		"legacy":  serveFront(t, old.URL+"/old", []string{"resource: all, to: legacy"}, belowShop, "PORTICO_LEGACY_AUTH=caller"),
	} {
		for _, tt := range []struct {
			path   string
			status int    // of Portico
			asked  string // of the legacy system; "": none
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
				status, body := getURL(t, http.DefaultClient, shop.contract+tt.path)
				asked := old.last()
				switch {
				case name == "portico" || tt.asked == "":
					if status != tt.status || asked != nil || status == 404 && body != "Not found\n" {
						t.Errorf("%d %q, the legacy system was asked %v", status, body, asked)
					}
				case asked == nil || asked.RequestURI != tt.asked:
					t.Errorf("the legacy system was asked %v, want %s", asked, tt.asked)
				}
			})
		}
	}
}

// TestForwardedSignaturesBelowBasePath checks that with forwarded signatures, which cover
// the base path, the legacy system must have the same base path.
func TestForwardedSignaturesBelowBasePath(t *testing.T) {
	t.Parallel()
	_, old := startDemo(t, "magento", belowShop)
	shop := serveFront(t, old.URL+basePath, []string{"resource: orders, to: legacy"}, belowShop, "PORTICO_DIALECT=magento")
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
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

// TestDancesBelowBasePath checks that users of a shop in a subdirectory can authorize
// programs, and that no page or cookie leads outside of it.
func TestDancesBelowBasePath(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "documented", belowShop)
	base := shop.port80 + basePath
	library := danceLibraries()[0]
	for kind, user := range demoUsers {
		t.Run(kind, func(t *testing.T) {
			d, err := library.begin(shop.client, base, user.form, "http://client.example/cb")
			if err != nil {
				t.Fatal(err)
			}
			v := shop.newVisit(t)
			v.get(d.authorize).logIn(user.name, user.password)
			for _, cookie := range v.reply.Cookies() {
				if cookie.Path != basePath && !strings.HasPrefix(cookie.Path, basePath+"/") {
					t.Errorf("cookie %s is for %s", cookie.Name, cookie.Path)
				}
			}
			back := v.location()
			if !strings.HasPrefix(back, base+user.form) {
				t.Fatalf("after the log-in the user is sent to %s", back)
			}
			v.get(back)
			for _, action := range regexp.MustCompile(`(?:action|href|src)="([^"]*)"`).FindAllStringSubmatch(v.body, -1) {
				if !strings.HasPrefix(action[1], base+"/") {
					t.Errorf("the page leads to %s", action[1])
				}
			}
			back = v.decide("oauth_authorize_confirm").location()
			client, err := d.finish(verifierOf(t, back))
			if err != nil {
				t.Fatal(err)
			}
			if code, body := getURL(t, client, base+user.mine); code != http.StatusOK {
				t.Errorf("the new token: %d %s", code, body)
			}
		})
	}
}

// TestRecordingBelowBasePath checks that recordings of a shop in a subdirectory do not
// contain the base path, can be replayed at the root, and show no difference between the
// two.
func TestRecordingBelowBasePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := []contracttests.Exchange{{Name: "reads", Steps: []contracttests.Step{
		{As: contracttests.Guest, Method: http.MethodGet, Path: "/products/1?attrs=sku,url,image_url"},
		{As: contracttests.Admin, Method: http.MethodGet, Path: "/products/1/images"},
		{As: contracttests.Admin, Method: http.MethodPost, Path: "/products/1/categories", Body: new(`{"category_id":"4"}`), ContentType: new("application/json")},
	}}}
	for i := range calls[0].Steps {
		calls[0].Steps[i].Accept = new("application/json")
	}
	t.Run("record", func(t *testing.T) {
		a, server := startDemo(t, "magento", append(recordingSettings(dir, ":8080"), belowShop)...)
		target := targetOf(t, a, server, "magento")
		target.BaseURL += basePath
		recorded, err := contracttests.Record(t.Context(), target, calls)
		if err != nil {
			t.Fatal(err)
		}
		if location := recorded[0].Steps[2].Response.Location; location == nil || *location != "/api/rest/products/1/categories/4" {
			t.Errorf("the suite records the Location %v", location)
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, exchangesFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("shop")) {
			t.Errorf("the base path is in the file (%v): %s", err, text)
		}
	}
	recorded := loadRecorded(t, dir)
	a, root := startDemo(t, "magento")
	other, below := startDemo(t, "magento", belowShop)
	for base, target := range map[string]contracttests.Target{"": targetOf(t, a, root, "magento"), basePath: targetOf(t, other, below, "magento")} {
		target.BaseURL += base
		if got := contracttests.Replay(t, target, recorded); got.Passed != len(calls[0].Steps) {
			t.Errorf("below %q: %+v", base, got)
		}
	}
	found, screen, err := runCompare(t, "--legacy", root.URL, "--candidate", below.URL+basePath, "--candidate-base", "http://store.example"+basePath, "--requests", dir)
	if err != nil || found == nil || found.Compared != 2 || found.Different != 0 {
		t.Errorf("%+v, %v\n%s", found, err, screen)
	}
}

// TestShadowBelowBasePath checks that shadow reads find no differences in links and
// signatures if the shop is in a subdirectory, whether or not the legacy system is in one.
func TestShadowBelowBasePath(t *testing.T) {
	t.Parallel()
	_, inside := startDemo(t, "magento", belowShop)
	_, root := startDemo(t, "magento")
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	credentials.Signature = contracttests.HMACSHA1
	for _, tt := range []struct{ name, old, auth, to string }{
		{"the legacy system answers", inside.URL + basePath, "keep", "legacy"},
		{"Portico answers", inside.URL + basePath, "keep", "portico"},
		{"the legacy system answers at the root", root.URL, "caller", "legacy"},
		{"Portico answers, and the legacy system is at the root", root.URL, "caller", "portico"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			front, server := startDemoInMagento(t, belowShop, routesFile(t, "resource: all, shadow: true, to: "+tt.to), "PORTICO_LEGACY_URL="+tt.old, "PORTICO_LEGACY_AUTH="+tt.auth)
			client, err := contracttests.NewClient(contracttests.Target{BaseURL: server.URL + basePath, Credentials: credentials})
			if err != nil {
				t.Fatal(err)
			}
			steps := []contracttests.Step{
				{As: contracttests.Guest, Path: "/products/1?attrs=sku,url,image_url"},
				{As: contracttests.Admin, Path: "/customers/1?attrs=firstname"},
			}
			for _, s := range steps {
				s.Method, s.Accept = http.MethodGet, new("application/json")
				if got, err := client.Do(t.Context(), &s); err != nil || got.Status != http.StatusOK {
					t.Errorf("%s: %+v, %v", s.Path, got, err)
				}
			}
			pollUntil(t, "all questions", front.rules.current().watchers.shadowReads.Idle)
			if by, all := outcomes(t, front); by["same"] != float64(len(steps)) || all != by["same"] {
				t.Errorf("%v; %v", by, shadowCounts(t, front, "portico_shadow_differences_total"))
			}
		})
	}
}

// TestAnnounceBasePath checks that the printed example calls of a demo store contain the
// base path.
func TestAnnounceBasePath(t *testing.T) {
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), Environ: []string{belowShop}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	newProgram().printStartup(&said, cfg, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{Port: 2}, data)
	all, below := strings.Count(said.String(), "/api/rest"), strings.Count(said.String(), "http://127.0.0.1:1"+basePath+"/api/rest")
	if all != 4 || below != all {
		t.Errorf("%d of %d addresses are below the base path:\n%s", below, all, said.String())
	}
}
