package compare_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

const (
	product = "/api/rest/products/1"
	widget  = `{"entity_id":"1","sku":"widget"}`
	gadget  = `{"entity_id":"1","sku":"gadget"}`
)

// A rig is a system that answers clients, and another that a Shadow asks.
type rig struct {
	shadow   *compare.Shadow
	mu       sync.Mutex
	outcomes map[string]int // of reads
	fields   map[string]int // that differ
	front    http.Handler
	asked    atomic.Int64
	// Handlers of the two systems; both answer widget by default.
	serve http.HandlerFunc
	ask   func(context.Context) (*compare.Answer, error)
}

func answer(body string) func(context.Context) (*compare.Answer, error) {
	return func(context.Context) (*compare.Answer, error) {
		return &compare.Answer{Status: http.StatusOK, ContentType: "application/json", Body: []byte(body)}, nil
	}
}

func serves(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// encoded returns a handler that serves a body under the name of a content coding.
func encoded(coding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		serves(body)(w, r)
	}
}

// compressed returns a handler that serves a body compressed.
func compressed(body string) http.HandlerFunc {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	return encoded("gzip", packed.String())
}

// newRig returns a rig whose workers end with the test.
func newRig(t *testing.T, change func(*compare.ShadowOptions)) *rig {
	t.Helper()
	r := &rig{outcomes: map[string]int{}, fields: map[string]int{}, serve: serves(widget), ask: answer(widget)}
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	options := compare.ShadowOptions{
		Rules:  proxy.Rules{{Resource: "products", To: proxy.Legacy, Shadow: true}},
		Sample: 1, MaxInFlight: 1, Queue: 4, Timeout: time.Minute, Samples: 2,
		Bases:  func(*proxy.Exchange) [2]string { return [2]string{} },
		Target: func(e *proxy.Exchange) string { return e.Request.RequestURI },
		Count:  func(_, outcome string) { r.count(r.outcomes, outcome) },
		Differ: func(_, field string) { r.count(r.fields, field) },
		Log:    slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&options)
	}
	options.Ask = func(ctx context.Context, _ *proxy.Exchange) (*compare.Answer, error) {
		r.asked.Add(1)
		return r.ask(ctx)
	}
	r.shadow = compare.NewShadow(options)
	t.Cleanup(func() { _ = r.shadow.Close() })
	r.front = r.shadow.PrioritizeClients(proxy.Tap(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.serve(w, q) }), proxy.TapOptions{
		Table: table, MaxBody: 2 << 10, Scheme: func(*http.Request) string { return "http" },
	}, r.shadow))
	return r
}

// call sends a client's request and returns the reply.
func (r *rig) call(method, target string) string {
	w := httptest.NewRecorder()
	r.front.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Body.String()
}

func (r *rig) count(counts map[string]int, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts[name]++
}

// outcome returns the number of reads with an outcome.
func (r *rig) outcome(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[name]
}

// outcomeCount returns the number of different outcomes so far.
func (r *rig) outcomeCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.outcomes)
}

// differs returns how often the field differed.
func (r *rig) differs(field string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fields[field]
}

// TestSelection: only reads of the contract on shadowed routes are compared, and of these the
// configured share.
func TestSelection(t *testing.T) {
	for _, tt := range []struct {
		name, method, target string
		sample               float64
		asked                int64
	}{
		{"read", "GET", product, 1, 1},
		{"read with a query", "GET", "/api/rest/products?limit=1", 1, 1},
		{"sample of 0", "GET", product, 0, 0},
		{"write", "PUT", product, 1, 0},
		{"head", "HEAD", product, 1, 0},
		{"another resource", "GET", "/api/rest/orders", 1, 0},
		{"no route", "GET", "/api/rest/nothing", 1, 0},
		{"no call", "GET", "/api/rest/products/1/websites/1", 1, 0},
		{"outside", "GET", "/media/catalog/product/a.png", 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(o *compare.ShadowOptions) { o.Sample = tt.sample })
				if got := r.call(tt.method, tt.target); got != widget {
					t.Errorf("the client gets %q", got)
				}
				synctest.Wait()
				if got := r.asked.Load(); got != tt.asked {
					t.Errorf("asked %d times, want %d", got, tt.asked)
				}
			})
		})
	}
}

