package reststore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

type attrs = adaptertest.Attributes

// tinyMapping is a mapping of customers. Its %s is a place for more members of connection.
const tinyMapping = `name: tiny
connection:
  limits: {timeout: 2s, response_bytes: 64KiB, depth: 8}
  retry: {attempts: 3, budget: 1, wait: 1ms, max_wait: 3s}
  ping: {path: /ping}
%s
resources:
  customers:
    attributes: [email, group_id]
    references: {group_id: customer_groups}
    fetch: {path: /c, query: {ids: '$ids | join(",")'}, items: data.list, batch: 2}
    scan: {path: /c, query: {since: $since, all: '"yes"'}, items: data.list, pages: {offset: offset, limit: limit, size: 2}}
    find: {path: /c, query: {legacy: $key}, items: data.list}
    id: id
    key: .legacy
    read: '{email: .mail, group_id_ref: .group}'
    create: [{method: POST, path: /c, body: '{mail: .new.email}', id: .id}]
    update: [{method: PATCH, path: '/c/{.id}', body: '{mail: .new.email}'}]
    delete: [{method: DELETE, path: '/c/{.id}'}]
`

// serve opens a mapping with handle as its backend.
func serve(t testing.TB, content string, ids IDs, handle http.HandlerFunc) *Backend {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return openAt(t, content, ids, s.URL)
}

