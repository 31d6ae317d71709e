package contracttests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr(s string) *string { return &s }

// TestRequestsAreSentAsWritten checks the bytes of requests on the wire.
func TestRequestsAreSentAsWritten(t *testing.T) {
	admin := `Authorization: OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="key", ` +
		`oauth_token="a", oauth_signature="consumer-secret%26admin-secret"`
	for _, tt := range []struct {
		name string
		step Step
		want []string // lines of the head, then the body; HOST is the address of the server
	}{
		{"PlainGet", Step{Method: "GET", Path: "/products"}, []string{"GET /api/rest/products HTTP/1.1", "Host: HOST", "", ""}},
		{"EmptyPath", Step{Method: "GET"}, []string{"GET /api/rest HTTP/1.1", "Host: HOST", "", ""}},
		{"DoubledSlash", Step{Method: "GET", Path: "//customers//1/"}, []string{"GET /api/rest//customers//1/ HTTP/1.1", "Host: HOST", "", ""}},
		{"Escapes", Step{Method: "GET", Path: "/%63ustomers/a%2Fb/../%zz?x=[1]&y=%5b+^{}"}, []string{"GET /api/rest/%63ustomers/a%2Fb/../%zz?x=[1]&y=%5b+^{} HTTP/1.1", "Host: HOST", "", ""}},
		{"WholeTarget", Step{Method: "GET", Path: "!/oauth/token"}, []string{"GET /oauth/token HTTP/1.1", "Host: HOST", "", ""}},
		{"AbsoluteTarget", Step{Method: "GET", Path: "!http://store.example/api/rest/customers/1?attrs=email"}, []string{"GET http://store.example/api/rest/customers/1?attrs=email HTTP/1.1", "Host: store.example", "", ""}},
		{"AbsoluteTargetNoPath", Step{Method: "GET", Path: "!http://store.example:81?a"}, []string{"GET http://store.example:81?a HTTP/1.1", "Host: store.example:81", "", ""}},
		{"BaseURL", Step{Method: "POST", Path: "!{{base_url}}/api/rest/x", Headers: map[string]string{"X": "{{base_url}}"}, Body: ptr("{{base_url}}")}, []string{"POST http://HOST/api/rest/x HTTP/1.1", "Host: HOST", "X: http://HOST", "Content-Length: LENGTH", "", "http://HOST"}},
		{"AcceptEmpty", Step{Method: "GET", Path: "/x", Accept: ptr("")}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "Accept: ", "", ""}},
		{"AcceptGiven", Step{Method: "GET", Path: "/x", Accept: ptr("*")}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "Accept: *", "", ""}},
		{"UnknownMethod", Step{Method: "FOO", Path: "/x"}, []string{"FOO /api/rest/x HTTP/1.1", "Host: HOST", "", ""}},
		{"BodylessPost", Step{Method: "POST", Path: "/x"}, []string{"POST /api/rest/x HTTP/1.1", "Host: HOST", "Content-Length: 0", "", ""}},
		{"BodylessPut", Step{Method: "PUT", Path: "/x"}, []string{"PUT /api/rest/x HTTP/1.1", "Host: HOST", "Content-Length: 0", "", ""}},
		{"BodylessDelete", Step{Method: "DELETE", Path: "/x"}, []string{"DELETE /api/rest/x HTTP/1.1", "Host: HOST", "Content-Length: 0", "", ""}},
		{"BodylessPatch", Step{Method: "PATCH", Path: "/x"}, []string{"PATCH /api/rest/x HTTP/1.1", "Host: HOST", "", ""}},
		{"EmptyBody", Step{Method: "PATCH", Path: "/x", Body: ptr("")}, []string{"PATCH /api/rest/x HTTP/1.1", "Host: HOST", "Content-Length: 0", "", ""}},
		{"Body", Step{Method: "PUT", Path: "/x", ContentType: ptr("text/xml"), Body: ptr("<é/>")}, []string{"PUT /api/rest/x HTTP/1.1", "Host: HOST", "Content-Type: text/xml", "Content-Length: 5", "", "<é/>"}},
		{"GetWithBody", Step{Method: "GET", Path: "/x", Body: ptr("b")}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "Content-Length: 1", "", "b"}},
		{"Credentials", Step{As: Admin, Method: "GET", Path: "/x"}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", admin, "", ""}},
		{"OwnAuthorization", Step{As: Admin, Method: "GET", Path: "/x", Headers: map[string]string{"authorization": "Basic x"}}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "authorization: Basic x", "", ""}},
		{"OwnAccept", Step{Method: "GET", Path: "/x", Accept: ptr("a"), ContentType: ptr("b"), Headers: map[string]string{"ACCEPT": "c", "content-type": "d"}}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "ACCEPT: c", "content-type: d", "", ""}},
		{"HeadersByName", Step{Method: "GET", Path: "/x", Headers: map[string]string{"Version": "1", "A": "2", "B": "3"}}, []string{"GET /api/rest/x HTTP/1.1", "Host: HOST", "A: 2", "B: 3", "Version: 1", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			requests := make(chan string, 1)
			base := serve(t, func(request string) string {
				requests <- request
				return httpReply(200, "")
			})
			srv := mustServer(t, base)
			r := newRequest(srv, testCredentials, &tt.step)
			if _, err := srv.roundTrip(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(strings.Join(tt.want, "\r\n"), "HOST", srv.host)
			_, body, _ := strings.Cut(want, "\r\n\r\n")
			want = strings.ReplaceAll(want, "LENGTH", contentLengthOf(body))
			if diff := cmp.Diff(want, <-requests); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBasePath checks that the base path is added to requests and removed from the
// Location of replies.
func TestBasePath(t *testing.T) {
	for _, tt := range []struct{ name, path, target, location, want string }{
		{"path of the contract", "/products", "/shop/api/rest/products", "/shop/api/rest/products/1", "/api/rest/products/1"},
		{"whole target", "!/oauth/token", "/shop/oauth/token", "/shop/elsewhere", "/shop/elsewhere"},
		{"absolute target", "!{{base_url}}/api/rest/x", "http://HOST/shop/api/rest/x", "http://HOST/shop/api/rest/x/1", "http://HOST/shop/api/rest/x/1"},
		{"target of another host", "!http://store.example/api/rest/x", "http://store.example/api/rest/x", "/api/rest/x/1", "/api/rest/x/1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			requests := make(chan string, 1)
			base := serve(t, func(request string) string {
				requests <- request
				_, host, _ := strings.Cut(request, "Host: ")
				host, _, _ = strings.Cut(host, "\r\n")
				return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLocation: " + strings.ReplaceAll(tt.location, "HOST", host) + "\r\n\r\n"
			})
			srv := mustServer(t, base+"/shop/")
			r := newRequest(srv, testCredentials, &Step{Method: "GET", Path: tt.path})
			got, err := srv.roundTrip(t.Context(), &r)
			if err != nil {
				t.Fatal(err)
			}
			if target, want := strings.Fields(<-requests)[1], strings.ReplaceAll(tt.target, "HOST", srv.host); target != want {
				t.Errorf("target %s, want %s", target, want)
			}
			if command := curl(srv, &r, ""); strings.Contains(command, "/shop/shop") {
				t.Errorf("the curl command is %s", command)
			}
			if location, want := got.header.Get("Location"), strings.ReplaceAll(tt.want, "HOST", srv.host); location != want {
				t.Errorf("Location %s, want %s", location, want)
			}
		})
	}
}

func contentLengthOf(s string) string { return (&request{body: &s}).contentLength() }

// TestAuthorization checks which callers have an Authorization header.
func TestAuthorization(t *testing.T) {
	const head = `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="key", `
	for as, want := range map[string]string{
		Admin:     head + `oauth_token="a", oauth_signature="consumer-secret%26admin-secret"`,
		Customer1: head + `oauth_token="c1", oauth_signature="consumer-secret%26secret-1"`,
		Customer2: head + `oauth_token="c2", oauth_signature="consumer-secret%26secret-2"`,
		Guest:     "",
		"nobody":  "",
	} {
		if got := testCredentials.Authorization(as); got != want {
			t.Errorf("of %s: %s, want %s", as, got, want)
		}
	}
}

// TestSendErrors checks the errors for incomplete and invalid replies.
func TestSendErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, reply, want string }{
		{"NoHTTP", "hello\r\n\r\n", "reading the reply"},
		{"BodyCutShort", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "reading the body"},
		{"ReplyTwice", httpReply(200, "a") + httpReply(200, "b"), "after the end of the reply"},
		{"EndlessHeader", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", "longer than 256 KiB"},
		{"EndlessBody", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", maxReply), "longer than 32 MiB"},
		{"NoHeader", "HTTP/1.1 200 OK\r\n\x1b[2J" + strings.Repeat("x", 1000) + "\r\n\r\n", `\x1b[2J`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := mustServer(t, rawServer(t, tt.reply)) // which closes, so that the client does not wait for the rest
			_, err := srv.roundTrip(t.Context(), &request{method: "GET", target: "/", host: "x"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestSendCanceled checks that a request ends with its context.
func TestSendCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base := serve(t, func(string) string {
		cancel()
		return "HTTP/1.1 200 OK\r\n" // never completed
	})
	srv := mustServer(t, base)
	if _, err := srv.roundTrip(ctx, &request{method: "GET", target: "/", host: "x"}); err == nil {
		t.Error("no error though the reply never ended")
	}
}

// TestHTTPS checks a request over TLS to a server with a trusted certificate.
func TestHTTPS(t *testing.T) {
	ts := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RequestURI)
	}))
	defer ts.Close()
	roots := x509.NewCertPool()
	roots.AddCert(ts.Certificate())
	srv, err := parseServer(ts.URL, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	got, err := srv.roundTrip(t.Context(), &request{method: "GET", target: "/a//b", host: srv.host})
	if err != nil || got.body != "/a//b" {
		t.Errorf("reply %+v, error %v", got, err)
	}
}

// TestParseServer checks which base URLs are accepted.
func TestParseServer(t *testing.T) {
	for base, want := range map[string]server{
		"http://store.example":               {"http", "store.example", "", "store.example:80", nil},
		"https://store.example/":             {"https", "store.example", "", "store.example:443", nil},
		"http://[::1]:8080":                  {"http", "[::1]:8080", "", "[::1]:8080", nil},
		"http://store.example/shop":          {"http", "store.example", "/shop", "store.example:80", nil},
		"http://store.example/eu/shop/":      {"http", "store.example", "/eu/shop", "store.example:80", nil},
		"http://store.example/api/restore":   {"http", "store.example", "/api/restore", "store.example:80", nil},
		"http://store.example/api/rest":      {},
		"http://store.example/shop/api/rest": {},
		"store.example:80":                   {},
		"ftp://store.example":                {},
		"http://":                            {},
		"http://u:p@store.example":           {},
		"http://store.example?x":             {},
		"http://store.example#x":             {},
		"http://%zz":                         {},
	} {
		got, err := parseServer(base, nil)
		if got != want || (err != nil) != (want == server{}) {
			t.Errorf("of %q: %+v, %v; want %+v", base, got, err, want)
		}
	}
}

// TestServerErrorsContainNoSecrets checks that the error for a base URL does not repeat
// its password.
func TestServerErrorsContainNoSecrets(t *testing.T) {
	for _, base := range []string{"http://ada:hidden@store.example", "http://ada:hidden@store.example:x", "http://ada:hidden", "ada:hidden@store.example"} {
		if _, err := parseServer(base, nil); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("of %q: %v", base, err)
		}
	}
}
