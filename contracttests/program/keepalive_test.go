//go:build linux

package program

import (
	"bufio"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestCachedRepliesOfOneConnection checks that cached replies are the same, and are logged,
// counted and limited like any other, whether they are the first of their connection or not.
func TestCachedRepliesOfOneConnection(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, []string{"PORTICO_LIMITS_GUEST_RATE=0.001", "PORTICO_LIMITS_GUEST_BURST=6"}, "--demo")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.Contract, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	ask := func(id string, fields ...string) (status int, described string) {
		head := fmt.Sprintf("GET /api/rest/products/1 HTTP/1.1\r\nHost: shop.example\r\nAccept: application/json\r\nX-Request-Id: %s\r\n%s\r\n", id, strings.Join(fields, ""))
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		reply, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Header.Get("X-Request-Id"); got != id {
			t.Errorf("request id %q, want %q", got, id)
		}
		for _, name := range []string{"X-Request-Id", "Date", "X-Cache"} {
			reply.Header.Del(name)
		}
		// The link to the cart has another key each time.
		text, _, _ := strings.Cut(string(body), "form_key")
		return reply.StatusCode, fmt.Sprint(reply.StatusCode, reply.Header, text)
	}
	_, first := ask("a")
	for _, id := range []string{"b", "c"} {
		if _, got := ask(id); got != first {
			t.Errorf("reply %s:\n%s\nthe first:\n%s", id, got, first)
		}
	}
	tag := apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", "", "Accept", "application/json", "Host", "shop.example").Header.Get("Etag")
	if status, _ := ask("d", "If-None-Match: "+tag+"\r\n"); status != http.StatusNotModified {
		t.Errorf("status %d with the tag %s, want 304", status, tag)
	}
	if status, _ := ask("e", "Version: 0\r\n"); status != http.StatusBadRequest {
		t.Errorf("status %d for version 0, want 400", status)
	}
	if status, _ := ask("f"); status != http.StatusTooManyRequests {
		t.Errorf("status %d beyond the rate, want 429", status)
	}
	scrape := apptest.ScrapeMetrics(t, p.Ops)
	for status, want := range map[string]float64{"200": 4, "304": 1, "400": 1, "429": 1} {
		if got := scrape.Sum("portico_requests_total", fmt.Sprintf(`status=%q`, status)); got != want {
			t.Errorf("%v requests with status %s, want %v", got, status, want)
		}
	}
	if got := scrape.Sum("portico_requests_in_flight"); got != 0 {
		t.Errorf("%v requests in flight, want none", got)
	}
	p.Stop(t)
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		if got := strings.Count(p.Stderr.Text(), "request_id="+id+" "); got != 1 {
			t.Errorf("%d lines about request %s, want one", got, id)
		}
	}
}

// TestHeadersOfOneConnection checks that the headers of requests that are answered from the cache do not
// count against the budget of headers, however many there are on a connection.
func TestHeadersOfOneConnection(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, nil, "--demo", "--log-level", "error")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.Contract, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	const requests = 200 // 200 KB of headers, of which 16 KB would not count
	for range requests {
		head := "GET /api/rest/products/1 HTTP/1.1\r\nHost: shop.example\r\nAccept: application/json\r\nX-Padding: " + strings.Repeat("a", 1000) + "\r\n\r\n"
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		reply, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, reply.Body); err != nil || reply.StatusCode != http.StatusOK {
			t.Fatal(reply.StatusCode, err)
		}
	}
	if used := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_budget_used", `budget="headers"`); used != 0 {
		t.Errorf("the headers of %d requests hold %v bytes, want none", requests, used)
	}
}
