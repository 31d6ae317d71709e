package reststore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// watchMapping has products whose stock is in a list of its own, which $since does not concern.
const watchMapping = `name: watched
resources:
  products:
    attributes: [name]
    fetch: {path: /p, query: {ids: '$ids | join(",")'}, items: list, batch: 2}
    scan: {path: /p, query: {since: $since}, items: list, where: .kind != "guest", pages: {page: page}}
    joins: [{from: id, as: stock, many: true, path: /stock, query: {of: $ids}, items: stock, id: of}]
    watch:
    - {path: /stock, query: {all: '"1"'}, items: stock, id: of, pages: {page: page, limit: n, size: 2}, every: 1m}
    id: id
    read: '{name: "\([.stock[].n] | tostring)"}'
    without: {create: no, update: no, delete: no}
`

// A watchServer serves watchMapping: no product has changed since any time, and three have entries in the stock.
type watchServer struct {
	mu       sync.Mutex
	stock    []string // entries: the id of the product, a colon and a quantity
	requests []string
	fails    string // the path of requests that fail
}

func (s *watchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.RequestURI())
	q := r.URL.Query()
	var list []string
	for _, e := range s.stock {
		id, n, _ := strings.Cut(e, ":")
		if q.Has("all") || slices.Contains(q["of"], id) {
			list = append(list, fmt.Sprintf(`{"of": %q, "n": %s}`, id, n))
		}
	}
	switch {
	case s.fails != "" && strings.HasPrefix(r.URL.RequestURI(), s.fails):
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/stock" && q.Has("all"):
		from := 0
		_, _ = fmt.Sscan(q.Get("page"), &from)
		from = min(2*(from-1), len(list))
		respond(w, 200, `{"stock": [`+strings.Join(list[from:min(from+2, len(list))], ",")+`]}`)
	case r.URL.Path == "/stock":
		respond(w, 200, `{"stock": [`+strings.Join(list, ",")+`]}`)
	case q.Get("since") != "", q.Has("page") && q.Get("page") != "1":
		respond(w, 200, `{"list": []}`)
	default:
		list = nil
		for _, id := range []string{"a", "b", "c", "guest"} {
			if !q.Has("ids") || slices.Contains(strings.Split(q.Get("ids"), ","), id) {
				list = append(list, fmt.Sprintf(`{"id": %q, "kind": %q}`, id, id))
			}
		}
		respond(w, 200, `{"list": [`+strings.Join(list, ",")+`]}`)
	}
}

// set replaces the stock, and the path of requests that fail.
func (s *watchServer) set(fails string, stock ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.stock, s.requests = fails, stock, nil
}

// A watchTest scans products, and keeps the ids that each scan found.
type watchTest struct {
	*watchServer
	t     *testing.T
	b     *Backend
	watch *watch
	log   strings.Builder
	last  time.Time // the since of the next scan
}

func newWatchTest(t *testing.T) *watchTest {
	t.Helper()
	s := &watchTest{watchServer: &watchServer{}, t: t}
	s.b = serve(t, watchMapping, nil, s.ServeHTTP)
	s.b.log = slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s.watch = s.b.mapping.Resources[adapter.Products].Watch[0]
	return s
}

// due lets the next scan make a pass.
func (s *watchTest) due() {
	if !s.watch.passed.IsZero() {
		s.watch.passed = s.watch.passed.Add(-s.watch.Every)
	}
}

// scan expects what a scan finds: names by id.
func (s *watchTest) scan(want map[string]string) {
	s.t.Helper()
	found := map[string]string{}
	err := s.b.Scan(s.t.Context(), adapter.Products, s.last, func(documents []replica.Document) error {
		for _, d := range documents {
			item, _, err := d.Read(s.t.Context())
			if err != nil {
				return err
			}
			found[d.ID] = item.Record.Get("name").Text()
		}
		return nil
	})
	if err != nil || !maps.Equal(found, want) {
		s.t.Errorf("found %v (%v), want %v", found, err, want)
	}
	s.last = time.Now()
}

// passes returns how often the first page of the list was requested since the last set.
func (s *watchTest) passes() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, "/stock?all=1&n=2&page=1") {
			n++
		}
	}
	return n
}

var allWatched = map[string]string{"a": "[1,2]", "b": "[3]", "c": "[]"}

