package proxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// watcher wants the same parts of every exchange and sends the exchanges to a channel.
type watcher struct {
	want CopyWant
	saw  chan *Exchange
}

func newWatcher(want CopyWant) *watcher { return &watcher{want, make(chan *Exchange, 10)} }

func (w *watcher) Wants(*http.Request, *contract.Address) CopyWant { return w.want }
func (w *watcher) Observe(e *Exchange)                             { w.saw <- e }

// next returns the next exchange that the watcher observes.
func (w *watcher) next(t *testing.T) *Exchange {
	t.Helper()
	return testenv.Receive(t, "an exchange", w.saw)
}

const bound = 8

// serve serves a handler with watchers.
func serve(t *testing.T, handler http.HandlerFunc, watchers ...Watcher) *httptest.Server {
	t.Helper()
	return serveWith(t, TapOptions{}, handler, watchers...)
}

// serveWith is serve with further options.
func serveWith(t *testing.T, o TapOptions, handler http.HandlerFunc, watchers ...Watcher) *httptest.Server {
	t.Helper()
	o.Table = contract.NewTable(contract.Routes(contract.StandardFields()))
	o.Scheme = func(*http.Request) string { return "https" }
	o.MaxBody = bound
	server := httptest.NewServer(Tap(handler, o, watchers...))
	t.Cleanup(server.Close)
	return server
}

// send sends a request and returns the status and the body of the reply. The error is the error
// of a body that breaks off.
func send(t *testing.T, server *httptest.Server, method, path string, body io.Reader) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	got, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(got), err
}

func TestBodies(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		SetResult(r.Context(), "admin", true)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Test", "a")
		w.WriteHeader(http.StatusAccepted)
		for half := range bytes.SplitSeq(body, []byte("|")) { // in pieces
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
		}
	}
	for _, c := range []struct {
		name, body string
		want       CopyWant
		copied     string
		cut        bool
	}{
		{"empty", "", Bodies, "", false},
		{"short", "a", Bodies, "a", false},
		{"at the limit", "12345678", Bodies, "12345678", false},
		{"over the limit", "123456789", Bodies, "12345678", true},
		{"in pieces", "1234|5678", Bodies, "12345678", false},
		{"long", strings.Repeat("a", 1<<20), Bodies, "aaaaaaaa", true},
		{"not wanted", "a", Heads, "", true},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				w := newWatcher(c.want)
				var body io.Reader = strings.NewReader(c.body)
				if chunked {
					body = io.MultiReader(body)
				}
				status, got, err := send(t, serve(t, echo, w), "PUT", "/api/rest/stockitems/7?a=1", body)
				if plain := strings.ReplaceAll(c.body, "|", ""); status != http.StatusAccepted || got != plain || err != nil {
					t.Fatalf("the client got %d, %d bytes, %v", status, len(got), err)
				}
				e := w.next(t)
				if string(e.ReplyBody.Bytes) != c.copied || e.ReplyBody.Cut != c.cut {
					t.Errorf("of the reply: %q, cut %t", e.ReplyBody.Bytes, e.ReplyBody.Cut)
				}
				request := c.body[:min(len(c.copied)+strings.Count(c.body, "|"), bound, len(c.body))]
				if c.want == Bodies && string(e.RequestBody.Bytes) != request {
					t.Errorf("of the request: %q", e.RequestBody.Bytes)
				}
				if e.Status != http.StatusAccepted || e.ReplyHeader.Get("X-Test") != "a" || e.Role != "admin" || !e.Legacy || e.Broken ||
					e.Scheme != "https" || e.Name() != "updateStockItem" || e.Request.URL.RawQuery != "a=1" || e.Start.IsZero() {
					t.Errorf("saw %+v", e)
				}
			})
		}
	}
}

