package contracttests

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	emptyXML  = "<?xml version=\"1.0\"?>\n<service_api/>\n"
	emptyXML1 = "<?xml version=\"1.0\"?>\n<magento_api/>\n"
	refusal   = `{"messages":{"error":[{"code":401,"message":"oauth_problem=token_rejected"}]}}`
)

// fakeImplementation returns a handler that replies like an implementation of the
// dialect. If other is not nil, it is called first, and reports whether it has replied.
func fakeImplementation(dialect Dialect, other func(w http.ResponseWriter, r *http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		switch {
		case other != nil && other(w, r):
		case accept == "application/json", accept == "*/*" && dialect == Magento:
			w.Header().Set("Content-Type", jsonType)
			io.WriteString(w, "[]")
		default:
			w.Header().Set("Content-Type", xmlType)
			io.WriteString(w, map[Dialect]string{Documented: emptyXML, Magento: emptyXML1}[dialect])
		}
	})
}

func isAdmin(r *http.Request) bool { return r.Header.Get("Authorization") != "" }

// TestProbe checks the sentence of the probe for each kind of reply.
func TestProbe(t *testing.T) {
	answer := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	redirect := func(to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, to, http.StatusFound)
			return true
		}
	}
	for _, tt := range []struct {
		name  string
		is    Dialect
		other func(http.ResponseWriter, *http.Request) bool
		want  string // "" if the target can be tested
	}{
		{"documented", Documented, nil, ""},
		{"other dialect", Magento, nil, "BASE speaks the dialect magento (its root element is magento_api): give --dialect magento"},
		{"other root alone", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return r.Header.Get("Accept") == "application/xml" && answer(200, xmlType, emptyXML1)(w, r)
		}, ""},
		{"login page", Documented, redirect("/customer/account/login/"), `BASE/api/rest/products?limit=1 answers 302 and redirects to "/customer/account/login/": exempt /api/rest from that login`},
		{"another address", Documented, redirect("https://store.example/api/rest/products?limit=1"), `redirects to "https://store.example/api/rest/products?limit=1": give --url https://store.example`},
		{"an address with a base path", Documented, redirect("https://store.example/shop/api/rest/products?limit=1"), ": give --url https://store.example/shop"},
		{"another page", Documented, redirect("/en/"), `redirects to "/en/": give the --url of the server itself`},
		{"long redirect", Documented, redirect("/" + strings.Repeat("x", 5000)), `xxxx"…: give`},
		{"HTML", Documented, answer(200, "text/html", "<!DOCTYPE html>\n<html><head><title> My\nshop </title>"), `BASE/api/rest/products?limit=1 answers 200 with an HTML page ("My\nshop") instead of a reply of the contract`},
		{"HTML without a media type", Documented, answer(404, "", "<HTML><p>No"), "answers 404 with an HTML page instead"},
		{"another API", Documented, answer(404, "application/json", `{"message":"no Route matched"}`), `answers 404 with "{\"message\":\"no Route matched\"}", which is not a reply of the contract`},
		{"text", Documented, answer(200, "text/plain", "hello"), `answers 200 with "hello", which is not a reply`},
		{"nothing", Documented, answer(200, "", ""), `answers 200 with "", which is not a reply`},
		{"500", Documented, answer(500, "", ""), "BASE answers every request with 500: check its log"},
		{"503", Documented, answer(503, "text/html", "<html>"), "BASE answers every request with 503: check whether the implementation behind that gateway runs"},
		{"500 in the envelope", Documented, answer(500, "", `{"messages":{"error":[{"code":500,"message":"Service unavailable"}]}}`), `answers every request with 500: it says "Service unavailable"`},
		{"500 of one resource", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/products") && answer(500, "", "")(w, r)
		}, ""},
		{"page of one resource", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/products") && answer(200, "text/html", "<html>")(w, r)
		}, ""},
		{"HTTPS behind a proxy", Documented, answer(400, "text/html", "<html><head><title>400 The plain HTTP request was sent to HTTPS port"), "BASE speaks HTTPS: give --url https://"},
		{"credentials are refused", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return isAdmin(r) && answer(401, jsonType, refusal)(w, r)
		}, `BASE refuses the credentials of the Admin, 401 "oauth_problem=token_rejected": give its own with --credentials FILE`},
		{"credentials are unknown", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return isAdmin(r) && answer(403, jsonType, strings.Replace(refusal, "oauth_problem=token_rejected", "Access denied", 1))(w, r)
		}, `refuses the credentials of the Admin, 403 "Access denied"`},
		{"refused without envelope", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return isAdmin(r) && answer(401, "text/plain", "who are you? admin-secret")(w, r)
		}, `refuses the credentials of the Admin, 401 "who are you? [secret]"`},
		{"one resource is refused", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/customers") && answer(403, jsonType, refusal)(w, r)
		}, ""},
		{"secrets come back", Documented, func(w http.ResponseWriter, r *http.Request) bool {
			return answer(400, "text/plain", "key=consumer-secret "+r.Header.Get("Authorization"))(w, r)
		}, `answers 400 with "key=[secret] ", which`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(fakeImplementation(tt.is, tt.other))
			defer srv.Close()
			err := Probe(t.Context(), Target{BaseURL: srv.URL, Dialect: Documented, Credentials: testCredentials})
			checkSentence(t, err, strings.ReplaceAll(tt.want, "BASE", srv.URL))
		})
	}
}

