package program

import (
	"bufio"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestLegacyCache checks which replies of the legacy store to Guests are cached, and that
// forwarded writes invalidate them.
func TestLegacyCache(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		w.Header().Set("X-Old", "1")
		switch r.URL.RawQuery {
		case "cookie":
			w.Header().Set("Set-Cookie", "a=b")
		case "html":
			w.Header().Set("Content-Type", "text/html")
		case "varies":
			w.Header().Set("Vary", "Accept, User-Agent")
		case "long":
			_, _ = w.Write(make([]byte, 2<<20))
			return
		case "fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "missing":
			w.WriteHeader(http.StatusNotFound)
		case "away":
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "answer %d", n)
	}))
	defer old.Close()
	front := startFront(t, old.URL, "PORTICO_LEGACY_CACHE=true")
	const product = "/api/rest/products/1"
	reads := []struct {
		name, target string
		headers      []string
		cached       bool
	}{
		{"product", product, nil, true},
		{"list", "/api/rest/products?limit=2", nil, true},
		{"missing", product + "?missing", nil, true},
		{"another format", product, []string{"Accept", "application/json"}, true},
		{"packed", product, []string{"Accept-Encoding", "gzip"}, true},
		{"odd spelling", "/api/rest/products/%31", nil, true},
		{"with credentials", product, []string{"Authorization", apptest.DemoAdmin()}, false},
		{"with a cookie", product, []string{"Cookie", "a=b"}, false},
		{"with a validator", product, []string{"If-None-Match", `"a"`}, false},
		{"stock", "/api/rest/stockitems/1", nil, false},
		{"sets a cookie", product + "?cookie", nil, false},
		{"a page", product + "?html", nil, false},
		{"varies", product + "?varies", nil, false},
		{"too long", product + "?long", nil, false},
		{"fails", product + "?fails", nil, false},
	}
	for _, c := range reads {
		t.Run(c.name, func(t *testing.T) {
			first := apptest.Send(t, "GET", front.Contract+c.target, "", c.headers...)
			before := asked.Load()
			second := apptest.Send(t, "GET", front.Contract+c.target, "", c.headers...)
			if hit := asked.Load() == before; hit != c.cached || hit != (second.Header.Get("X-Cache") == "HIT") {
				t.Errorf("cache hit %t, want %t; %v", hit, c.cached, second.Header)
			}
			if c.cached && (second.Body != first.Body || second.Status != first.Status || second.Header.Get("X-Old") != "1" ||
				second.Header.Get("Content-Type") != "text/xml; charset=utf-8" || second.Header.Get("Date") == "") {
				t.Errorf("first %+v, then %+v", first, second)
			}
		})
	}
	writes := []struct {
		name, method, target string
		ends                 bool
	}{
		{"product", "PUT", product, true}, {"another product", "DELETE", "/api/rest/products/2", true}, {"new product", "POST", "/api/rest/products", true},
		{"image", "POST", product + "/images", true}, {"stock", "PUT", "/api/rest/stockitems/1", true}, {"category", "POST", product + "/categories", true},
		{"customer", "PUT", "/api/rest/customers/1", false}, {"outside", "POST", "/oauth/token", false},
	}
	for _, c := range writes {
		t.Run("write of "+c.name, func(t *testing.T) {
			apptest.Send(t, "GET", front.Contract+product, "")
			if got := apptest.Send(t, c.method, front.Contract+c.target, "x"); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if got := apptest.Send(t, "GET", front.Contract+product, ""); (got.Header.Get("X-Cache") == "MISS") != c.ends {
				t.Errorf("then %v", got.Header)
			}
		})
	}
	t.Run("a write that is answered in two halves", func(t *testing.T) {
		// The client that has the first half of the reply has seen the write reach the legacy
		// store.
		half := make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // as a legacy store does before it answers
			w.Header().Set("Content-Type", "text/xml")
			_, _ = io.WriteString(w, "first")
			if r.Method == "PUT" {
				w.(http.Flusher).Flush()
				<-half
			}
		}))
		defer slow.Close()
		front := startFront(t, slow.URL, "PORTICO_LEGACY_CACHE=true")
		apptest.Send(t, "GET", front.Contract+product, "")
		request, err := http.NewRequestWithContext(t.Context(), "PUT", front.Contract+product, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got := apptest.Send(t, "GET", front.Contract+product, ""); got.Header.Get("X-Cache") != "MISS" {
			t.Errorf("then %v", got.Header)
		}
		close(half)
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
	})
	t.Run("not asked for", func(t *testing.T) {
		front := startFront(t, old.URL)
		for range 2 {
			if got := apptest.Send(t, "GET", front.Contract+product, ""); got.Header.Get("X-Cache") != "" {
				t.Errorf("%v", got.Header)
			}
		}
	})
	t.Run("while it is away", func(t *testing.T) {
		apptest.Send(t, "GET", front.Contract+product, "")
		old.Close()
		if got := apptest.Send(t, "GET", front.Contract+product, ""); got.Header.Get("X-Cache") != "HIT" || got.Status != http.StatusOK {
			t.Errorf("%d %v", got.Status, got.Header)
		}
		// A failed write may have changed the record.
		for _, call := range [][2]string{{"GET", "/api/rest/products/7"}, {"PUT", product}, {"GET", product}} {
			if got := apptest.Send(t, call[0], front.Contract+call[1], ""); got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %d %v", call, got.Status, got.Header)
			}
		}
	})
}

