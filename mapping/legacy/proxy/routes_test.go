package proxy

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func TestRules(t *testing.T) {
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	const stock, orders = "/api/rest/stockitems/1", "/api/rest/orders/1"
	tests := []struct {
		name         string
		rules        Rules
		method, path string
		want         Target
	}{
		{"none", nil, "GET", stock, Portico},
		{"all", Rules{{Resource: Everything, To: Legacy}}, "DELETE", stock, Legacy},
		{"all, outside", Rules{{Resource: Everything, To: Legacy}}, "GET", "/oauth/token", Legacy},
		{"all, no route", Rules{{Resource: Everything, To: Legacy}}, "GET", "/api/rest/nothing", Legacy},
		{"reads only, a read", Rules{{Resource: Everything, Calls: Reads, To: Legacy}}, "GET", stock, Legacy},
		{"reads only, HEAD", Rules{{Resource: Everything, Calls: Reads, To: Legacy}}, "HEAD", stock, Legacy},
		{"reads only, a write", Rules{{Resource: Everything, Calls: Reads, To: Legacy}}, "PUT", stock, Portico},
		{"writes only, an odd method", Rules{{Resource: Everything, Calls: Writes, To: Legacy}}, "PATCH", stock, Legacy},
		{"one resource", Rules{{Resource: "stock_items", To: Legacy}}, "GET", stock, Legacy},
		{"another resource", Rules{{Resource: "stock_items", To: Legacy}}, "GET", orders, Portico},
		{"moved back", Rules{{Resource: Everything, To: Legacy}, {Resource: "stock_items", To: Portico}}, "GET", stock, Portico},
		{"moved back, in another order", Rules{{Resource: "stock_items", To: Portico}, {Resource: Everything, To: Legacy}}, "GET", stock, Portico},
		{"the resource before the calls", Rules{{Resource: "stock_items", To: Portico}, {Resource: Everything, Calls: Reads, To: Legacy}}, "GET", stock, Portico},
		{"the resource and the calls first", Rules{{Resource: "stock_items", To: Portico}, {Resource: "stock_items", Calls: Writes, To: Legacy}}, "PUT", stock, Legacy},
		{"outside", Rules{{Resource: Outside, To: Legacy}}, "GET", "/media/x", Legacy},
		{"outside, reads only", Rules{{Resource: Outside, Calls: Reads, To: Legacy}}, "GET", "/media/x", Legacy},
		{"outside, reads only, a write", Rules{{Resource: Outside, Calls: Reads, To: Legacy}}, "POST", "/media/x", Portico},
		{"outside, no route", Rules{{Resource: Outside, To: Legacy}}, "GET", "/api/rest/nothing", Legacy},
		{"outside only", Rules{{Resource: Outside, To: Legacy}}, "GET", stock, Portico},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			address, _ := table.Address(tt.method, tt.path)
			if got := tt.rules.For(&address).To; got != tt.want {
				t.Errorf("to %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAllLegacy(t *testing.T) {
	all := Rule{Resource: Everything, To: Legacy}
	reads, writes := Rule{Resource: Everything, Calls: Reads, To: Legacy}, Rule{Resource: Everything, Calls: Writes, To: Legacy}
	tests := []struct {
		name  string
		rules Rules
		want  bool
	}{
		{"none", nil, false},
		{"all", Rules{all}, true},
		{"reads and writes", Rules{reads, writes}, true},
		{"reads", Rules{reads}, false},
		{"writes", Rules{writes}, false},
		{"one resource", Rules{{Resource: "orders", To: Legacy}}, false},
		{"all but one", Rules{all, {Resource: "orders", To: Portico}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rules.AllLegacy(); got != tt.want {
				t.Errorf("%t", got)
			}
		})
	}
}

// FuzzAddress checks that every target that a server accepts is forwarded unchanged. Only a
// path that begins with two slashes is escaped where it is not a valid URL path.
func FuzzAddress(f *testing.F) {
	for _, target := range []string{"/", "/a%2fb?c;d", "//a", `//a"b`, "/%63?%zz", "http://h", "http://h?x", "http://h/a//b?", "*", "/?", "/a#b"} {
		f.Add(target)
	}
	systems := []*System{
		New(Options{URL: &url.URL{Scheme: "http", Host: "old.example"}}),
		New(Options{URL: &url.URL{Scheme: "http", Host: "old.example", Path: "/shop"}}),
	}
	f.Fuzz(func(t *testing.T, target string) {
		parsed, err := url.ParseRequestURI(target)
		if err != nil || strings.ContainsAny(target, " \r\n") {
			return // the server refuses it
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL, r.RequestURI = parsed, target
		if !CanForward(r) {
			return
		}
		want := originForm(target)
		if strings.HasPrefix(target, "/") && want != target {
			t.Errorf("%q became %q", target, want)
		}
		if got := systems[1].address(r).RequestURI(); got != "/shop"+want {
			t.Errorf("%q is sent as %q", target, got)
		}
		got := systems[0].address(r).RequestURI()
		if twoSlashes := strings.HasPrefix(want, "//"); got != want && (!twoSlashes || parsed.EscapedPath() == parsed.RawPath) {
			t.Errorf("%q is sent as %q", target, got)
		}
		if systems[0].address(r).Host != "old.example" {
			t.Errorf("%q goes to %s", target, systems[0].address(r).Host)
		}
	})
}
