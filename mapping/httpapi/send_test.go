package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// budget returns a metric of a budget.
func (s *served) budget(t *testing.T, metric, name string) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "portico_budget_"+metric {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == name {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of the budget %s", metric, name)
	return 0
}

// isEmpty fails the test unless a folder has no files.
func isEmpty(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > 0 {
		t.Errorf("the spool holds %v (%v)", entries, err)
	}
}

func noError(context.Context, int) error { return nil }

// TestSpoolIsFull: a list over HTTP/1.0 that does not fit on disk is rejected as a whole, with
// Retry-After, and leaves no files behind.
func TestSpoolIsFull(t *testing.T) {
	folder := t.TempDir()
	s, _ := serveEndlessWith(t, httpapi.Options{SpoolBytes: 100 << 10, SpoolDir: folder}, 1200, noError)
	for range 3 {
		got := s.call(t, strings.Replace(allItems, "1.1", "1.0", 1), "Host: x", admin, "Accept: application/json")
		if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" || got.body != `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}` {
			t.Errorf("%d, Retry-After %q: %.200s", got.StatusCode, got.Header.Get("Retry-After"), got.body)
		}
		if used, refused := s.budget(t, "used", "spool"), s.budget(t, "refused_total", "spool"); used != 0 || refused == 0 {
			t.Errorf("%v bytes are in use after %v refusals", used, refused)
		}
		if lists := s.budget(t, "used", "lists"); lists != 0 {
			t.Errorf("%v lists are in flight", lists)
		}
	}
	isEmpty(t, folder)
	if got := s.call(t, "GET "+item+" HTTP/1.0", "Host: x", admin); got.StatusCode != 200 {
		t.Errorf("a short reply: %d", got.StatusCode)
	}
}

func TestSpoolDir(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir string
		ok  bool
	}{"missing": {t.TempDir() + "/a/b", true}, "no folder": {file, false}} {
		t.Run(name, func(t *testing.T) {
			_, err := mount(t, newEngine(), httpapi.Options{SpoolDir: tt.dir}, unchanged)
			if tt.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "set lists.spool_dir") {
				t.Error(err)
			}
		})
	}
}

// TestSlowClients: replies to slow clients wait in memory up to a limit and on disk beyond it,
// and each client eventually gets its complete reply.
func TestSlowClients(t *testing.T) {
	const (
		clients  = 4
		itemSize = 64 << 10 // of each text: a reply is larger than the buffers of the kernel
		replies  = 8 << 20
	)
	folder := t.TempDir()
	s, upstream := serveEndlessWith(t, httpapi.Options{ReplyBytes: replies, SpoolDir: folder}, 10, noError)
	upstream.textSize = itemSize
	request := []string{"GET /api/rest/stockitems?limit=10 HTTP/1.1", "Host: x", admin, "Accept: text/plain"}
	want := s.call(t, request...)
	size := float64(len(want.body))
	if size < replies/2+1 || size > replies {
		t.Fatalf("a reply has %v bytes: one should fit the memory for replies, and two should not", size)
	}
	slow := make([]*connection, clients)
	for i := range slow {
		slow[i] = s.dial(t)
		slow[i].send(request...)
	}
	testenv.Await(t, "all replies are being sent", func() bool {
		return s.budget(t, "used", "replies")+s.budget(t, "used", "spool") == clients*size
	})
	if used := s.budget(t, "used", "replies"); used != size {
		t.Errorf("%v bytes wait in memory, want those of one reply, %v", used, size)
	}
	for i, c := range slow {
		if got := c.receive("GET"); got.StatusCode != 200 || got.body != want.body || got.ContentLength != int64(size) {
			t.Errorf("client %d: %d, %d bytes, want %v", i, got.StatusCode, len(got.body), size)
		}
	}
	testenv.Await(t, "all is given back", func() bool { return s.budget(t, "used", "replies")+s.budget(t, "used", "spool") == 0 })
	isEmpty(t, folder)
}

// TestSlowClientGone: a client that disconnects in the middle of a reply frees its memory and
// disk space.
func TestSlowClientGone(t *testing.T) {
	s, upstream := serveEndlessWith(t, httpapi.Options{ReplyBytes: 1}, 10, noError)
	upstream.textSize = 100 << 10
	c := s.dial(t)
	c.send("GET /api/rest/stockitems?limit=10 HTTP/1.1", "Host: x", admin)
	testenv.Await(t, "the reply is on disk", func() bool { return s.budget(t, "used", "spool") > 0 })
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, "it is given back", func() bool { return s.budget(t, "used", "spool") == 0 })
	s.end()
	if cut := s.cut(t); cut != 1 {
		t.Errorf("%v replies are counted as cut", cut)
	}
}