// TestOutcomes checks the outcome of one read.
func TestOutcomes(t *testing.T) {
	breaks := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, widget[:7])
		panic(http.ErrAbortHandler)
	}
	for _, tt := range []struct {
		name    string
		serve   http.HandlerFunc
		ask     func(context.Context) (*compare.Answer, error)
		outcome string
		asked   int64
	}{
		{"the same", serves(widget), answer(widget), "same", 1},
		{"a field", serves(widget), answer(gadget), "different", 1},
		{"the other system is down", serves(widget), func(context.Context) (*compare.Answer, error) { return nil, errors.New("away") }, "failed", 1},
		{"the other system panics", serves(widget), func(context.Context) (*compare.Answer, error) { panic("odd") }, "failed", 1},
		{"the other system hangs", serves(widget), func(ctx context.Context) (*compare.Answer, error) { <-ctx.Done(); return nil, ctx.Err() }, "failed", 1},
		{"a long reply", serves(strings.Repeat(" ", 3<<10)), answer(widget), "incomparable", 0},
		{"a compressed reply", compressed(widget), answer(widget), "same", 1},
		{"another compressed reply", compressed(gadget), answer(widget), "different", 1},
		{"a reply that is long when it is unpacked", compressed(strings.Repeat(" ", compare.MaxShadowBody+1)), answer(widget), "incomparable", 0},
		{"a reply that is compressed otherwise", encoded("br", widget), answer(widget), "incomparable", 0},
		{"a reply that is not compressed as it says", encoded("gzip", widget), answer(widget), "incomparable", 0},
		{"not modified", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, answer(widget), "incomparable", 0},
		{"a part of a reply", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) }, answer(widget), "incomparable", 0},
		{"unavailable", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, answer(widget), "incomparable", 0},
		{"a reply that breaks off", breaks, answer(widget), "incomparable", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.serve, r.ask = tt.serve, tt.ask
				func() {
					defer func() { _ = recover() }()
					r.call("GET", product)
				}()
				time.Sleep(2 * time.Minute) // longer than a question may take
				if got := r.outcome(tt.outcome); got != 1 || r.asked.Load() != tt.asked {
					t.Errorf("%s %d times, asked %d times; want once and %d", tt.outcome, got, r.asked.Load(), tt.asked)
				}
				if got := r.shadow.Counts(); len(got) != 1 || got[0].Call != "getProduct" || got[0].Outcomes[tt.outcome] != 1 || len(got[0].Outcomes) != 1 ||
					(len(got[0].Fields) > 0) != (tt.outcome == "different") {
					t.Errorf("counts %+v", got)
				}
				if got := r.outcomeCount(); got != 1 {
					t.Errorf("one read ended in %d ways", got)
				}
			})
		})
	}
}

// TestCounts: the counts say when the last difference was, and how many answers have been the
// same since, under new options too.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		bodies := make(chan string, 4)
		for _, body := range []string{widget, gadget, widget, widget} {
			bodies <- body
		}
		r.ask = func(ctx context.Context) (*compare.Answer, error) { return answer(<-bodies)(ctx) }
		read := func() {
			r.call("GET", product)
			time.Sleep(time.Minute)
		}
		since := time.Now()
		read()
		read()
		different := time.Now().Add(-time.Minute)
		next := r.shadow.With(r.shadow.ShadowOptions)
		defer func() { _ = next.Close() }()
		read()
		read()
		got := next.Counts()
		if len(got) != 1 || got[0].Outcomes["same"] != 3 || got[0].Outcomes["different"] != 1 || got[0].Fields["sku"] != 1 || got[0].SameSince != 2 ||
			!got[0].LastDifferent.Equal(different) || !got[0].Last.Equal(time.Now().Add(-time.Minute)) || !next.Since().Equal(since) {
			t.Errorf("since %v: %+v", next.Since(), got)
		}
		got[0].Outcomes["same"] = 100
		if next.Counts()[0].Outcomes["same"] != 3 {
			t.Error("the counts are not copies")
		}
	})
}

// TestClientsDoNotWait: while the other system hangs, clients are served, a few reads
// queued, and the rest is dropped before it is copied.
func TestClientsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		release := make(chan struct{})
		r.ask = func(context.Context) (*compare.Answer, error) { <-release; return answer(widget)(nil) }
		start := time.Now()
		const calls = 20
		for range calls {
			if got := r.call("GET", product); got != widget {
				t.Fatalf("the client gets %q", got)
			}
			synctest.Wait()
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("clients waited %s", waited)
		}
		const asked, queued = 1, 4
		if got := r.outcome("dropped"); got != calls-asked-queued {
			t.Errorf("%d are dropped, want %d", got, calls-asked-queued)
		}
		close(release)
		synctest.Wait()
		if got := r.outcome("same"); got != asked+queued {
			t.Errorf("%d are compared, want %d", got, asked+queued)
		}
	})
}

// TestClose: Close ends comparisons that hang.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.ask = func(ctx context.Context) (*compare.Answer, error) { <-ctx.Done(); return nil, ctx.Err() }
		r.call("GET", product)
		synctest.Wait()
		start := time.Now()
		if err := r.shadow.Close(); err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// TestWith: comparisons under new options continue with the results of the earlier ones, which
