package auth

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestVector(t *testing.T) {
	credentials, _ := cutScheme(nonced("n1").without("signature").header())
	oauth, err := parseHeader(credentials)
	if err != nil {
		t.Fatal(err)
	}
	normalized := normalize(appendSignedQuery(oauth, "attrs=email", rule{}), rule{})
	const origin, path = "http://store.example", "/api/rest/customers/1"
	want := "GET&http%3A%2F%2Fstore.example%2Fapi%2Frest%2Fcustomers%2F1&attrs%3Demail%26oauth_consumer_key%3D" + consumerKey +
		"%26oauth_nonce%3Dn1%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D1330000000%26oauth_token%3D" + adminToken +
		"%26oauth_version%3D1.0"
	if got := string(appendBaseString(nil, "GET", origin, path, normalized)); got != want {
		t.Errorf("base string\n%s, want\n%s", got, want)
	}
	const signature = "4NYcMU5jtqDwD2UfxYFuxEfoe0A="
	if !verifyHMAC(signature, consumerSecret, adminSecret, "GET", []string{origin}, path, normalized) {
		t.Error("the right signature is refused")
	}
	for name, wrong := range map[string]string{
		"one character":   "5" + signature[1:],
		"without padding": strings.TrimSuffix(signature, "="),
		"more after it":   signature + "=",
		"other last bits": "4NYcMU5jtqDwD2UfxYFuxEfoe0B=",
		"empty":           "",
	} {
		if verifyHMAC(wrong, consumerSecret, adminSecret, "GET", []string{origin}, path, normalized) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestSignedURL signs with the reference implementation and sends the same or another request.
func TestSignedURL(t *testing.T) {
	const invalid = "signature_invalid"
	public := "https://shop.example:8443/"
	tests := []struct {
		name                   string
		signed, signedQuery    string
		scheme, host, target   string
		public, signedM, sentM string
		want                   string
	}{
		{name: "host in capitals", signed: "http://store.example/a", host: "STORE.example", target: "/a"},
		{name: "with port", signed: "http://store.example:8080/a", host: "store.example:8080", target: "/a"},
		{name: "port left out", signed: "http://store.example/a", host: "store.example:8080", target: "/a"},
		{name: "another port", signed: "http://store.example:8081/a", host: "store.example:8080", target: "/a", want: invalid},
		{name: "port made up", signed: "http://store.example:8080/a", host: "store.example", target: "/a", want: invalid},
		{name: "http's own port", signed: "http://store.example/a", host: "store.example:80", target: "/a"},
		{name: "https' own port", signed: "https://store.example/a", scheme: "https", host: "store.example:443", target: "/a"},
		{name: "http's port over https", signed: "https://store.example:80/a", scheme: "https", host: "store.example:80", target: "/a"},
		{name: "http's port over https left out", signed: "https://store.example/a", scheme: "https", host: "store.example:80", target: "/a"},
		{name: "https' port over http", signed: "http://store.example:443/a", host: "store.example:443", target: "/a"},
		{name: "https' port over http left out", signed: "http://store.example/a", host: "store.example:443", target: "/a"},
		{name: "empty port", signed: "http://store.example/a", host: "store.example:", target: "/a"},
		{name: "http's own port signed", signed: "http://store.example:80/a", host: "store.example:80", target: "/a", want: invalid},
		{name: "https' own port signed", signed: "https://store.example:443/a", scheme: "https", host: "store.example:443", target: "/a", want: invalid},
		{name: "empty port signed", signed: "http://store.example:/a", host: "store.example:", target: "/a", want: invalid},
		{name: "IPv6", signed: "http://[::1]/a", host: "[::1]", target: "/a"},
		{name: "IPv6 with port", signed: "http://[::1]:8080/a", host: "[::1]:8080", target: "/a"},
		{name: "IPv6 port left out", signed: "http://[::1]/a", host: "[::1]:8080", target: "/a"},
		{name: "another scheme", signed: "https://store.example/a", host: "store.example", target: "/a", want: invalid},
		{name: "another host", signed: "http://other.example/a", host: "store.example", target: "/a", want: invalid},
		{name: "public URL", public: public, signed: "https://shop.example:8443/a", host: "10.0.0.1:80", target: "/a"},
		{name: "public URL, port left out", public: public, signed: "https://shop.example/a", host: "10.0.0.1:80", target: "/a"},
		{name: "request's own beside the public URL", public: public, signed: "http://10.0.0.1/a", host: "10.0.0.1", target: "/a"},
		{name: "public host under the request's scheme", public: public, signed: "http://shop.example:8443/a", host: "10.0.0.1", target: "/a", want: invalid},
		{name: "absolute target", signed: "http://store.example/a", signedQuery: "b=1", host: "store.example", target: "http://store.example/a?b=1"},
		{name: "path as sent", signed: "http://store.example//%61/%2f/", host: "store.example", target: "//%61/%2f/"},
		{name: "path decoded", signed: "http://store.example/a", host: "store.example", target: "/%61", want: invalid},
		{name: "trailing slash", signed: "http://store.example/a", host: "store.example", target: "/a/", want: invalid},
		{name: "method", signed: "http://store.example/a", host: "store.example", target: "/a", sentM: "DELETE", want: invalid},
		{name: "method in small letters", signed: "http://store.example/a", host: "store.example", target: "/a", sentM: "get"},
		{name: "query not signed", signed: "http://store.example/a", host: "store.example", target: "/a?b=1", want: invalid},
		{name: "query", signed: "http://store.example/a", signedQuery: "b=%C3%A9%20x&c=~&d=&A[1]=2", host: "store.example", target: "/a?A%5B1%5D=2&b=%c3%a9%20x&c=%7E&d="},
		{name: "pair without =", signed: "http://store.example/a", signedQuery: "b=1", host: "store.example", target: "/a?b=1&x"},
		{name: "pair with two =", signed: "http://store.example/a", signedQuery: "b=1", host: "store.example", target: "/a?b=1&x=a=b"},
		{name: "plus is a plus", signed: "http://store.example/a", signedQuery: "b=1%2B2", host: "store.example", target: "/a?b=1+2"},
		{name: "plus is no space", signed: "http://store.example/a", signedQuery: "b=1%202", host: "store.example", target: "/a?b=1+2", want: invalid},
		{name: "last of a repeated name", signed: "http://store.example/a", signedQuery: "b=3", host: "store.example", target: "/a?b=2&b=1&b=3"},
		{name: "repeated name in two spellings", signed: "http://store.example/a", signedQuery: "b=3", host: "store.example", target: "/a?b=2&%62=3"},
		{name: "first of a repeated name", signed: "http://store.example/a", signedQuery: "b=2", host: "store.example", target: "/a?b=2&b=3", want: invalid},
		{name: "OAuth parameter of the query", signed: "http://store.example/a", host: "store.example", target: "/a?oauth_token=1&my_oauth_x[]=2"},
		{name: "oauth_ alone and oauth_1 are none", signed: "http://store.example/a", signedQuery: "oauth_=1&oauth_1=2", host: "store.example", target: "/a?oauth_1=2&oauth_=1"},
		{name: "sorted by encoded name", signed: "http://store.example/a", signedQuery: "a=1&a[]=2&a.=3&a~=4&aa=5&a%20=6&A=7&%C3%A9=8", host: "store.example", target: "/a?%C3%A9=8&A=7&a%20=6&aa=5&a~=4&a.=3&a[]=2&a=1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var o Options
			if test.public != "" {
				u, err := url.Parse(test.public)
				if err != nil {
					t.Fatal(err)
				}
				o.PublicURL = u
			}
			a, _, _ := newAuthenticator(o)
			r := get(test.target, nonced("n").signed("GET", test.signed, test.signedQuery).header())
			r.Host = test.host
			if test.scheme != "" {
				r.Scheme = test.scheme
			}
			if test.sentM != "" {
				r.Method = test.sentM
			}
			_, err := a.Authenticate(t.Context(), r)
			if got := problemOf(t, err); got != test.want {
				t.Errorf("problem %q, want %q", got, test.want)
			}
		})
	}
}

func TestSignedBody(t *testing.T) {
	const urlencoded = "application/x-www-form-urlencoded"
	tests := []struct {
		name, contentType, body, signed, want string
	}{
		{"urlencoded body is signed", urlencoded, "b=1&a=x%20y", "a=x%20y&b=1", ""},
		{"its plus is a space", urlencoded, "a=x+y", "a=x%20y", ""},
		{"its OAuth parameters are not", urlencoded, "a=1&oauth_token=2", "a=1", ""},
		{"urlencoded body left out", urlencoded, "a=1", "", "signature_invalid"},
		{"query wins over it", urlencoded, "q=9&a=1", "a=1", ""},
		{"JSON is not signed", "application/json", `{"a":1}`, "", ""},
		{"no type is not signed", "", "a=1", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			r := get("/a?q=1", nonced("n").signed("PUT", "http://store.example/a", test.signed+"&q=1").header())
			r.Method, r.ContentType = "PUT", test.contentType
			r.Form = func() ([]byte, error) { return []byte(test.body), nil }
			_, err := a.Authenticate(t.Context(), r)
			if got := problemOf(t, err); got != test.want {
				t.Errorf("problem %q, want %q", got, test.want)
			}
		})
	}
}

