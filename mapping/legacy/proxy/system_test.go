package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// hang is longer than any test step takes if it works.
const hang = 3 * time.Minute

// A legacySystem is a fake legacy store: it reports requests byte for byte and sends replies
// byte for byte.
type legacySystem struct {
	listener net.Listener
	serve    func(in *bufio.Reader, out net.Conn) // one connection
	closed   chan struct{}                        // gets one for each connection that is over
}

func newLegacySystem(t *testing.T, serve func(in *bufio.Reader, out net.Conn)) *legacySystem {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &legacySystem{listener: listener, serve: serve, closed: make(chan struct{}, 100)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				o.serve(bufio.NewReader(conn), conn)
				_ = conn.Close()
				o.closed <- struct{}{}
			}()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return o
}

// awaitClose waits until a connection is closed.
func (o *legacySystem) awaitClose(t *testing.T) {
	t.Helper()
	testenv.Receive(t, "the end of the connection to the legacy store", o.closed)
}

// answering reads the head of each request, sends it to heads, and writes the reply.
func answering(reply string, heads chan<- string) func(*bufio.Reader, net.Conn) {
	return func(in *bufio.Reader, out net.Conn) {
		for {
			var head strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == "\r\n" {
					break
				}
				head.WriteString(line)
			}
			heads <- head.String()
			if _, err := io.WriteString(out, reply); err != nil || !strings.Contains(reply, "Content-Length") {
				return
			}
		}
	}
}

const empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// A testProxy forwards all requests to a legacy store.
type testProxy struct {
	*httptest.Server
	system *proxy.System
	call   proxy.Call
	failed chan error // of each request, nil included
}

// unguarded is a Guard that calls f unconditionally.
func unguarded(ctx context.Context, _, _ string, f func(context.Context) error) error { return f(ctx) }