// TestSilentHandlers checks that replies that the server sends by itself are observed as well.
func TestSilentHandlers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":       func(http.ResponseWriter, *http.Request) {},
		"only a body":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a")) },
		"only flushing": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(Bodies)
			if status, _, err := send(t, serve(t, handler, w), "GET", "/api/rest/orders", nil); status != http.StatusOK || err != nil {
				t.Fatal(status, err)
			}
			if e := w.next(t); e.Status != http.StatusOK || e.Broken || e.ReplyHeader == nil || e.RequestBody.Cut {
				t.Errorf("saw %+v", e)
			}
		})
	}
}

// TestBodyThatIsNotRead checks that the copy is marked as incomplete, and does not grow when
// the handler continues reading later.
func TestBodyThatIsNotRead(t *testing.T) {
	w := newWatcher(Bodies)
	rest := make(chan io.Reader, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadFull(r.Body, make([]byte, 2)); err != nil {
			t.Error(err)
		}
		rest <- r.Body
	}, w)
	if _, _, err := send(t, server, "POST", "/api/rest/customers", strings.NewReader("abcd")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(<-rest)
	if e := w.next(t); string(e.RequestBody.Bytes) != "ab" || !e.RequestBody.Cut {
		t.Errorf("copied %q, cut %t", e.RequestBody.Bytes, e.RequestBody.Cut)
	}
}

func TestReplyThatBreaksOff(t *testing.T) {
	w := newWatcher(Bodies)
	server := serve(t, func(writer http.ResponseWriter, _ *http.Request) {
		_, _ = writer.Write([]byte("ab"))
		_ = http.NewResponseController(writer).Flush()
		panic(http.ErrAbortHandler)
	}, w)
	if _, _, err := send(t, server, "GET", "/api/rest/orders", nil); err == nil {
		t.Error("the client has not noticed")
	}
	if e := w.next(t); !e.Broken || e.Status != http.StatusOK || string(e.ReplyBody.Bytes) != "ab" {
		t.Errorf("saw %+v", e)
	}
}

// TestWatchers checks that each watcher gets the parts it wants, and that only watchers of
// requests outside the interface get these.
func TestWatchers(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("abc")) }
	nothing, heads, bodies, outside := newWatcher(WantNothing), newWatcher(Heads), newWatcher(Bodies), newWatcher(Heads)
	server := serveWith(t, TapOptions{Outside: []Watcher{outside}}, handler, nothing, heads, bodies)
	for _, path := range []string{"/api/rest/orders", "/media/a.jpg", "/api/rest/none"} {
		if _, got, err := send(t, server, "GET", path, nil); got != "abc" || err != nil {
			t.Fatal(got, err)
		}
	}
	server.Close() // when all handlers have returned
	if len(nothing.saw) != 0 || len(heads.saw) != 2 || len(bodies.saw) != 2 {
		t.Errorf("saw %d, %d, %d", len(nothing.saw), len(heads.saw), len(bodies.saw))
	}
	if e := outside.next(t); len(outside.saw) != 0 || !e.Outside() || e.Request.URL.Path != "/media/a.jpg" || e.Status != http.StatusOK {
		t.Errorf("saw %+v", e)
	}
	if e := bodies.next(t); e.Outside() || e.Name() != "listOrders" || string(e.ReplyBody.Bytes) != "abc" {
		t.Errorf("saw %+v", e)
	}
	if e := bodies.next(t); e.Name() != "other" {
		t.Errorf("saw %+v", e)
	}
	plain := http.HandlerFunc(handler)
	if _, tapped := Tap(plain, TapOptions{}).(http.HandlerFunc); !tapped {
		t.Error("without watchers there is something in between")
	}
	alone := newWatcher(WantNothing)
	if _, got, err := send(t, serve(t, handler, alone), "GET", "/api/rest/orders", nil); got != "abc" || err != nil || len(alone.saw) != 0 {
		t.Error(got, err, len(alone.saw))
	}
	SetResult(t.Context(), "admin", true) // no watcher
}