// TestSignedEveryPair signs as in RFC 5849, 3.4.1.3; the normalized parameters are literals, not
// computed.
func TestSignedEveryPair(t *testing.T) {
	tests := []struct{ name, target, body, before, after, want string }{
		{"repeated name, sorted by value", "/a?b=2&b=10&a=x", "", "a=x&b=10&b=2&", "", ""},
		{"the same pair twice", "/a?b=2&b=2", "", "b=2&b=2&", "", ""},
		{"value with =", "/a?b=1&x=a=b", "", "b=1&", "&x=a%3Db", ""},
		{"no =, and an empty value", "/a?x&y=&&b=1", "", "b=1&", "&x=&y=", ""},
		{"query and body", "/a?b=2", "b=3&b=1", "b=1&b=2&b=3&", "", ""},
		{"a plus is a plus", "/a?b=1+2&b=1", "", "b=1&b=1%2B2&", "", ""},
		{"a plus is no space", "/a?b=1+2&b=1", "", "b=1&b=1%202&", "", "signature_invalid"},
		{"one value left out", "/a?b=2&b=10&b=3", "", "b=10&b=2&", "", "signature_invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			r := signedPut(test.target, test.body, test.before, test.after)
			if _, err := a.Authenticate(t.Context(), r); problemOf(t, err) != test.want {
				t.Errorf("problem %q, want %q", problemOf(t, err), test.want)
			}
		})
	}
}

