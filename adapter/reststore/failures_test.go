package reststore_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// A failingShop is a migratedShop whose backend can be made to fail. It is used behind a
// guard.
type failingShop struct {
	*migratedShop
	received   atomic.Int64 // requests to the backend since fail
	writes     atomic.Int64 // requests other than GET since fail
	goroutines int          // their number before the shop was opened
}

func openFailingShop(t *testing.T) *failingShop {
	t.Helper()
	return &failingShop{migratedShop: openMigratedShop(t), goroutines: runtime.NumGoroutine()}
}

// openProducts returns the product store behind a guard. Once the guard's breaker opens,
// it stays open.
func (p *failingShop) openProducts(t *testing.T, o guard.Options) (*guard.Guard, adapter.Store) {
	t.Helper()
	metrics, err := guard.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	o.Name, o.Failures, o.OpenFor = "shelf", 3, time.Hour
	g := guard.New(metrics, o)
	store, err := g.Adapter(p.Adapter).Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	return g, store
}

// fail makes the backend answer requests with fault.
func (p *failingShop) fail(fault func(http.ResponseWriter, *http.Request) bool) {
	p.received.Store(0)
	p.writes.Store(0)
	p.shop.setIntercept(func(w http.ResponseWriter, r *http.Request) bool {
		p.received.Add(1)
		if r.Method != http.MethodGet {
			p.writes.Add(1)
		}
		return fault(w, r)
	})
}

// closeAndCheckLeaks closes the adapter and fails unless all connections and goroutines
// end.
func (p *failingShop) closeAndCheckLeaks(t *testing.T) {
	t.Helper()
	p.shop.setIntercept(nil)
	if err := p.Adapter.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(30 * time.Second); p.shop.connections.Load() != 0 || runtime.NumGoroutine() > p.goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d connections, %d goroutines, %d before:\n%s", p.shop.connections.Load(), runtime.NumGoroutine(), p.goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// price returns the price of the first product.
func price(ctx context.Context, store adapter.Store) (string, error) {
	r, err := store.Get(ctx, &adapter.GetParams{Key: 1})
	if err != nil {
		return "", err
	}
	return r.Get("price").Text(), nil
}

func setPrice(ctx context.Context, store adapter.Store, price string) error {
	return store.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
		change := adapter.NewRecord(current.Schema)
		change.Set("price", adapter.TextValue(price))
		return change, nil
	}})
}

// resetConnection resets a connection without sending a response.
func resetConnection(w http.ResponseWriter) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	return true
}

// oversized is the size of a body far above the limit.
const oversized = 100 << 20

// writeOversized writes up to oversized bytes of unfinished JSON and returns how many
// bytes the client accepted.
func writeOversized(w io.Writer) (n int) {
	chunk := []byte(`{"result": {"articles": [], "filling": "` + strings.Repeat("x", 1<<16))
	for n < oversized {
		more, err := w.Write(chunk)
		n += more
		if err != nil {
			break
		}
		chunk = chunk[len(chunk)-1<<16:]
	}
	return n
}

// gzipBomb returns a body of oversized bytes, compressed.
func gzipBomb(t *testing.T) string {
	t.Helper()
	var packed strings.Builder
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	writeOversized(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// TestBackendFailures checks that calls to a failing backend are Unavailable, that the
// guard's breaker opens, that no write is repeated, and that nothing leaks.
func TestBackendFailures(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was redirected to another host") }))
	defer elsewhere.Close()
	answer := func(status int, contentType, body string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", contentType)
			for _, h := range headers {
				name, v, _ := strings.Cut(h, ": ")
				w.Header().Set(name, v)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	const whole = `{"result": {"articles": []}, "meta": {}}`
	for _, c := range []struct {
		name    string
		failure func(http.ResponseWriter, *http.Request) bool
		tries   int64 // how often a read is sent
		after   time.Duration
		o       guard.Options
	}{
		{name: "connection reset", tries: 3, failure: func(w http.ResponseWriter, _ *http.Request) bool { return resetConnection(w) }},
		{name: "no response", tries: 1, o: guard.Options{Timeout: 50 * time.Millisecond}, failure: func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after the body
			<-r.Context().Done()
			return true
		}},
		{name: "stalled body", tries: 1, o: guard.Options{Timeout: 50 * time.Millisecond}, failure: func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			answer(200, "application/json", whole[:20])(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		}},
		{name: "429", tries: 1, after: 30 * time.Second, failure: answer(429, "application/json", `{}`, "Retry-After: 30")},
		{name: "500", tries: 3, failure: answer(500, "application/json", `{"fault": {"code": "BROKEN"}}`)},
		{name: "503 with HTML", tries: 3, failure: answer(503, "text/html", "<html>at once back</html>")},
		{name: "HTML", tries: 1, failure: answer(200, "text/html", "<html>log in</html>")},
		{name: "HTML declared as JSON", tries: 1, failure: answer(200, "application/json", "<html>log in</html>")},
		{name: "wrong content type", tries: 1, failure: answer(200, "text/plain", whole)},
		{name: "truncated JSON", tries: 1, failure: answer(200, "application/json", whole[:20])},
		{name: "truncated body", tries: 3, failure: answer(200, "application/json", whole[:20], "Content-Length: 100")},
		{name: "list instead of object", tries: 1, failure: answer(200, "application/json", `[]`)},
		{name: "redirect to another host", tries: 1, failure: answer(307, "text/html", "", "Location: "+elsewhere.URL+"/articles")},
		{name: "100 MB", tries: 1, failure: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			if n := writeOversized(w); n >= oversized {
				t.Errorf("the client read %d bytes", n)
			}
			return true
		}},
		{name: "gzip bomb", tries: 1, failure: answer(200, "application/json", gzipBomb(t), "Content-Encoding: gzip")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openFailingShop(t)
			_, healthy := p.openProducts(t, guard.Options{})
			was, err := price(t.Context(), healthy)
			if err != nil {
				t.Fatal(err)
			}
			p.fail(c.failure)
			g, store := p.openProducts(t, c.o)
			for i := range 10 {
				_, err := price(t.Context(), store)
				var known *adapter.Error
				if !errors.As(err, &known) || known.Kind != adapter.Unavailable || errors.Is(err, guard.ErrOpen) != (i >= 3) || i < 3 && known.RetryAfter != c.after {
					t.Fatalf("read %d: %v, %+v", i, err, known)
				}
			}
			got, want := p.received.Load(), 3*c.tries
			if c.name == "connection reset" {
				got = min(got, want) // net/http itself retries reads on an idle connection that was closed
			}
			if got != want || !g.Open() {
				t.Errorf("%d requests were sent, want %d; breaker open: %t", got, want, g.Open())
			}

			p.fail(c.failure)
			_, store = p.openProducts(t, c.o)
			for i := range 5 {
				if err := setPrice(t.Context(), store, "77.7700"); adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, guard.ErrOpen) != (i >= 3) {
					t.Fatalf("write %d: %v", i, err)
				}
			}
			if n := p.writes.Load(); n != 0 {
				t.Errorf("%d writes were sent to a backend that cannot be read", n)
			}

			p.shop.setIntercept(nil)
			if is, err := price(t.Context(), healthy); err != nil || is != was {
				t.Errorf("after recovery: price %s (%v), want %s", is, err, was)
			}
			p.closeAndCheckLeaks(t)
		})
	}
}

