package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// An abundance is an upstream with any number of stock items, generated on demand.
type endlessUpstream struct {
	adapter.Adapter
	items int64
	// textSize is the length of every text of an item; 0 is 20.
	textSize int
	// asked is told of every list before it is made, the first is 1.
	asked func(ctx context.Context, list int) error
	mu    sync.Mutex
	lists int
}

// Store returns the made items, or a store of the real upstream.
func (a *endlessUpstream) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if r == adapter.StockItems {
		return &generatedItems{store, a}, err
	}
	return store, err
}

type generatedItems struct {
	adapter.Store
	*endlessUpstream
}

// List returns the items of a query that says no more than from where on and how
// many.
func (m *generatedItems) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	m.mu.Lock()
	m.lists++
	list := m.lists
	m.mu.Unlock()
	if err := m.asked(ctx, list); err != nil {
		return nil, err
	}
	first := int64(1)
	if p.Query.After != nil {
		first = int64(p.Query.After.Key) + 1
	}
	schema := adapter.NewSchemas().Of(adapter.StockItems)
	result := &adapter.ListResult{}
	for id := first; id <= m.items && int64(len(result.Records)) < p.Query.Limit; id++ {
		item := adapter.NewRecord(schema)
		for i := range item.Values {
			item.Values[i] = adapter.TextValue(strings.Repeat("9", cmp.Or(m.textSize, 20)))
		}
		item.Set(schema.Key, adapter.IntegerValue(id))
		result.Records = append(result.Records, item)
	}
	return result, nil
}

// serveEndless serves the given number of stock items.
func serveEndless(t *testing.T, items int64, asked func(context.Context, int) error) (*served, *endlessUpstream) {
	t.Helper()
	return serveEndlessWith(t, httpapi.Options{}, items, asked)
}

func serveEndlessWith(t *testing.T, options httpapi.Options, items int64, asked func(context.Context, int) error) (*served, *endlessUpstream) {
	t.Helper()
	upstream := &endlessUpstream{items: items, asked: asked}
	return serveUpstream(t, options, func(real adapter.Adapter) adapter.Adapter {
		upstream.Adapter = real
		return upstream
	}), upstream
}

const allItems = "GET /api/rest/stockitems?limit=0 HTTP/1.1"

// end closes the server after its last request.
func (s *served) end() { s.server.Close() }

// linesOf returns the log lines of the given level.
func (s *served) linesOf(t *testing.T, level string) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(s.lines(t), func(line map[string]any) bool { return line["level"] != level })
}

// cut returns how many replies the metrics say were cut.
func (s *served) cut(t *testing.T) (replies float64) {
	t.Helper()
	return s.count(t, "portico_replies_cut_total")
}

// count returns the sum of a counter over its labels.
func (s *served) count(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestLongList: a list longer than a batch is sent without a length, and logged with its size.
func TestLongList(t *testing.T) {
	s, upstream := serveEndless(t, 1501, func(context.Context, int) error { return nil })
	got := s.call(t, allItems, "Host: x", admin, "Accept: text/plain")
	if got.StatusCode != 200 || got.ContentLength != -1 || !slices.Equal(got.TransferEncoding, []string{"chunked"}) || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d, length %d, %v", got.StatusCode, got.ContentLength, got.TransferEncoding)
	}
	if !strings.HasPrefix(got.body, "0%5Bitem_id%5D=1&") || !strings.Contains(got.body, "&1500%5Bitem_id%5D=1501&") || strings.Contains(got.body, "&1501%5B") {
		t.Errorf("the list begins with %.60s and has %d bytes", got.body, len(got.body))
	}
	if upstream.lists != 4 {
		t.Errorf("%d lists, want 501, 500, 500 and none", upstream.lists)
	}
	s.end()
	if rows := s.count(t, "portico_rows_streamed_total"); rows != 1501 {
		t.Errorf("%v rows are counted", rows)
	}
	line := s.lines(t)[0]
	if line["status"] != 200.0 || line["bytes"] != float64(len(got.body)) || line["cut"] != nil {
		t.Errorf("logged %v", line)
	}
}

// TestBrokenList: a list that breaks off never looks complete, and the log contains the
// cause.
func TestBrokenList(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		fail       func() error
		message    string
	}{
		{"upstream fails", "error", func() error {
			return &adapter.Error{Kind: adapter.Unavailable, Op: "list stock_items", Err: errors.New("disk of glass")}
		}, "list interrupted"},
		{"internal error", "panic", func() error { panic("disk of glass") }, "panic"},
	} {
		for _, accept := range []string{"application/json", "text/xml", "text/plain"} {
			t.Run(c.name+" "+accept, func(t *testing.T) {
				s, upstream := serveEndless(t, 5000, func(_ context.Context, list int) error {
					if list == 3 {
						return c.fail()
					}
					return nil
				})
				conn := s.dial(t)
				conn.send(allItems, "Host: x", admin, "Accept: "+accept)
				response, err := http.ReadResponse(conn.in, &http.Request{Method: "GET"})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
				body, err := io.ReadAll(response.Body)
				if !errors.Is(err, io.ErrUnexpectedEOF) || response.StatusCode != 200 || !strings.Contains(string(body), "501") {
					t.Errorf("%d, %d bytes, %v", response.StatusCode, len(body), err)
				}
				s.end()
				if upstream.lists != 3 {
					t.Errorf("%d lists were read", upstream.lists)
				}
				failures := s.linesOf(t, "ERROR")
				if len(failures) != 1 || failures[0]["msg"] != c.message || failures[0]["call"] != "listStockItems" || !strings.Contains(s.log.String(), "disk of glass") {
					t.Errorf("logged %v", failures)
				}
				requests := s.linesOf(t, "INFO")
				if len(requests) != 1 || requests[0]["cut"] != true || requests[0]["status"] != 200.0 || requests[0]["bytes"] != float64(len(body)) {
					t.Errorf("logged %v, the body has %d bytes", requests, len(body))
				}
				written := 0
				for _, id := range []string{`"item_id":`, "<item_id>", "%5Bitem_id%5D="} { // in each format
					written += strings.Count(string(body), id)
				}
				if rows := s.count(t, "portico_rows_streamed_total"); rows != float64(written) || written == 0 {
					t.Errorf("%v rows are counted, %d were written", rows, written)
				}
				if cut := s.cut(t); cut != 1 {
					t.Errorf("%v replies are counted as cut", cut)
				}
			})
		}
	}
}