func TestWatch(t *testing.T) {
	s := newWatchTest(t)
	s.set("", "a:1", "a:2", "b:3", "guest:1")
	s.scan(allWatched)
	if len(s.requests) == 0 || !strings.HasPrefix(s.requests[0], "/stock?all=1") {
		t.Errorf("the pass does not come before the scan: %q", s.requests)
	}
	s.set("", "a:1", "a:5", "b:3", "guest:1")
	s.scan(nil) // too early
	if n := s.passes(); n != 0 {
		t.Errorf("%d passes too early", n)
	}
	s.due()
	s.scan(map[string]string{"a": "[1,5]"})
	s.due()
	s.scan(nil)
	for _, c := range []struct {
		name  string
		stock []string
		want  map[string]string
	}{
		{"a new entry of a known id", []string{"a:1", "a:5", "b:3", "b:4", "guest:1"}, map[string]string{"b": "[3,4]"}},
		{"a new id, a gone one, and another order", []string{"c:7", "guest:1", "a:5", "a:1"}, map[string]string{"b": "[]", "c": "[7]"}},
		{"an id without a document, and one that is not selected", []string{"c:7", "guest:2", "a:5", "a:1", "z:9"}, nil},
		{"nothing is left", nil, map[string]string{"a": "[]", "c": "[]"}},
	} {
		s.set("", c.stock...)
		s.due()
		t.Log(c.name)
		s.scan(c.want)
	}
	if s.log.Len() > 0 {
		t.Errorf("logged %s", &s.log)
	}
}

// TestWatchFailures checks that failures of a pass do not stop a scan, and that nothing is missed: a pass that
// failed while it read the list, while it fetched documents, or while these were stored, is repeated.
func TestWatchFailures(t *testing.T) {
	t.Run("later passes", func(t *testing.T) {
		s := newWatchTest(t)
		s.set("", "a:1", "a:2", "b:3")
		s.scan(allWatched)
		for _, fails := range []string{"/stock?all=1&n=2&page=2", "/p?ids"} {
			s.set(fails, "a:1", "a:2", "b:4")
			s.due()
			s.scan(nil)
			s.scan(nil)
		}
		if n := strings.Count(s.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings: %s", n, &s.log)
		}
		s.set("", "a:1", "a:2", "b:4")
		unstored := errors.New("not stored")
		if err := s.b.Scan(t.Context(), adapter.Products, s.last, func([]replica.Document) error { return unstored }); !errors.Is(err, unstored) {
			t.Errorf("%v, want the error of found", err)
		}
		s.scan(map[string]string{"b": "[4]"})
	})
	t.Run("the first pass", func(t *testing.T) {
		s := newWatchTest(t)
		s.set("/stock?all", "a:1", "a:2", "b:3")
		s.scan(allWatched)
		s.set("", "a:1", "a:2", "b:4")
		s.scan(map[string]string{"a": "[1,2]", "b": "[4]"})
		s.scan(nil)
	})
	t.Run("another scan of all documents", func(t *testing.T) { // such as that of portico ids check
		s := newWatchTest(t)
		s.set("", "a:1", "a:2", "b:3")
		s.scan(allWatched)
		s.set("", "a:1", "a:2", "b:4")
		s.due()
		s.last = time.Time{}
		s.scan(map[string]string{"a": "[1,2]", "b": "[4]", "c": "[]"})
		s.scan(map[string]string{"b": "[4]"})
	})
	t.Run("canceled", func(t *testing.T) {
		s := newWatchTest(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.b.Scan(ctx, adapter.Products, time.Time{}, nil); !errors.Is(err, context.Canceled) || s.log.Len() > 0 {
			t.Errorf("%v, logged %s", err, &s.log)
		}
	})
	t.Run("an entry without an id", func(t *testing.T) {
		s := newWatchTest(t)
		s.set("", ":1")
		s.scan(map[string]string{"a": "[]", "b": "[]", "c": "[]"})
		if !strings.Contains(s.log.String(), "an entry has no id at of") {
			t.Errorf("logged %s", &s.log)
		}
	})
}

func TestWatchErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"without pages", ", pages: {page: page, limit: n, size: 2}", "", "watch[0] needs pages"},
		{"without id", "items: stock, id: of, pages", "items: stock, pages", "watch[0].id must have a value"},
		{"too often", "every: 1m", "every: 10ms", "watch[0].every must be a duration such as 10s from 1s to 24h"},
		{"a batch", "every: 1m", "batch: 5", "watch[0].batch is only allowed in fetch or joins or versions"},
		{"a scan without $since", "query: {since: $since}, ", "", "watch needs a scan that uses $since"},
		{"a version", "    id: id\n", "    id: id\n    version: rev\n", "version must not be used together with watch"},
		{"a variable", `'"1"'`, "$since", "variable not defined: $since; available: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := openSmall(strings.Replace(watchMapping, c.old, c.new, 1)); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