// TestWriteFailures checks writes to a backend that reads but fails to write: each write
// is sent once, and afterwards the local replica agrees with the backend.
func TestWriteFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		done    bool // the backend completes the write before it fails
		failure func(w http.ResponseWriter)
		kind    adapter.ErrorKind
	}{
		{"connection reset", false, func(w http.ResponseWriter) { resetConnection(w) }, adapter.Unavailable},
		{"500", false, func(w http.ResponseWriter) { w.WriteHeader(500) }, adapter.Unavailable},
		{"429", false, func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) }, adapter.Unavailable},
		{"written, connection reset", true, func(w http.ResponseWriter) { resetConnection(w) }, adapter.Unavailable},
		{"written, 502", true, func(w http.ResponseWriter) { w.WriteHeader(502) }, adapter.Unavailable},
		{"rejected", false, func(w http.ResponseWriter) { reply(w, 400, errorBody("WRONG", "code")) }, adapter.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openFailingShop(t)
			_, store := p.openProducts(t, guard.Options{})
			was, err := price(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			inner := p.shop.routes()
			p.fail(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet {
					return false
				}
				if c.done {
					inner.ServeHTTP(httptest.NewRecorder(), r)
				}
				c.failure(w)
				return true
			})
			if err := setPrice(t.Context(), store, "77.7700"); adapter.KindOf(err) != c.kind || err == nil {
				t.Errorf("%v, want %s", err, c.kind)
			}
			if n := p.writes.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
			p.shop.setIntercept(nil)
			want := was
			if c.done {
				want = "77.7700"
			}
			if is, err := price(t.Context(), store); err != nil || is != want {
				t.Errorf("price %s (%v), want %s", is, err, want)
			}
			p.closeAndCheckLeaks(t)
		})
	}
}

// TestConnectionRefused checks calls when nothing listens on the backend's port.
func TestConnectionRefused(t *testing.T) {
	p := openFailingShop(t)
	g, store := p.openProducts(t, guard.Options{})
	p.shop.CloseClientConnections()
	_ = p.shop.Listener.Close()
	for range 5 {
		if _, err := price(t.Context(), store); adapter.KindOf(err) != adapter.Unavailable || err == nil || strings.Contains(err.Error(), "/articles?") {
			t.Fatal(err)
		}
	}
	if !g.Open() {
		t.Error("the breaker is not open")
	}
	if err := p.Ping(t.Context()); adapter.KindOf(err) != adapter.Unavailable || err == nil {
		t.Errorf("ping: %v", err)
	}
	p.closeAndCheckLeaks(t)
}

// TestConcurrentCallers checks that concurrent callers with an expired session share one
// login and a bounded number of connections, and that canceled callers leak nothing.
func TestConcurrentCallers(t *testing.T) {
	p := openFailingShop(t)
	_, store := p.openProducts(t, guard.Options{MaxInFlight: 100, MaxWait: time.Minute})
	if _, err := price(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	logins := p.shop.logins.Load()
	p.shop.expire()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 4 {
				if _, err := price(t.Context(), store); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := p.shop.logins.Load() - logins; n != 1 {
		t.Errorf("%d logins", n)
	}
	if n := p.shop.connections.Load(); n > 32 {
		t.Errorf("%d connections, want at most 32", n)
	}

	arrived := make(chan struct{}, 100)
	p.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		arrived <- struct{}{}
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 {
		all.Go(func() {
			if _, err := price(ctx, store); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled caller: %v", err)
			}
		})
	}
	for range 20 {
		<-arrived
	}
	cancel()
	all.Wait()
	p.closeAndCheckLeaks(t)
}