// TestGuestRate: Guests are limited by network before any other work; callers with credentials
// are not limited.
func TestGuestRate(t *testing.T) {
	options := httpapi.Options{GuestRate: 0.001, GuestBurst: 2}
	s, _ := serveEndlessWith(t, options, 10, noError)
	const guest = "GET /api/rest/products HTTP/1.1"
	for i, want := range []int{200, 200, 429, 429} {
		got := s.call(t, guest, "Host: x", "Accept: application/json")
		after, _ := strconv.Atoi(got.Header.Get("Retry-After"))
		if got.StatusCode != want || (after > 0) != (want == 429) {
			t.Errorf("call %d: %d, Retry-After %d", i+1, got.StatusCode, after)
		}
		if want == 429 && got.body != `{"messages":{"error":[{"code":429,"message":"Too many requests."}]}}` {
			t.Errorf("call %d: %s", i+1, got.body)
		}
	}
	for name, header := range map[string]string{"an Admin": admin, "wrong credentials": "Authorization: OAuth oauth_consumer_key=x"} {
		if got := s.call(t, guest, "Host: x", header); got.StatusCode == http.StatusTooManyRequests {
			t.Errorf("%s is counted as a Guest", name)
		}
	}
	if got := s.call(t, guest, "Host: x", "Authorization: Basic eDp5"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a Guest with credentials that mean nothing: %d", got.StatusCode)
	}
	if got := s.call(t, "GET /media/catalog/product/x.png HTTP/1.1", "Host: x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("an image: %d", got.StatusCode)
	}
	if limited := s.count(t, "portico_rate_limited_total"); limited != 3 {
		t.Errorf("%v requests are counted as limited, want 3", limited)
	}
}

func TestGuestRateByNetwork(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []string // client addresses, behind a trusted proxy
		want  []int
	}{
		{"IPv4 addresses", []string{"192.0.2.1", "192.0.2.2", "192.0.2.1"}, []int{200, 200, 429}},
		{"one written as IPv6", []string{"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"}, []int{200, 429, 200}},
		{"one /64", []string{"2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:8000::"}, []int{200, 429, 429}},
		{"another /64", []string{"2001:db8::1", "2001:db8:0:1::1"}, []int{200, 200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			options := httpapi.Options{GuestRate: 0.001, GuestBurst: 1, TrustedProxies: prefixes("127.0.0.0/8")}
			s, _ := serveEndlessWith(t, options, 10, noError)
			for i, client := range tt.calls {
				if got := s.call(t, "GET /api/rest/products HTTP/1.1", "Host: x", "X-Forwarded-For: "+client); got.StatusCode != tt.want[i] {
					t.Errorf("call %d of %s: %d, want %d", i+1, client, got.StatusCode, tt.want[i])
				}
			}
		})
	}
}

// TestHeaderBytes: the total size of all headers is limited, even of incomplete requests, and
// connections with small headers are not affected.
func TestHeaderBytes(t *testing.T) {
	connections := httpapi.NewConnections(httpapi.ConnectionLimits{Most: 10_000})
	s, _ := serveEndlessWith(t, httpapi.Options{Connections: connections}, 10, noError)
	s = s.behind(t, connections)
	limit := s.budget(t, "limit", "headers")
	const each = 256 << 10
	header := "GET " + item + " HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", each)
	n := int(limit)/each + 10
	for range n {
		c := s.dial(t)
		// The server does not read beyond the bound: the connection may be closed meanwhile.
		_, _ = io.WriteString(c.conn, header)
	}
	testenv.Await(t, "the headers are read", func() bool { return s.budget(t, "refused_total", "headers") > 0 })
	if used := s.budget(t, "used", "headers"); used > limit || used < limit/2 {
		t.Errorf("%v bytes are held, of %v", used, limit)
	}
	if got := s.call(t, "GET "+item+" HTTP/1.1", "Host: x", admin); got.StatusCode != 200 {
		t.Errorf("a request of usual size: %d", got.StatusCode)
	}
}

// TestHeaderBytesAreFreed: a connection returns its share when its request has been answered,
// and when it is closed.
func TestHeaderBytesAreFreed(t *testing.T) {
	connections := httpapi.NewConnections(httpapi.ConnectionLimits{Most: 10_000})
	s, _ := serveEndlessWith(t, httpapi.Options{Connections: connections}, 10, noError)
	s = s.behind(t, connections)
	long := "X-Long: " + strings.Repeat("x", 100<<10)
	c := s.dial(t)
	for range 3 {
		c.send("GET "+item+" HTTP/1.1", "Host: x", admin, long)
		if got := c.receive("GET"); got.StatusCode != 200 {
			t.Fatalf("%d", got.StatusCode)
		}
		testenv.Await(t, "the headers are freed", func() bool { return s.budget(t, "used", "headers") == 0 })
	}
	c.write("GET " + item + " HTTP/1.1\r\nHost: x\r\n" + long)
	testenv.Await(t, "unfinished headers count", func() bool { return s.budget(t, "used", "headers") > 50<<10 })
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, "they are freed with the connection", func() bool { return s.budget(t, "used", "headers") == 0 })
}