// TestListOfOldClient: a client for which the end of the connection is the end of the body gets
// the list with its length, or an error.
func TestListOfOldClient(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s, _ := serveEndless(t, 1200, func(_ context.Context, list int) error {
			if fails && list == 3 {
				return &adapter.Error{Kind: adapter.Unavailable, Op: "list stock_items"}
			}
			return nil
		})
		got := s.call(t, strings.Replace(allItems, "1.1", "1.0", 1), "Host: x", admin, "Accept: text/plain")
		if got.ContentLength != int64(len(got.body)) || len(got.body) == 0 {
			t.Errorf("length %d of %d bytes", got.ContentLength, len(got.body))
		}
		whole := strings.Contains(got.body, "&1199%5Bitem_id%5D=1200&")
		if fails && (got.StatusCode != 503 || !strings.HasPrefix(got.body, "messages%5Berror%5D")) || !fails && (got.StatusCode != 200 || !whole) {
			t.Errorf("fails %t: %d %.80s", fails, got.StatusCode, got.body)
		}
		s.end()
		if rows := s.count(t, "portico_rows_streamed_total"); rows != 0 {
			t.Errorf("%v rows are counted as streamed", rows)
		}
		if failures := s.linesOf(t, "ERROR"); (len(failures) == 1) != fails {
			t.Errorf("fails %t: logged %v", fails, failures)
		}
	}
}

// TestClientGone: reading stops when the client disconnects, which is not an error.
func TestClientGone(t *testing.T) {
	reached := make(chan struct{})
	s, upstream := serveEndless(t, 1<<40, func(ctx context.Context, list int) error {
		if list < 3 {
			return nil
		}
		close(reached)
		<-ctx.Done()
		return ctx.Err()
	})
	conn := s.dial(t)
	conn.send(allItems, "Host: x", admin)
	go func() { _, _ = io.Copy(io.Discard, conn.in) }()
	<-reached
	if err := conn.conn.Close(); err != nil {
		t.Fatal(err)
	}
	s.end()
	if upstream.lists != 3 {
		t.Errorf("%d lists were read", upstream.lists)
	}
	if failures := s.linesOf(t, "ERROR"); len(failures) != 0 {
		t.Errorf("logged %v", failures)
	}
	if requests := s.linesOf(t, "INFO"); len(requests) != 1 || requests[0]["cut"] != true {
		t.Errorf("logged %v", requests)
	}
}

// TestLongListTakesLittleMemory: memory use between batches does not grow with the number of
// batches.
func TestLongListTakesLittleMemory(t *testing.T) {
	const (
		items = 50_000
		bound = 4 << 20
	)
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var least, most uint64
	s, upstream := serveEndless(t, items, func(_ context.Context, list int) error {
		now := inUse()
		if list == 1 {
			least = now
		}
		most = max(most, now)
		return nil
	})
	conn := s.dial(t)
	conn.send(allItems, "Host: x", admin)
	response, err := http.ReadResponse(conn.in, &http.Request{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	size, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	s.end()
	if upstream.lists != items/500 || size < 4*bound {
		t.Errorf("%d lists, %d bytes", upstream.lists, size)
	}
	if most-least > bound {
		t.Errorf("%d bytes more are in use than before the list, of %d", most-least, size)
	}
}

// TestTimeLimit: work stops before the time limit, which leaves time for an error reply.
func TestTimeLimit(t *testing.T) {
	s, upstream := serveEndlessWith(t, httpapi.Options{WriteTimeout: 50 * time.Millisecond}, 1000, func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	})
	got := s.call(t, allItems, "Host: x", admin, "Accept: application/json")
	if got.StatusCode != 503 || got.body != `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	s.end()
	if failures := s.linesOf(t, "ERROR"); len(failures) != 1 || failures[0]["error"] != context.DeadlineExceeded.Error() || upstream.lists != 1 {
		t.Errorf("%d lists, logged %v", upstream.lists, failures)
	}
}

func TestNoTimeLimit(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		s, _ := serveEndlessWith(t, httpapi.Options{WriteTimeout: limit}, 1, func(ctx context.Context, _ int) error {
			if _, limited := ctx.Deadline(); limited != (limit > 0) {
				t.Errorf("of %s: limited %t", limit, limited)
			}
			return nil
		})
		if got := s.call(t, allItems, "Host: x", admin); got.StatusCode != 200 {
			t.Errorf("%d %s", got.StatusCode, got.body)
		}
	}
}