// newTestProxy returns a front that forwards to base. change, unless nil, changes the options.
func newTestProxy(t *testing.T, base string, change func(*proxy.Options)) *testProxy {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	f := &testProxy{failed: make(chan error, 100), call: proxy.Call{Scheme: "http"}}
	options := proxy.Options{URL: to, KeepHost: true, Timeout: hang, MaxIdle: 4, Guard: unguarded}
	if change != nil {
		change(&options)
	}
	f.system = proxy.New(options)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := f.system.Serve(r.Context(), w, r, f.call)
		f.failed <- err
		var broken *proxy.Broken
		switch {
		case errors.As(err, &broken):
			panic(http.ErrAbortHandler)
		case err != nil:
			http.Error(w, "refused", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(f.Server.Close)
	t.Cleanup(f.system.Close)
	return f
}

func (o *legacySystem) url() string { return "http://" + o.listener.Addr().String() }

// talk sends bytes over a new connection and returns everything that comes back.
func (f *testProxy) talk(t *testing.T, request string) string {
	t.Helper()
	conn := f.dial(t)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *testProxy) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// outcome returns the error of the last forwarded request.
func (f *testProxy) outcome(t *testing.T) error {
	t.Helper()
	return testenv.Receive(t, "the end of the request", f.failed)
}

func TestTargets(t *testing.T) {
	tests := []struct{ name, base, line, want string }{
		{"plain", "", "GET /api/rest/products?limit=1", "GET /api/rest/products?limit=1"},
		{"base path", "/shop", "GET /api/rest/products", "GET /shop/api/rest/products"},
		{"needless escape", "", "GET /api/rest/%63ustomers/%7e", "GET /api/rest/%63ustomers/%7e"},
		{"slash in a segment", "", "GET /a%2Fb", "GET /a%2Fb"},
		{"double slashes", "", "GET /api//rest///x", "GET /api//rest///x"},
		{"double slash first", "", "GET //api/%63rest?x", "GET //api/%63rest?x"},
		{"double slash first, base path", "/shop", "GET //api/rest", "GET /shop//api/rest"},
		{"dots", "", "GET /a/../b/./c", "GET /a/../b/./c"},
		{"semicolons", "", "GET /a;b?c;d=1;e", "GET /a;b?c;d=1;e"},
		{"bad percent in the query", "", "GET /a?x=%zz&y=%", "GET /a?x=%zz&y=%"},
		{"characters not allowed in URLs", "", `GET /a"^{}|\é?"^{}é`, `GET /a"^{}|\é?"^{}é`},
		{"brackets and pluses", "", "GET /p?filter[1][eq]=a+b&filter%5B2%5D", "GET /p?filter[1][eq]=a+b&filter%5B2%5D"},
		{"question mark alone", "", "GET /a?", "GET /a?"},
		{"two question marks", "", "GET /a??b?", "GET /a??b?"},
		{"fragment", "", "GET /a#b?c#d", "GET /a#b?c#d"},
		{"absolute", "", "GET http://shop.example/a%20b?c", "GET /a%20b?c"},
		{"absolute without a path", "", "GET http://shop.example?c", "GET /?c"},
		{"absolute, host alone", "", "GET http://shop.example", "GET /"},
		{"odd method", "", "PURGE /a", "PURGE /a"},
		{"small letters", "", "get /a", "get /a"},
		{"HEAD", "", "HEAD /a", "HEAD /a"},
		{"OPTIONS", "", "OPTIONS /a", "OPTIONS /a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			heads := make(chan string, 1)
			f := newTestProxy(t, newLegacySystem(t, answering(empty, heads)).url()+tt.base, nil)
			got := f.talk(t, tt.line+" HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") {
				t.Fatalf("answered %q", got)
			}
			if line, _, _ := strings.Cut(<-heads, "\r\n"); line != tt.want+" HTTP/1.1" {
				t.Errorf("%q was sent as %q", tt.line, line)
			}
		})
	}
}

func TestRequestHeaders(t *testing.T) {
	none := func(*testProxy) {}
	trusted := func(f *testProxy) { f.call.Trusted = true }
	tests := []struct {
		name     string
		keepHost bool
		with     func(*testProxy)
		sent     []string
		want     []string // sorted; ADDRESS is the legacy store's
	}{
		{"almost no headers", true, none, nil,
			[]string{"Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"unchanged", true, none,
			[]string{"Accept-Encoding: br", "User-Agent: ", "Authorization: OAuth a=\"b\"", "Cookie: a=b", "X-Twice: 1", "X-Twice: 2", "X-Empty:"},
			[]string{"Accept-Encoding: br", "Authorization: OAuth a=\"b\"", "Cookie: a=b", "Host: shop.example:81", "X-Empty: ",
				"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http", "X-Twice: 1", "X-Twice: 2"}},
		{"hop-by-hop", true, none,
			[]string{"Connection: X-Mine, keep-alive", "X-Mine: 1", "Keep-Alive: 5", "Upgrade: websocket", "Proxy-Authorization: x", "TE: trailers"},
			[]string{"Host: shop.example:81", "Te: trailers", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"host of the legacy store", false, none, nil,
			[]string{"Host: ADDRESS", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"claims of an untrusted client", true, none,
			[]string{"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: other", "Forwarded: for=9.9.9.9"},
			[]string{"Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"claims of a trusted proxy", true, trusted,
			[]string{"X-Forwarded-For: 9.9.9.9", "X-Forwarded-For: 8.8.8.8", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: other", "Forwarded: for=9.9.9.9"},
			[]string{"Forwarded: for=9.9.9.9", "Host: shop.example:81", "X-Forwarded-For: 9.9.9.9, 8.8.8.8, 127.0.0.1", "X-Forwarded-Host: other", "X-Forwarded-Proto: https"}},
		{"override headers", true, trusted,
			[]string{"X-Rewrite-URL: /x", "X-Original-URL: /x", "X_Rewrite_URL: /x", "X.Original.URL: /x", "x-http-method-override: DELETE", "X-HTTP-Method: DELETE",
				"X-Method-Override: DELETE", "Proxy: http://other", "X-Original-Price: 1"},
			[]string{"Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http", "X-Original-Price: 1"}},
		{"more claims of an untrusted client", true, none,
			[]string{"X-Real-IP: 9.9.9.9", "X-Forwarded-Port: 9", "X-Forwarded: for=9.9.9.9", "Client-IP: 9.9.9.9", "True-Client-IP: 9.9.9.9", "X-Host: other", "SSL-Offloaded: 1"},
			[]string{"Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"more claims of a trusted proxy", true, trusted,
			[]string{"X-Real-IP: 9.9.9.9", "X-Forwarded-Port: 9", "SSL-Offloaded: 1"},
			[]string{"Host: shop.example:81", "Ssl-Offloaded: 1", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Port: 9", "X-Forwarded-Proto: http", "X-Real-Ip: 9.9.9.9"}},
		{"trusted proxy without claims", true, trusted, nil,
			[]string{"Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
		{"signed again", true, func(f *testProxy) {
			f.call.Sign = func(scheme, host, target string) (string, error) {
				return "OAuth " + scheme + " " + strings.Repeat("*", len(host)) + " " + target, nil
			}
		}, []string{"Authorization: OAuth old"},
			[]string{"Authorization: OAuth http *************** /a?b", "Host: shop.example:81", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example:81", "X-Forwarded-Proto: http"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			heads := make(chan string, 1)
			old := newLegacySystem(t, answering(empty, heads))
			f := newTestProxy(t, old.url(), func(o *proxy.Options) { o.KeepHost = tt.keepHost })
			tt.with(f)
			f.talk(t, "GET /a?b HTTP/1.1\r\nHost: shop.example:81\r\nConnection: close\r\n"+strings.Join(append(tt.sent, ""), "\r\n")+"\r\n")
			lines := strings.Split(strings.TrimSuffix(<-heads, "\r\n"), "\r\n")[1:]
			slices.Sort(lines)
			address := old.listener.Addr().String()
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], "Host: "+address, "Host: ADDRESS")
				lines[i] = strings.ReplaceAll(lines[i], strings.Repeat("*", len(address)), "***************")
			}
			if !slices.Equal(lines, tt.want) {
				t.Errorf("arrived\n%q, want\n%q", lines, tt.want)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	tests := []struct{ name, method, reply, want string }{
		{"bare", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"},
		{"headers", "GET", "HTTP/1.1 201 Made\r\nContent-Length: 0\r\nContent-Type: a/b\r\nDate: Fri\r\nLocation: /x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nWww-Authenticate: OAuth\r\n\r\n",
			"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nContent-Type: a/b\r\nDate: Fri\r\nLocation: /x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nWww-Authenticate: OAuth\r\nConnection: close\r\n\r\n"},
		{"hop-by-hop", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n\r\na",
			"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
		{"compressed", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\nnoat", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnoat"},
		{"in chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"},
		{"until it closes", "GET", "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"trailers", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n"},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Type: a/b\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Type: a/b\r\nConnection: close\r\n\r\n"},
		{"no content", "GET", "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", "HTTP/1.1 204 No Content\r\nX-A: b\r\nConnection: close\r\n\r\n"},
		{"not modified", "GET", "HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\nConnection: close\r\n\r\n"},
		{"interim reply first", "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
		{"failure", "GET", "HTTP/1.1 500 Oh\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
		{"unknown status", "GET", "HTTP/1.1 599 Odd\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 599 status code 599\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newTestProxy(t, newLegacySystem(t, answering(tt.reply, make(chan string, 1))).url(), nil)
			if got := f.talk(t, tt.method+" /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); got != tt.want {
				t.Errorf("answered\n%q, want\n%q", got, tt.want)
			}
			if err := f.outcome(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInvalidReplies checks that nothing is written to the client, and that the error is the
// error of an unavailable system.
func TestInvalidReplies(t *testing.T) {
	tests := []struct {
		name  string
		serve func(*bufio.Reader, net.Conn)
		says  string
	}{
		{"closes", func(in *bufio.Reader, _ net.Conn) { _, _ = http.ReadRequest(in) }, "EOF"},
		{"closes in the middle of the headers", answering("HTTP/1.1 200 OK\r\nContent-Le", make(chan string, 9)), "the legacy store did not send a valid HTTP reply"},
		{"garbage", answering("secret of somebody\r\n\r\n", make(chan string, 9)), "the legacy store did not send a valid HTTP reply"},
		{"garbage in the headers", answering("HTTP/1.1 200 OK\r\nsecret of somebody\r\n\r\n", make(chan string, 9)), "the legacy store did not send a valid HTTP reply"},
		{"two lengths", answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", make(chan string, 9)), "the legacy store did not send a valid HTTP reply"},
		{"another protocol", answering("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", make(chan string, 9)), "the legacy store did not send a valid HTTP reply"},
		{"endless headers", func(_ *bufio.Reader, out net.Conn) {
			if _, err := io.WriteString(out, "HTTP/1.1 200 OK\r\n"); err != nil {
				return
			}
			for {
				if _, err := io.WriteString(out, "X-A: "+strings.Repeat("a", 1<<16)+"\r\n"); err != nil {
					return
				}
			}
		}, "the legacy store did not send a valid HTTP reply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := newLegacySystem(t, tt.serve)
			f := newTestProxy(t, old.url(), nil)
			// A POST, because a transport never retries it; without a body, which could fail first.
			got := f.talk(t, "POST /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.HasSuffix(got, "\r\n\r\nrefused\n") || strings.Contains(got, "X-A") {
				t.Errorf("answered %.300q", got)
			}
			err := f.outcome(t)
			if adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "somebody") {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
			old.awaitClose(t)
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		old := newLegacySystem(t, nil)
		if err := old.listener.Close(); err != nil {
			t.Fatal(err)
		}
		f := newTestProxy(t, old.url(), nil)
		f.talk(t, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if err := f.outcome(t); adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), "connection refused") {
			t.Error(err)
		}
	})
	t.Run("silence", func(t *testing.T) {
		old := newLegacySystem(t, func(in *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, in) })
		f := newTestProxy(t, old.url(), func(o *proxy.Options) { o.Timeout = 10 * time.Millisecond })
		f.talk(t, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if err := f.outcome(t); adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), "timeout") {
			t.Error(err)
		}
		old.awaitClose(t)
	})
	t.Run("refused before it is sent", func(t *testing.T) {
		away := &adapter.Error{Kind: adapter.Unavailable, Op: "x", RetryAfter: time.Second}
		var resource, operation string
		f := newTestProxy(t, newLegacySystem(t, nil).url(), func(o *proxy.Options) {
			o.Guard = func(_ context.Context, r, op string, _ func(context.Context) error) error {
				resource, operation = r, op
				return away
			}
		})
		f.call.Address = contract.Address{Route: &contract.Route{Resource: "orders"}, ReadOnly: true}
		f.talk(t, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if err := f.outcome(t); !errors.Is(err, away) || resource != "orders" || operation != proxy.OperationRead {
			t.Errorf("%v for %s %s", err, operation, resource)
		}
	})
	t.Run("no signature", func(t *testing.T) {
		unsigned := errors.New("unsigned")
		f := newTestProxy(t, newLegacySystem(t, nil).url(), nil)
		f.call.Sign = func(string, string, string) (string, error) { return "", unsigned }
		f.talk(t, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if err := f.outcome(t); !errors.Is(err, unsigned) {
			t.Error(err)
		}
	})
}

// TestNotSent checks the failures for which it is certain that nothing has reached the legacy
// store.
func TestNotSent(t *testing.T) {
	silent := newLegacySystem(t, func(in *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, in) })
	closed := testenv.FreeAddress(t)
	for _, c := range []struct {
		name, base string
		open       bool // the breaker is
		unsent     bool
	}{
		{"nothing listens", "http://" + closed, false, true},
		{"no connection in time", strings.Replace(silent.url(), "http", "https", 1), false, true}, // TLS never begins
		{"no reply in time", silent.url(), false, false},
		{"refused by the breaker", silent.url(), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, err := url.Parse(c.base)
			if err != nil {
				t.Fatal(err)
			}
			guard := unguarded
			if c.open {
				guard = func(context.Context, string, string, func(context.Context) error) error {
					return &adapter.Error{Kind: adapter.Unavailable, Op: "write"}
				}
			}
			system := proxy.New(proxy.Options{URL: to, Timeout: hang, MaxIdle: 1, Guard: guard})
			defer system.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err = system.Send(ctx, http.MethodPost, "/api/rest/products", []byte("{}"), proxy.Call{}, 100)
			var unsent *proxy.NotSentError
			if err == nil || errors.As(err, &unsent) != c.unsent {
				t.Errorf("%v, want a NotSentError: %t", err, c.unsent)
			}
		})
	}
}