// finish their queue.
func TestWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		release := make(chan struct{})
		r.ask = func(context.Context) (*compare.Answer, error) { <-release; return answer(`{"name":"other"}`)(nil) }
		r.call("GET", product)
		r.call("GET", product)
		synctest.Wait()
		options := r.shadow.ShadowOptions
		options.Samples, options.Sample = 1, 0
		next := r.shadow.With(options)
		defer func() { _ = next.Close() }()
		finished := make(chan struct{})
		go func() { r.shadow.Finish(); close(finished) }()
		synctest.Wait()
		select {
		case <-finished:
			t.Error("ended before its comparisons")
		default:
		}
		if next.Idle() {
			t.Error("the comparisons before are forgotten")
		}
		close(release)
		<-finished
		if got := r.outcome("different"); got != 2 || !next.Idle() {
			t.Errorf("%d are different, want 2; idle %t", got, next.Idle())
		}
		fields := map[string]bool{}
		for _, sample := range next.Samples() {
			fields[sample.Field] = true
		}
		if got := len(next.Samples()); got == 0 || got != len(fields) {
			t.Errorf("%d samples of %d fields, want one for each", got, len(fields))
		}
	})
}

// TestBeginWrite: differences do not count while a write is in progress, even if it is not compared
// itself.
func TestBeginWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.ask = answer(`{"name":"other"}`)
		end := r.shadow.BeginWrite()
		r.call("GET", product)
		time.Sleep(time.Minute)
		end()
		r.call("GET", product)
		time.Sleep(time.Minute)
		if unsure, different := r.outcome("unsure"), r.outcome("different"); unsure != 1 || different != 1 {
			t.Errorf("%d unsure and %d different, want one of each", unsure, different)
		}
	})
}

// TestPauses: while clients send requests, comparisons take a twentieth of the time;
// without clients, all of it.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		const took = 100 * time.Millisecond
		r.ask = func(context.Context) (*compare.Answer, error) { time.Sleep(took); return answer(widget)(nil) }
		for range 4 {
			r.call("GET", product)
		}
		start := time.Now()
		busy := func(until time.Duration) {
			for time.Since(start) < until {
				time.Sleep(5 * time.Millisecond)
				r.call("GET", "/api/rest/orders")
			}
		}
		busy(20 * took)
		if got := r.asked.Load(); got != 1 {
			t.Errorf("asked %d times, want one and a rest", got)
		}
		busy(22 * took)
		if got := r.asked.Load(); got != 2 {
			t.Errorf("asked %d times, want two after the rest", got)
		}
		time.Sleep(3 * took)
		if got := r.asked.Load(); got != 4 {
			t.Errorf("asked %d times, want four as soon as nobody calls", got)
		}
	})
}

// TestWriteMeanwhile: a difference that a write may have caused is inconclusive.
func TestWriteMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name    string
		during  func(r *rig)
		outcome string
	}{
		{"nothing", func(*rig) {}, "different"},
		{"a read", func(r *rig) { r.call("GET", "/api/rest/orders") }, "different"},
		{"a write", func(r *rig) { r.call("PUT", "/api/rest/stockitems/1") }, "unsure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				asked, release := make(chan struct{}), make(chan struct{})
				r.ask = func(context.Context) (*compare.Answer, error) { close(asked); <-release; return answer(gadget)(nil) }
				r.call("GET", product)
				<-asked
				time.Sleep(time.Millisecond) // clocks have to tell the two apart
				tt.during(r)
				close(release)
				synctest.Wait()
				if got := r.outcome(tt.outcome); got != 1 {
					t.Errorf("%s %d times, want once", tt.outcome, got)
				}
			})
		})
	}
}

// TestSamples: the latest samples of each call and field are stored masked, and served.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *compare.ShadowOptions) {
			o.Target = func(e *proxy.Exchange) string { return strings.ReplaceAll(e.Request.RequestURI, "secret", "masked") }
		})
		r.ask = answer(gadget)
		for _, target := range []string{product, product + "?a=1", product + "?b=secret"} {
			r.call("GET", target)
			time.Sleep(time.Second)
		}
		if n := r.differs("sku"); n != 3 {
			t.Errorf("%d differences of sku, want 3", n)
		}
		w := httptest.NewRecorder()
		r.shadow.ServeHTTP(w, httptest.NewRequest("GET", "/shadow", nil))
		var got []compare.ShadowSample
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0].Target != product+"?a=1" || got[1].Target != product+"?b=masked" {
			t.Fatalf("samples %s", w.Body)
		}
		if s := got[0]; s.Call != "getProduct" || s.Field != "sku" || *s.Legacy != `"gadget"` || *s.Candidate != `"widget"` {
			t.Errorf("sample %s", w.Body)
		}
	})
}