// TestLegacyCachePoisoning checks that request headers that the legacy store obeys do not
// affect the cached replies of other Guests. The stand-in for the legacy store obeys every
// header that it gets, except the headers in the cache key.
func TestLegacyCachePoisoning(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		var obeyed []string
		for name, values := range r.Header {
			obeyed = append(obeyed, fmt.Sprintf("%s=%q", name, values))
		}
		slices.Sort(obeyed)
		fmt.Fprintf(w, "%s %s %s %v", r.Method, r.Host, r.RequestURI, obeyed)
	}))
	defer old.Close()
	direct := startFront(t, old.URL, "PORTICO_LEGACY_CACHE=true")
	behind := startFront(t, old.URL, "PORTICO_LEGACY_CACHE=true", "PORTICO_TRUSTED_PROXIES=127.0.0.1/32")
	headers := []string{
		"X-Rewrite-Url: /api/rest/products/2", "X-Original-Url: /api/rest/products/2", "X-Original-Uri: /x", "X-Forwarded-Uri: /x",
		"X-Http-Method-Override: DELETE", "X-Http-Method: DELETE", "X-Method-Override: DELETE",
		"Proxy: http://attacker.example", "X_Rewrite_Url: /x", "HTTP.HOST: attacker.example", "Iis_wasurlrewritten: 1",
		"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Host: attacker.example", "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /x",
		"X-Forwarded-Port: 9", "Forwarded: host=attacker.example", "X-Real-Ip: 9.9.9.9", "X-Host: attacker.example", "Ssl-Offloaded: 1",
		"User-Agent: attacker", "Referer: http://attacker.example", "X-Anything: 1", "Connection: Accept", "Content-Type: text/evil", "Te: trailers",
	}
	for i, header := range headers {
		for name, front := range map[string]*apptest.Process{"direct": direct, "behind a proxy": behind} {
			t.Run(name+", "+header, func(t *testing.T) {
				ask := func(target string, extra ...string) string {
					return sendRaw(t, front.Contract, append([]string{"GET " + target + " HTTP/1.1", "Host: shop.example", "Accept: text/xml", "Connection: close"}, extra...))
				}
				target := fmt.Sprintf("/api/rest/products/1?%d", i)
				clean := strings.ReplaceAll(ask("/api/rest/products/1?clean"), "?clean", target[len("/api/rest/products/1"):])
				ask(target, header)
				if got := ask(target); got != clean {
					t.Errorf("then another Guest reads\n%s, not\n%s", got, clean)
				}
			})
		}
	}
}

// sendRaw sends the lines of a request without a body and returns the body of the reply.
func sendRaw(t *testing.T, base string, lines []string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s, %v", response.StatusCode, body, err)
	}
	return string(body)
}

// startFront starts a server with the demo store that forwards all calls to the legacy store at
// old.
func startFront(t *testing.T, old string, environ ...string) *apptest.Process {
	t.Helper()
	return apptest.Start(t, append(environ, apptest.RoutesFile(t, "resource: all, to: legacy"), "PORTICO_LEGACY_URL="+old), "--demo")
}
