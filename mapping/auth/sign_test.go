package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestSignVector signs the contract's example (wire 12), with a port that the signature does not
// cover.
func TestSignVector(t *testing.T) {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	r := get(customerTarget, "")
	r.Host = "Store.example:8080"
	got, err := NewSigner(of("a"), of("b"), of("c"), of("d")).sign(r, time.Unix(1330000000, 0), "n1")
	want := `OAuth oauth_consumer_key="` + of("a") + `", oauth_token="` + of("c") + `", oauth_signature_method="HMAC-SHA1", ` +
		`oauth_timestamp="1330000000", oauth_nonce="n1", oauth_version="1.0", oauth_signature="4NYcMU5jtqDwD2UfxYFuxEfoe0A%3D"`
	if err != nil || got != want {
		t.Errorf("%s, %v, want\n%s", got, err, want)
	}
}

// TestSignedVerifies: the server accepts a signed request, and no other request with the same
// signature.
func TestSignedVerifies(t *testing.T) {
	const form = "application/x-www-form-urlencoded; charset=utf-8"
	tests := []struct{ name, method, scheme, host, target, contentType, body string }{
		{"plain", "GET", "http", "store.example", "/api/rest/products", "", ""},
		{"method in small letters", "get", "http", "store.example", "/api/rest/products", "", ""},
		{"port", "GET", "http", "store.example:8080", "/api/rest/products", "", ""},
		{"port of the scheme", "GET", "https", "store.example:443", "/api/rest/products", "", ""},
		{"literal address", "GET", "http", "[::1]:8080", "/api/rest/products", "", ""},
		{"base path and escapes", "GET", "https", "store.example", "/shop/api/rest/%63ustomers//1", "", ""},
		{"query", "GET", "http", "store.example", "/api/rest/p?b=2&a=1&a=0&x&y=a=b&filter[1][eq]=a+b&c=%C3%A9~", "", ""},
		{"parameters of OAuth elsewhere", "GET", "http", "store.example", "/api/rest/p?oauth_token=x&a=1", "", ""},
		{"form", "POST", "http", "store.example", "/api/rest/p?a=1", form, "b=2+3&c=%26&oauth_nonce=x"},
		{"another body", "POST", "http", "store.example", "/api/rest/p", "text/xml", "<a>b=2</a>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			request := func() *Request {
				return &Request{Method: tt.method, Scheme: tt.scheme, Host: tt.host, Target: tt.target, ContentType: tt.contentType,
					Form: func() ([]byte, error) { return []byte(tt.body), nil }}
			}
			a, _, _ := newAuthenticator(Options{})
			signer := NewSigner(consumerKey, consumerSecret, adminToken, adminSecret)
			for range 2 { // each has its nonce
				r := request()
				var err error
				if r.Authorization, err = signer.Sign(r, time.Unix(serverTime, 0)); err != nil {
					t.Fatal(err)
				}
				if p, err := a.Authenticate(t.Context(), r); err != nil || p.Role != contract.Admin {
					t.Errorf("%v %v", p, err)
				}
				for name, change := range map[string]func(*Request){
					"method": func(r *Request) { r.Method = "DELETE" },
					"target": func(r *Request) { r.Target = strings.Replace(r.Target, "/api", "/apj", 1) },
					"query": func(r *Request) {
						r.Target += map[bool]string{true: "&", false: "?"}[strings.Contains(r.Target, "?")] + "z=1"
					},
					"host": func(r *Request) { r.Host = "other.example" },
				} {
					fresh, _, _ := newAuthenticator(Options{})
					changed := *r
					change(&changed)
					if _, err := fresh.Authenticate(t.Context(), &changed); problemOf(t, err) != "signature_invalid" {
						t.Errorf("with another %s: %v", name, err)
					}
				}
			}
		})
	}
	t.Run("body fails", func(t *testing.T) {
		r, broken := get("/", ""), errors.New("gone")
		r.ContentType, r.Form = form, func() ([]byte, error) { return nil, broken }
		if _, err := new(Signer).Sign(r, time.Now()); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	})
}

// TestSignerOfCaller: the signer of an accepted call signs with the credentials of its caller.
func TestSignerOfCaller(t *testing.T) {
	tests := []struct {
		name, authorization, target string
		want                        contract.Role
	}{
		{"administrator", plaintext().header(), "/", contract.Admin},
		{"customer", plaintext().with("token", customerToken, "signature", consumerSecret+"&"+customerSecret).header(), "/", contract.Customer},
		{"in capitals", plaintext().with("token", strings.ToUpper(adminToken)).header(), "/", contract.Admin},
		{"in the query", "OAuth", "/?" + plaintext().form(), contract.Admin},
		{"guest", "Basic x", "/", contract.Guest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			r := get(tt.target, tt.authorization)
			if p, err := a.Authenticate(t.Context(), r); err != nil || p.Role != tt.want {
				t.Fatalf("%v %v", p, err)
			}
			signer, err := a.Signer(t.Context(), r)
			if err != nil || (signer == nil) != (tt.want == contract.Guest) || Signed(tt.authorization) == (signer == nil) {
				t.Fatalf("%v %v", signer, err)
			}
			if signer == nil {
				return
			}
			if r.Authorization, err = signer.Sign(r, time.Unix(serverTime, 0)); err != nil {
				t.Fatal(err)
			}
			if p, err := a.Authenticate(t.Context(), r); err != nil || p.Role != tt.want {
				t.Errorf("%v %v, want %v", p, err, tt.want)
			}
		})
	}
}

func TestSignerOfGuest(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	for header, want := range map[string]string{
		plaintext().with("consumer_key", unknown).header(): "consumer_key_rejected",
		plaintext().with("token", unknown).header():        "token_rejected",
		plaintext().with("token", revokedToken).header():   "token_revoked",
		plaintext().with("token", foreignToken).header():   "token_rejected",
		"OAuth": "consumer_key_rejected",
	} {
		signer, err := a.Signer(t.Context(), get("/", header))
		if got := problemOf(t, err); got != want || signer != nil {
			t.Errorf("problem %q, want %q", got, want)
		}
	}
	a.Purge()
	credentials.Fail = &adapter.Error{Kind: adapter.Unavailable, Op: "find"}
	if _, err := a.Signer(t.Context(), get("/", plaintext().header())); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("error %v", err)
	}
}

func TestSignerHidesSecrets(t *testing.T) {
	signer := NewSigner("key", consumerSecret, "token", adminSecret)
	if got := fmt.Sprintf("%v %+v %s %#v", signer, signer, signer, signer); strings.Contains(got, consumerSecret) || strings.Contains(got, adminSecret) {
		t.Error(got)
	}
	authorization, err := signer.Sign(get("/", ""), time.Now())
	if err != nil || strings.Contains(authorization, consumerSecret) || strings.Contains(authorization, adminSecret) {
		t.Errorf("%s %v", authorization, err)
	}
}