// signedPut returns a request with a form, signed with the given normalized parameters before and
// after the OAuth parameters.
func signedPut(target, body, before, after string) *Request {
	parameters := before + "oauth_consumer_key=" + consumerKey + "&oauth_nonce=n&oauth_signature_method=HMAC-SHA1&oauth_timestamp=1330000000&oauth_token=" +
		adminToken + "&oauth_version=1.0" + after
	base := "PUT&" + escapeReference("http://store.example/a") + "&" + escapeReference(parameters)
	r := get(target, nonced("n").with("signature", hmacReference(base, consumerSecret, adminSecret)).header())
	r.Method, r.ContentType = "PUT", "application/x-www-form-urlencoded"
	r.Form = func() ([]byte, error) { return []byte(body), nil }
	return r
}

// TestSignedSources signs calls whose OAuth parameters are not in the header.
func TestSignedSources(t *testing.T) {
	signed := nonced("n+ 1").signed("PUT", "http://store.example/a", "b=1")
	reads := 0
	form := func() ([]byte, error) { reads++; return []byte("b=1&" + signed.form()), nil }
	for name, r := range map[string]*Request{
		"query": {Target: "/a?" + signed.form() + "&b=1"},
		"body":  {Target: "/a", ContentType: "application/x-www-form-urlencoded", Form: form},
	} {
		a, _, _ := newAuthenticator(Options{})
		r.Method, r.Scheme, r.Host, r.Authorization = "PUT", "http", "store.example", "OAuth"
		if _, err := a.Authenticate(t.Context(), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if reads != 1 {
		t.Errorf("the body is read %d times", reads)
	}
}

func TestEscapedSecrets(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	credentials.Client.Secret = "a&b %"
	token := credentials.Tokens[adminToken]
	token.Secret = "c+d ~"
	credentials.Tokens[adminToken] = token
	base := baseReference("GET", "http://store.example/", "", map[string]string{"oauth_version": "1.0", "oauth_signature_method": "HMAC-SHA1",
		"oauth_consumer_key": consumerKey, "oauth_token": adminToken, "oauth_nonce": "n", "oauth_timestamp": "1330000000"})
	for name, f := range map[string]fields{
		"HMAC-SHA1": nonced("n").with("signature", hmacReference(base, "a&b %", "c+d ~")),
		"PLAINTEXT": plaintext().with("signature", "a&b %&c+d ~"),
	} {
		if _, err := a.Authenticate(t.Context(), get("/", f.header())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyParameters: a call with an absurd number of parameters is valid.
func TestManyParameters(t *testing.T) {
	a, _, _ := newAuthenticator(Options{})
	var query strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&query, "%%5B%d=%d&", i%7_000, i)
	}
	signed := nonced("n").with("z", "last").signed("GET", "http://store.example/a", query.String())
	header := "OAuth " + strings.Repeat("oauth_z=1, x, ", 50_000) + strings.TrimPrefix(signed.header(), "OAuth ")
	if _, err := a.Authenticate(t.Context(), get("/a?"+query.String(), header)); err != nil {
		t.Error(err)
	}
}

func FuzzBaseString(f *testing.F) {
	f.Add("/api/rest/customers/1", "attrs=email", "oauth_nonce", "n1")
	f.Add("/api/rest/customers", "attrs=email&filter[1][attribute]=email&filter[1][eq]=ben@example.com", "oauth_nonce", "n4")
	f.Add("/api/rest/customers/%31", "a=x+y&x&b=a=b&%61=2", "oauth_signature", "é~ %")
	f.Add("//", "a%5B1%5D=1&a[1]=2&a!=3&a.=4&a~=5&a =6&oauth_x=7&oauth_=8&=9", "a", "1")
	f.Fuzz(func(t *testing.T, path, query, name, value string) {
		oauth := map[string]string{name: value, "oauth_version": "1.0"}
		c := &call{query: query, oauth: parameters{{name: name, value: "overwritten"}, {name: "oauth_version", value: "1.0"}, {name: name, value: oauth[name]}}}
		want := baseReference("GET", "http://store.example"+path, query, oauth)
		if got := string(appendBaseString(nil, "GET", "http://store.example", path, normalize(c.signed(rule{}), rule{}))); got != want {
			t.Errorf("base string\n%q, want\n%q", got, want)
		}
	})
}
