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
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/config/testenv"
)

// A failingShop is a migratedShop whose backend can be made to fail. It is used behind a
// guard.
type failingShop struct {
	*migratedShop
	received   atomic.Int64 // requests to the backend since fail
	writes     atomic.Int64 // requests that change the backend
	goroutines int          // their number before the shop was opened
}

func openFailingShop(t *testing.T, kind *shopKind) *failingShop {
	t.Helper()
	return &failingShop{migratedShop: openShop(t, kind), goroutines: runtime.NumGoroutine()}
}

// openProducts returns the product store behind a guard. Once the guard's breaker opens,
// it stays open.
func (p *failingShop) openProducts(t *testing.T, o guard.Options) (*guard.Guard, adapter.Store) {
	t.Helper()
	metrics := guard.NewMetrics(prometheus.NewRegistry())
	o.Name, o.Failures, o.OpenFor = "shelf", 3, time.Hour
	g := guard.New(metrics, o)
	return g, adaptertest.StoreOf(t, g.Adapter(p.Adapter), adapter.Products)
}

// fail makes the backend answer requests with fault.
func (p *failingShop) fail(fault func(http.ResponseWriter, *http.Request) bool) {
	p.received.Store(0)
	p.writes.Store(0)
	p.server.setIntercept(func(w http.ResponseWriter, r *http.Request) bool {
		p.received.Add(1)
		if p.kind.isWrite(r) {
			p.writes.Add(1)
		}
		return fault(w, r)
	})
}

// closeAndCheckLeaks closes the adapter and fails unless all connections and goroutines
// end.
func (p *failingShop) closeAndCheckLeaks(t *testing.T) {
	t.Helper()
	p.server.setIntercept(nil)
	if err := p.Adapter.Close(); err != nil {
		t.Error(err)
	}
	if !testenv.Poll(t, func() bool { return p.server.connections.Load() == 0 && runtime.NumGoroutine() <= p.goroutines }) {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%d connections, %d goroutines, %d before:\n%s", p.server.connections.Load(), runtime.NumGoroutine(), p.goroutines, stacks[:runtime.Stack(stacks, true)])
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
	for _, kind := range allKinds {
		t.Run(kind.name, func(t *testing.T) {
			for _, c := range testenv.Rows(t, append(failures(t, kind), kind.failures...), 4) {
				t.Run(c.name, func(t *testing.T) { testFailure(t, kind, c) })
			}
		})
	}
}

// A failure is a way in which a backend answers reads.
type failure struct {
	name   string
	answer func(http.ResponseWriter, *http.Request) bool
	tries  int64 // number of times that a read is sent
	after  time.Duration
	o      guard.Options
}

// answer returns an answer with this response.
func answer(status int, contentType, body string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
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

// failures returns the failures that backends of all kinds can have.
func failures(t *testing.T, kind *shopKind) []failure {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was redirected to another host") }))
	t.Cleanup(elsewhere.Close)
	whole := kind.noProducts
	return []failure{
		{name: "connection reset", tries: 3, answer: func(w http.ResponseWriter, _ *http.Request) bool { return resetConnection(w) }},
		{name: "no response", tries: 1, o: guard.Options{Timeout: 400 * time.Millisecond}, answer: func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after the body
			<-r.Context().Done()
			return true
		}},
		{name: "stalled body", tries: 1, o: guard.Options{Timeout: 400 * time.Millisecond}, answer: func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			answer(200, "application/json", whole[:20])(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		}},
		{name: "429", tries: 1, after: 30 * time.Second, answer: answer(429, "application/json", `{}`, "Retry-After: 30")},
		{name: "500", tries: 3, answer: answer(500, "application/json", `{"fault": {"code": "BROKEN"}}`)},
		{name: "503 with HTML", tries: 3, answer: answer(503, "text/html", "<html>at once back</html>")},
		{name: "HTML", tries: 1, answer: answer(200, "text/html", "<html>log in</html>")},
		{name: "HTML declared as JSON", tries: 1, answer: answer(200, "application/json", "<html>log in</html>")},
		{name: "wrong content type", tries: 1, answer: answer(200, "text/plain", whole)},
		{name: "truncated JSON", tries: 1, answer: answer(200, "application/json", whole[:20])},
		{name: "truncated body", tries: 3, answer: answer(200, "application/json", whole[:20], "Content-Length: 100")},
		{name: "list instead of object", tries: 1, answer: answer(200, "application/json", `[]`)},
		{name: "redirect to another host", tries: 1, answer: answer(307, "text/html", "", "Location: "+elsewhere.URL+"/articles")},
		{name: "100 MB", tries: 1, answer: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			if n := writeOversized(w); n >= oversized {
				t.Errorf("the client read %d bytes", n)
			}
			return true
		}},
		{name: "gzip bomb", tries: 1, answer: answer(200, "application/json", gzipBomb(t), "Content-Encoding: gzip")},
	}
}

