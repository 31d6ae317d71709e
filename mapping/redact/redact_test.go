package redact_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/redact"
)

func TestPath(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"collection", "/api/rest/products", "/api/rest/products"},
		{"record", "/api/rest/products/147", "/api/rest/products/147"},
		{"store view", "/api/rest/products/147/store/2/", "/api/rest/products/147/store/2/"},
		{"SKU", "/api/rest/products/sku-1", "/api/rest/products/*"},
		{"e-mail", "/api/rest/customers/ada@example.com/addresses", "/api/rest/customers/*/addresses"},
		{"name", "/api/rest/customers/ada", "/api/rest/customers/*"},
		{"type of an address", "/api/rest/orders/1/addresses/billing", "/api/rest/orders/1/addresses/billing"},
		{"escape", "/api/rest/stockitems/%31", "/api/rest/stockitems/*"},
		{"misspelled resource", "/api/rest/product/1", "/api/rest/product/1"},
		{"another interface", "/api/v2_soap/", "/api/v2_soap/"},
		{"unknown interface", "/api/soapy/x", "/api/soapy/x"},
		{"image", "/media/catalog/product/m/u/mug.jpg", "/media/catalog/product/*/*/*"},
		{"legacy store", "/wishlist/ada/2/", "/wishlist/*/2/"},
		{"capitals", "/ADA", "/*"},
		{"digits in a word", "/ada1815", "/*"},
		{"long number", "/api/rest/products/" + strings.Repeat("1", 20), "/api/rest/products/*"},
		{"long word", "/" + strings.Repeat("a", 25), "/*"},
		{"many segments", strings.Repeat("/1", 40), strings.Repeat("/1", 12) + "/…"},
		{"many unknown segments", strings.Repeat("/-", 40), strings.Repeat("/*", 12) + "/…"},
		{"root", "/", "/"},
		{"empty", "", ""},
		{"no path", "*", "*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := redact.Path(tt.path); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestPathShowsRoutes checks that no word of a route is masked.
func TestPathShowsRoutes(t *testing.T) {
	for _, r := range contract.Routes(contract.StandardFields()) {
		parts := strings.Split(r.Path, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, ":") {
				parts[i] = "17"
			}
		}
		path := contract.Base + strings.Join(parts, "/")
		if got := redact.Path(path); got != path {
			t.Errorf("%s is shown as %s", path, got)
		}
	}
}

func TestPathAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { redact.Path("/api/rest/products/147/store/2") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzPath(f *testing.F) {
	f.Add("/api/rest/", "ada@example.com", "/1")
	f.Add("", "ada", "")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		got := redact.Path(before + "/x-" + secret + "-x/" + after)
		if len(got) > 400 || strings.ContainsAny(got, " \n\r\t\"'<>=@%") || strings.Contains(got, "x-"+secret) {
			t.Errorf("%q", got)
		}
	})
}

func TestParameterNames(t *testing.T) {
	for _, tt := range []struct{ name, query, want string }{
		{"none", "", ""},
		{"modifiers", "page=2&limit=10&filter[1][attribute]=email&filter[1][eq]=ada@example.com", "page,limit,filter"},
		{"escaped", "%66ilter%5B1%5D=x&l%69mit=1", "filter,limit"},
		{"unknown", "ada@example.com&name=ada&page", "other,page"},
		{"OAuth", "oauth_token=t&oauth_ada=1", "oauth_token,other"},
		{"empty pairs", "&&page=1&", "page"},
		{"long name", strings.Repeat("a", 1000) + "=1&page=1", "other,page"},
		{"long query", strings.Repeat("a=1&", 10_000) + "page=1", "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := redact.ParameterNames(tt.query); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestParameter(t *testing.T) {
	for _, tt := range []struct{ name, value, wantName, wantValue string }{
		{"page", "2", "page", "2"},
		{"page", "ada", "page", "*"},
		{"limit", "100", "limit", "100"},
		{"order", "created_at", "order", "created_at"},
		{"order", "Ada Byron", "order", "*"},
		{"dir", "asc", "dir", "asc"},
		{"filter[1][attribute]", "email", "filter[1][attribute]", "*"},
		{"filter[Ada]", "x", "filter[*]", "*"},
		{"filter[1][ada]", "x", "filter[*]", "*"},
		{"filter[1815]", "x", "filter[*]", "*"},
		{"ada", "byron", "*", "*"},
		{"ada", "", "*", ""},
		{"oauth_version", "1.0", "oauth_version", "1.0"},
		{"oauth_signature_method", "HMAC-SHA1", "oauth_signature_method", "HMAC-SHA1"},
		{"oauth_timestamp", "1330000000", "oauth_timestamp", "1330000000"},
		{"oauth_consumer_key", "0123456789abcdef", "oauth_consumer_key", "01234567…"},
		{"oauth_consumer_key", "0123", "oauth_consumer_key", "*"},
		{"oauth_token", "0123456789abcdef", "oauth_token", "01234567…"},
		{"oauth_nonce", "0123456789abcdef", "oauth_nonce", "0123…"},
		{"oauth_nonce", "0123", "oauth_nonce", "*"},
		{"oauth_verifier", "0123456789abcdef", "oauth_verifier", "*"},
		{"oauth_callback", "https://ada.example", "oauth_callback", "*"},
		{"oauth_signature", "0123456789abcdef", "oauth_signature", "*"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			if got := redact.ParameterName(tt.name); got != tt.wantName {
				t.Errorf("name %q, want %q", got, tt.wantName)
			}
			if got := redact.ParameterValue(tt.name, tt.value); got != tt.wantValue {
				t.Errorf("value %q, want %q", got, tt.wantValue)
			}
		})
	}
}

func FuzzParameterNames(f *testing.F) {
	f.Add("page=1&filter[1][eq]=ada&oauth_token=x")
	f.Fuzz(func(t *testing.T, query string) {
		for name := range strings.SplitSeq(redact.ParameterNames(query), ",") {
			if known := redact.ParameterName(name); known != name && name != redact.OtherParameters && name != "" {
				t.Errorf("%q shows %q", query, name)
			}
		}
	})
}

func TestConsumer(t *testing.T) {
	for _, c := range []struct{ name, authorization, query, want string }{
		{"Guest", "", "", "guest"},
		{"key", `OAuth oauth_consumer_key="0123456789", oauth_signature="x"`, "", "01234567"},
		{"escaped", `oauth oauth_consumer_key="%30123456789"`, "", "01234567"},
		{"short", `OAuth oauth_consumer_key=ab`, "", "ab"},
		{"in the query", "", "oauth_consumer_key=%30123456789", "01234567"},
		{"no key", `OAuth oauth_token="x"`, "", "unnamed"},
		{"no text", `OAuth oauth_consumer_key="a<b"`, "", "unnamed"},
		{"another scheme", `Basic oauth_consumer_key="0123456789"`, "", "guest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &http.Request{URL: &url.URL{RawQuery: c.query}, Header: http.Header{}}
			if c.authorization != "" {
				r.Header.Set("Authorization", c.authorization)
			}
			if got := redact.Consumer(r); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