func openAt(t testing.TB, content string, ids IDs, url string) *Backend {
	t.Helper()
	b, err := Open(Options{Mapping: []byte(content), File: "test.yaml", URL: url, User: "u", Secret: "hush", IDs: ids, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// tinyMappingWith returns tinyMapping with more members of connection.
func tinyMappingWith(more string) string { return fmt.Sprintf(tinyMapping, more) }

// respond sends a JSON response.
func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// value returns the sum of the metrics in a vector that have these labels.
func value(t testing.TB, c prometheus.Collector, labels ...string) float64 {
	t.Helper()
	metrics := make(chan prometheus.Metric, 1000)
	c.Collect(metrics)
	close(metrics)
	sum := 0.0
	for m := range metrics {
		var out dto.Metric
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		all := true
		for _, label := range labels {
			all = all && slices.ContainsFunc(out.Label, func(l *dto.LabelPair) bool { return l.GetValue() == label })
		}
		if all {
			sum += out.GetCounter().GetValue() + out.GetGauge().GetValue() + float64(out.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func customer(email string) adapter.Record {
	return attrs{"email": email}.Record(schemas.Of(adapter.Customers))
}

// TestResponses checks the errors that responses mean, for a read and for a write.
func TestResponses(t *testing.T) {
	rules := tinyMappingWith(`
  errors:
    - {when: '.body.type == "twin"', kind: conflict, field: .body.on, reason: .body.type}
    - {when: '.text | test("maintenance")', kind: unavailable}
    - {when: '.headers["x-gone"] == "1"', kind: not_found}
    - {when: '.body.ok == false', kind: invalid, any_status: true}
    - {when: '.status == 418 and .body.type', reason: .body.type}`)
	for _, c := range []struct {
		name        string
		status      int
		contentType string
		header      string
		body        string
		write, read adapter.ErrorKind // ignored if ok
		ok          bool
		field       string
		after       time.Duration
		want        string // part of the read's error
	}{
		{name: "success", status: 200, body: `{"data": {"list": []}, "id": "x"}`, ok: true},
		{name: "no content type", status: 200, contentType: "-", body: `{"data": {"list": []}, "id": "x"}`, ok: true},
		{name: "another JSON type", status: 201, contentType: "application/hal+json; charset=utf-8", body: `{"data": {"list": null}, "id": 7}`, ok: true},
		{name: "not found", status: 404, write: adapter.NotFound, read: adapter.Internal, want: "status 404"},
		{name: "gone", status: 410, write: adapter.NotFound, read: adapter.Internal},
		{name: "conflict", status: 409, write: adapter.Conflict, read: adapter.Internal},
		{name: "invalid", status: 422, body: `{"message": "someone@example.com is taken"}`, write: adapter.Invalid, read: adapter.Internal},
		{name: "forbidden", status: 403, write: adapter.Internal, read: adapter.Internal, want: "status 403: check rest.user and rest.secret"},
		{name: "too many requests", status: 429, header: "Retry-After: 7", write: adapter.Unavailable, read: adapter.Unavailable, after: 7 * time.Second},
		{name: "server error", status: 500, contentType: "text/html", body: "<html>", write: adapter.Unavailable, read: adapter.Unavailable},
		{name: "matching rule", status: 400, body: `{"type": "twin", "on": "email"}`, write: adapter.Conflict, read: adapter.Internal, field: "email", want: `status 400, "twin"`},
		{name: "rule with unknown field", status: 400, body: `{"type": "twin", "on": "colour"}`, write: adapter.Conflict, read: adapter.Internal},
		{name: "rule on text", status: 400, contentType: "text/plain", body: "maintenance", write: adapter.Unavailable, read: adapter.Unavailable},
		{name: "rule on headers", status: 400, header: "X-Gone: 1", write: adapter.NotFound, read: adapter.Internal},
		{name: "rule on success status", status: 200, body: `{"ok": false}`, write: adapter.Invalid, read: adapter.Internal},
		{name: "rule without kind", status: 418, body: `{"type": "teapot"}`, write: adapter.Invalid, read: adapter.Internal, want: `status 418, "teapot"`},
		{name: "rule whose expression fails", status: 400, body: `["x"]`, write: adapter.Invalid, read: adapter.Internal},
		{name: "redirect to another host", status: 302, header: "Location: http://u:hidden@elsewhere.example/c?token=hidden", write: adapter.Unavailable, read: adapter.Unavailable, want: `not following the redirect to "http://elsewhere.example"`},
		{name: "HTML", status: 200, contentType: "text/html", body: "<html>log in</html>", write: adapter.Unavailable, read: adapter.Unavailable, want: "its type is not JSON"},
		{name: "HTML declared as JSON", status: 200, body: "<html>log in</html>", write: adapter.Unavailable, read: adapter.Unavailable, want: "cannot read the response"},
		{name: "truncated JSON", status: 200, body: `{"data": {"list": [], "id": `, write: adapter.Unavailable, read: adapter.Unavailable},
		{name: "data after JSON", status: 200, body: `{"data": {"list": []}, "id": 1} {}`, write: adapter.Unavailable, read: adapter.Unavailable, want: "data after the JSON value"},
		{name: "too large", status: 200, body: `{"data": {"list": []}, "id": "` + strings.Repeat("x", 64<<10) + `"}`, write: adapter.Unavailable, read: adapter.Unavailable, want: "larger than response_bytes"},
		{name: "list instead of object", status: 200, body: `{"data": []}`, write: adapter.Internal, read: adapter.Unavailable},
		{name: "object instead of list", status: 200, body: `{"data": {"list": {}}}`, write: adapter.Internal, read: adapter.Unavailable, want: "data.list is not a list"},
		{name: "document without id", status: 200, body: `{"data": {"list": [{"id": null}]}}`, write: adapter.Internal, read: adapter.Unavailable},
		{name: "id of wrong type", status: 200, body: `{"data": {"list": [{"id": {}}]}, "id": true}`, write: adapter.Internal, read: adapter.Unavailable},
		{name: "no content", status: 204, write: adapter.Internal, read: adapter.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, rules, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch c.contentType {
				case "":
				case "-":
					w.Header()["Content-Type"] = nil
				default:
					w.Header().Set("Content-Type", c.contentType)
				}
				if name, v, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(name, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			check := func(what string, err error, kind adapter.ErrorKind) {
				t.Helper()
				var known *adapter.Error
				switch {
				case c.ok && err != nil:
					t.Errorf("%s: %v", what, err)
				case c.ok:
				case !errors.As(err, &known) || known.Kind != kind:
					t.Errorf("%s: %v, want %s", what, err, kind)
				case known.RetryAfter != c.after || known.Field != c.field && what == "create":
					t.Errorf("%s: field %q, after %s", what, known.Field, known.RetryAfter)
				case what == "fetch" && !strings.Contains(err.Error(), c.want):
					t.Errorf("%s: %v, want %q", what, err, c.want)
				}
				for _, hidden := range []string{"someone", "hidden", "hush", "127.0.0.1"} {
					if err != nil && strings.Contains(err.Error(), hidden) {
						t.Errorf("%s: error %v reveals %q", what, err, hidden)
					}
				}
			}
			_, err := b.Create(t.Context(), &replica.Write{Resource: adapter.Customers, Key: 1, New: customer("someone@example.com")})
			check("create", err, c.write)
			_, err = b.Fetch(t.Context(), adapter.Customers, []string{"someone"})
			check("fetch", err, c.read)
		})
	}
}

// A scriptedTransport answers requests by their number, starting at 1.
type scriptedTransport struct {
	mu     sync.Mutex
	n      int
	answer func(n int, r *http.Request) (*http.Response, error)
	at     []time.Time
}

func (s *scriptedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	return s.answer(n, r)
}

func httpResponse(status int, body string, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		r.Header.Set(name, v)
	}
	return r
}

const noCustomers = `{"data": {"list": []}}`

// TestRetries checks the requests that are repeated, how often and when, on a fake clock.
func TestRetries(t *testing.T) {
	lost := errors.New("connection reset")
	for _, c := range []struct {
		name    string
		write   bool
		answers []*http.Response // nil: connection error; the last one repeats
		sent    int
		ok      bool
		least   time.Duration // minimum time between the first two attempts
		after   time.Duration
	}{
		{name: "success", answers: []*http.Response{httpResponse(200, noCustomers)}, sent: 1, ok: true},
		{name: "connection lost once", answers: []*http.Response{nil, httpResponse(200, noCustomers)}, sent: 2, ok: true},
		{name: "busy twice", answers: []*http.Response{httpResponse(503, ""), httpResponse(502, ""), httpResponse(200, noCustomers)}, sent: 3, ok: true},
		{name: "always busy", answers: []*http.Response{httpResponse(500, "")}, sent: 3},
		{name: "short Retry-After", answers: []*http.Response{httpResponse(429, "", "Retry-After: 2"), httpResponse(200, noCustomers)}, sent: 2, ok: true, least: 2 * time.Second},
		{name: "long Retry-After", answers: []*http.Response{httpResponse(429, "", "Retry-After: 60")}, sent: 1, after: time.Minute},
		{name: "invalid Retry-After", answers: []*http.Response{httpResponse(429, "", "Retry-After: soon"), httpResponse(200, noCustomers)}, sent: 2, ok: true},
		{name: "not found", answers: []*http.Response{httpResponse(404, "")}, sent: 1},
		{name: "not JSON", answers: []*http.Response{httpResponse(200, "<html>")}, sent: 1},
		{name: "write with lost connection", write: true, answers: []*http.Response{nil}, sent: 1},
		{name: "write with too many requests", write: true, answers: []*http.Response{httpResponse(429, "", "Retry-After: 1")}, sent: 1, after: time.Second},
		{name: "write that may be repeated", write: true, answers: []*http.Response{httpResponse(400, `{"code": "deadlock"}`), httpResponse(200, "{}")}, sent: 2, ok: true},
		{name: "write with server error", write: true, answers: []*http.Response{httpResponse(500, "")}, sent: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rule := "errors: [{when: '.body.code == \"deadlock\"', kind: unavailable, repeat: true}]\n  ping:"
				b := openAt(t, strings.Replace(tinyMappingWith(""), "ping:", rule, 1), nil, "http://tiny.example")
				seen := map[string]bool{}
				s := &scriptedTransport{answer: func(n int, r *http.Request) (*http.Response, error) {
					seen[r.Header.Get("X-Request-Id")] = true
					answer := c.answers[min(n, len(c.answers))-1]
					if answer == nil {
						return nil, lost
					}
					return answer, nil
				}}
				b.client.resty.SetTransport(s)
				var err error
				if c.write {
					err = b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "1"})
				} else {
					_, err = b.Fetch(t.Context(), adapter.Customers, []string{"1"})
				}
				var known *adapter.Error
				if (err == nil) != c.ok || err != nil && (!errors.As(err, &known) || known.RetryAfter != c.after) {
					t.Errorf("%v", err)
				}
				if s.n != c.sent || len(seen) != 1 || seen[""] {
					t.Errorf("%d requests, ids %v; want %d of one id", s.n, seen, c.sent)
				}
				if len(s.at) > 1 && s.at[1].Sub(s.at[0]) < c.least {
					t.Errorf("sent again after %s", s.at[1].Sub(s.at[0]))
				}
			})
		})
	}
	t.Run("caller's deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := openAt(t, tinyMappingWith(""), nil, "http://tiny.example")
			s := &scriptedTransport{answer: func(int, *http.Request) (*http.Response, error) { return httpResponse(503, "", "Retry-After: 2"), nil }}
			b.client.resty.SetTransport(s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			if _, err := b.Fetch(ctx, adapter.Customers, []string{"1"}); adapter.KindOf(err) != adapter.Unavailable || time.Since(start) != 0 || s.n != 1 {
				t.Errorf("%v after %s and %d requests", err, time.Since(start), s.n)
			}
		})
	})
	t.Run("retry budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := openAt(t, strings.Replace(tinyMappingWith(""), "budget: 1,", "budget: 0.1,", 1), nil, "http://tiny.example")
			s := &scriptedTransport{answer: func(int, *http.Request) (*http.Response, error) { return nil, lost }}
			b.client.resty.SetTransport(s)
			const calls = 1000
			for range calls {
				if _, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"}); adapter.KindOf(err) != adapter.Unavailable {
					t.Fatal(err)
				}
			}
			if most := calls + calls/10 + maxBudget; s.n > most || s.n < calls+calls/20 {
				t.Errorf("%d requests for %d calls, want at most %d", s.n, calls, most)
			}
			if value(t, b.metrics.retries, "budget") == 0 || value(t, b.metrics.requests, "fetch", "unavailable") != float64(s.n) {
				t.Error("retries denied by the budget are not counted")
			}
		})
	})
	t.Run("timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := openAt(t, tinyMappingWith(""), nil, "http://tiny.example")
			s := &scriptedTransport{answer: func(_ int, r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}}
			b.client.resty.SetTransport(s)
			if _, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"}); !errors.Is(err, errTimeout) || adapter.KindOf(err) != adapter.Unavailable || s.n != 3 {
				t.Errorf("%v after %d requests", err, s.n)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := b.Fetch(ctx, adapter.Customers, []string{"1"}); !errors.Is(err, context.Canceled) || s.n != 4 {
				t.Errorf("%v after %d requests", err, s.n)
			}
		})
	})
	for _, limit := range []int64{2, 12} {
		t.Run(fmt.Sprintf("%d requests in flight", limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openAt(t, strings.Replace(tinyMappingWith(""), "depth: 8", fmt.Sprintf("depth: 8, in_flight: %d", limit), 1), nil, "http://tiny.example")
				var mu sync.Mutex
				var now, most int64
				count := func(change int64) {
					mu.Lock()
					defer mu.Unlock()
					now += change
					most = max(most, now)
				}
				b.client.resty.SetTransport(&scriptedTransport{answer: func(int, *http.Request) (*http.Response, error) {
					count(1)
					time.Sleep(time.Millisecond)
					count(-1)
					return httpResponse(200, noCustomers), nil
				}})
				ids := make([]string, 40)
				for i := range ids {
					ids[i] = fmt.Sprint(i)
				}
				if _, err := b.Fetch(t.Context(), adapter.Customers, ids); err != nil || most != limit {
					t.Errorf("%v, %d in flight", err, most)
				}
			})
		})
	}
}