func testFailure(t *testing.T, kind *shopKind, c failure) {
	p := openFailingShop(t, kind)
	_, healthy := p.openProducts(t, guard.Options{})
	was, err := price(t.Context(), healthy)
	if err != nil {
		t.Fatal(err)
	}
	p.fail(c.answer)
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

	p.fail(c.answer)
	_, store = p.openProducts(t, c.o)
	for i := range 5 {
		if err := adaptertest.Update(t, store, 1, 0, attrs{"price": "77.7700"}); adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, guard.ErrOpen) != (i >= 3) {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	if n := p.writes.Load(); n != 0 {
		t.Errorf("%d writes were sent to a backend that cannot be read", n)
	}

	p.server.setIntercept(nil)
	if is, err := price(t.Context(), healthy); err != nil || is != was {
		t.Errorf("after recovery: price %s (%v), want %s", is, err, was)
	}
	p.closeAndCheckLeaks(t)
}

// TestWriteFailures checks writes to a backend that reads but fails to write: each write
// is sent once, and afterwards the local replica agrees with the backend.
func TestWriteFailures(t *testing.T) {
	for _, kind := range allKinds {
		t.Run(kind.name, func(t *testing.T) {
			for _, c := range append(writeFailures(), kind.writeFailures...) {
				t.Run(c.name, func(t *testing.T) { testWriteFailure(t, kind, c) })
			}
		})
	}
}

// A writeFailure is a way in which a backend answers writes.
type writeFailure struct {
	name   string
	done   bool // the backend completes the write before it fails
	answer func(w http.ResponseWriter)
	kind   adapter.ErrorKind
}

// writeFailures returns the failures that backends of all kinds can have.
func writeFailures() []writeFailure {
	return []writeFailure{
		{"connection reset", false, func(w http.ResponseWriter) { resetConnection(w) }, adapter.Unavailable},
		{"500", false, func(w http.ResponseWriter) { w.WriteHeader(500) }, adapter.Unavailable},
		{"429", false, func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) }, adapter.Unavailable},
		{"written, connection reset", true, func(w http.ResponseWriter) { resetConnection(w) }, adapter.Unavailable},
		{"written, 502", true, func(w http.ResponseWriter) { w.WriteHeader(502) }, adapter.Unavailable},
	}
}

func testWriteFailure(t *testing.T, kind *shopKind, c writeFailure) {
	p := openFailingShop(t, kind)
	_, store := p.openProducts(t, guard.Options{})
	was, err := price(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	inner := p.shop.routes()
	p.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !p.kind.isWrite(r) {
			return false
		}
		if c.done {
			inner.ServeHTTP(httptest.NewRecorder(), r)
		}
		c.answer(w)
		return true
	})
	if err := adaptertest.Update(t, store, 1, 0, attrs{"price": "77.7700"}); adapter.KindOf(err) != c.kind || err == nil {
		t.Errorf("%v, want %s", err, c.kind)
	}
	if n := p.writes.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
	p.server.setIntercept(nil)
	want := was
	if c.done {
		want = "77.7700"
	}
	if is, err := price(t.Context(), store); err != nil || is != want {
		t.Errorf("price %s (%v), want %s", is, err, want)
	}
	p.closeAndCheckLeaks(t)
}

// TestConnectionRefused checks calls when nothing listens on the backend's port.
func TestConnectionRefused(t *testing.T) {
	for _, kind := range allKinds {
		t.Run(kind.name, func(t *testing.T) { testConnectionRefused(t, kind) })
	}
}

func testConnectionRefused(t *testing.T, kind *shopKind) {
	p := openFailingShop(t, kind)
	g, store := p.openProducts(t, guard.Options{})
	p.server.CloseClientConnections()
	_ = p.server.Listener.Close()
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
	for _, kind := range allKinds {
		t.Run(kind.name, func(t *testing.T) { testConcurrentCallers(t, kind) })
	}
}

func testConcurrentCallers(t *testing.T, kind *shopKind) {
	p := openFailingShop(t, kind)
	_, store := p.openProducts(t, guard.Options{MaxInFlight: 100, MaxWait: time.Minute})
	if _, err := price(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	logins := p.server.logins.Load()
	p.server.expire()
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
	if n := p.server.logins.Load() - logins; n != 1 {
		t.Errorf("%d logins", n)
	}
	if n := p.server.connections.Load(); n > 32 {
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