// checkSentence checks that err is one line that contains want, or nil if want is "".
func checkSentence(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want one with %s", err, want)
	}
	if len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret\"") {
		t.Errorf("not one sentence: %v", err)
	}
}

// TestProbeWithoutAdmin checks that a refused Admin is no error if the target has no
// Admin credentials.
func TestProbeWithoutAdmin(t *testing.T) {
	srv := httptest.NewServer(fakeImplementation(Documented, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/products") {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, refusal)
		return true
	}))
	defer srv.Close()
	if err := Probe(t.Context(), Target{BaseURL: srv.URL, Dialect: Documented}); err != nil {
		t.Errorf("error %v: guests need no credentials", err)
	}
}

// TestProbeConnectionErrors checks the sentence of the probe for addresses that give no
// HTTP reply.
func TestProbeConnectionErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	for _, tt := range []struct{ name, url, want string }{
		{"nothing listens", "http://" + closed, "nothing listens on " + closed + ": start the implementation, or correct --url"},
		{"no name", "http://no-such-host.invalid", `the name "no-such-host.invalid" of --url does not resolve`},
		{"no URL", "localhost:8080", "base URL must be http(s)://host[:port]"},
		{"closes", rawServer(t, ""), "closes the connection without a reply"},
		{"no HTTP", rawServer(t, "220 mail.example ESMTP\r\n"), "does not speak HTTP"},
		{"TLS alert", rawServer(t, "\x15\x03\x01\x00\x02\x02\x0a"), "does not speak HTTP: correct --url, or try https://127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkSentence(t, Probe(t.Context(), Target{BaseURL: tt.url, Dialect: Documented}), tt.want)
		})
	}
	t.Run("unknown dialect", func(t *testing.T) {
		checkSentence(t, Probe(t.Context(), Target{BaseURL: "http://" + closed, Dialect: "shopware"}), `unknown dialect "shopware"`)
	})
}

// rawServer starts a server that reads one request from each connection, writes reply and
// closes the connection. It returns the base URL.
func rawServer(t *testing.T, reply string) string {
	t.Helper()
	return "http://" + listenAndHandle(t, func(conn net.Conn) {
		// Closing with unread data would reset the connection before the reply is read.
		if _, err := readRequest(bufio.NewReader(conn)); err == nil {
			io.WriteString(conn, reply)
		}
	})
}

// TestProbeTimeout checks that the probe of a server that hangs ends in time.
func TestProbeTimeout(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(net.Conn){
		"silent": func(conn net.Conn) { io.Copy(io.Discard, conn) }, // until the client closes it
		"drips": func(conn net.Conn) {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
			for err == nil {
				<-time.After(100 * time.Millisecond)
				_, err = io.WriteString(conn, " ")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := listenAndHandle(t, handle)
			start := time.Now()
			err := Probe(t.Context(), Target{BaseURL: "http://" + address, Dialect: Documented, Timeout: time.Second})
			checkSentence(t, err, "http://"+address+"/api/rest/products?limit=1 hangs: it did not answer within 1s")
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("it took %v, want at most 4 s", took)
			}
		})
	}
}

// TestProbeCanceled checks that the probe returns the error of its context.
func TestProbeCanceled(t *testing.T) {
	called := make(chan struct{}, 2)
	ended := make(chan struct{})
	defer close(ended)
	address := listenAndHandle(t, func(net.Conn) {
		called <- struct{}{}
		<-ended
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	if err := Probe(ctx, Target{BaseURL: "http://" + address, Dialect: Documented}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestProbeOverTLS checks the sentence of the probe for TLS errors.
func TestProbeOverTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(fakeImplementation(Documented, nil))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the test causes the handshake errors
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(fakeImplementation(Documented, nil))
	defer plain.Close()
	trusting := x509.NewCertPool()
	trusting.AddCert(secure.Certificate())
	address := strings.TrimPrefix(secure.URL, "https://")
	for _, tt := range []struct {
		name, url string
		config    *tls.Config
		want      string
	}{
		{"trusted", secure.URL, &tls.Config{RootCAs: trusting}, ""},
		{"not trusted", secure.URL, nil, "the certificate of " + address + " is not trusted"},
		{"another name", strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), &tls.Config{RootCAs: trusting}, "name its authority with --ca FILE, or skip the check with --insecure"},
		{"no common version", secure.URL, &tls.Config{RootCAs: trusting, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, "the TLS handshake with"},
		{"plain server", strings.Replace(plain.URL, "http", "https", 1), nil, "does not speak TLS: give --url " + plain.URL},
		{"plain call", "http://" + address, nil, "http://" + address + " speaks HTTPS: give --url https://" + address},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkSentence(t, Probe(t.Context(), Target{BaseURL: tt.url, TLS: tt.config, Dialect: Documented, Credentials: testCredentials}), tt.want)
		})
	}
}