func TestRedirects(t *testing.T) {
	var there, here atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { there.Add(1) }))
	defer other.Close()
	for _, c := range []struct {
		name, to string
		ok       bool
		sent     int64
	}{
		{"within the host", "/c/", true, 2},
		{"elsewhere", other.URL + "/c", false, 1},
		{"without end", "/again", false, maxRedirects + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			here.Store(0)
			b := serve(t, strings.Replace(tinyMappingWith(""), "attempts: 3", "attempts: 1", 1), nil, func(w http.ResponseWriter, r *http.Request) {
				here.Add(1)
				if r.URL.Path == "/c/" {
					respond(w, 200, noCustomers)
					return
				}
				http.Redirect(w, r, c.to, http.StatusTemporaryRedirect)
			})
			_, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"})
			if (err == nil) != c.ok || here.Load() != c.sent || there.Load() != 0 {
				t.Errorf("%v after %d requests, %d elsewhere", err, here.Load(), there.Load())
			}
			here.Store(0)
			err = b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "1"})
			if adapter.KindOf(err) != adapter.Unavailable || here.Load() != 1 || there.Load() != 0 {
				t.Errorf("a write: %v after %d requests", err, here.Load())
			}
		})
	}
}

func TestPing(t *testing.T) {
	status := http.StatusOK
	b := serve(t, tinyMappingWith(""), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ping" {
			t.Errorf("request %s", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	if err := b.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for _, status = range []int{401, 404, 500} {
		if err := b.Ping(t.Context()); adapter.KindOf(err) != adapter.Unavailable || err == nil {
			t.Errorf("status %d: %v", status, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
