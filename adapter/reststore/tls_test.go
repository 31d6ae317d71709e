package reststore

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/buildinfo"
)

func TestAuth(t *testing.T) {
	for _, c := range []struct{ name, auth, header, want string }{
		{"basic", "{basic: {user: $secret, password: ''}}", "Authorization", "Basic aHVzaDo="},
		{"basic with both", "{basic: {user: $user, password: $secret}}", "Authorization", "Basic dTpodXNo"},
		{"bearer", "{bearer: $secret}", "Authorization", "Bearer hush"},
		{"a header", "{header: {name: X-Key, value: 'Key $secret'}}", "X-Key", "Key hush"},
		{"none", "{}", "Authorization", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, tinyMappingWith("  auth: "+c.auth+"\n  headers: {X-Shop: main}"), nil, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get(c.header); got != c.want {
					t.Errorf("%s: %q, want %q", c.header, got, c.want)
				}
				if r.Header.Get("X-Shop") != "main" || r.Header.Get("User-Agent") != buildinfo.UserAgent("portico") || r.Header.Get("Accept") != "application/json" {
					t.Errorf("headers %v", r.Header)
				}
				respond(w, 200, noCustomers)
			})
			if _, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			t.Error("the client sent no certificate")
		}
		respond(w, 200, noCustomers)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	defer s.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	fetch := func(o *tls.Config) error {
		t.Helper()
		b, err := Open(Options{Mapping: []byte(strings.Replace(tinyMappingWith(""), "attempts: 3", "attempts: 1", 1)), URL: s.URL, TLS: o})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		_, err = b.Fetch(t.Context(), adapter.Customers, []string{"1"})
		return err
	}
	if err := fetch(&tls.Config{RootCAs: trusted, Certificates: s.TLS.Certificates}); err != nil { // with the certificate of the server
		t.Errorf("trusted: %v", err)
	}
	if err := fetch(nil); adapter.KindOf(err) != adapter.Unavailable || err == nil {
		t.Errorf("untrusted certificate: %v", err)
	}
}
