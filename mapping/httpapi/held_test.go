package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/mapping/httpapi"
)

// A writesListener counts the writes of one piece on its connections.
type writesListener struct {
	net.Listener
	writes atomic.Int64
}

// Accept waits for the next connection.
func (l *writesListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &writesConn{conn.(*net.TCPConn), &l.writes}, nil
}

// A writesConn is a connection on which several pieces can be written at once.
type writesConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

// Write writes one piece.
func (c *writesConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// writesOf returns how many writes of one piece a call on c takes.
func (l *writesListener) writesOf(c *connection, method, path string) (writes int64, got reply) {
	before := l.writes.Load()
	c.send(method+" "+path+" HTTP/1.1", "Host: x", admin)
	got = c.receive(method)
	return l.writes.Load() - before, got
}

// listenForWrites serves a handler that counts its connections.
func listenForWrites(t *testing.T, handler http.Handler, connections *httpapi.Connections) (*writesListener, *served) {
	t.Helper()
	s := &served{}
	server := httptest.NewUnstartedServer(handler)
	listener := &writesListener{Listener: server.Listener}
	server.Listener = connections.Listener(listener)
	server.Config.ConnContext, server.Config.ConnState = connections.Context, connections.State
	server.Start()
	s.start(t, server)
	return listener, s
}

// TestHeldPieces sends replies of all sizes around the buffer of net/http on one connection: each is complete, and
// takes one call of the system.
func TestHeldPieces(t *testing.T) {
	t.Parallel()
	connections := httpapi.NewConnections(httpapi.ConnectionLimits{Most: 10})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		httpapi.HoldFirst(r, size)
		w.Header().Set("Content-Length", strconv.Itoa(size))
		fmt.Fprint(w, strings.Repeat("x", size)) // a client that is gone fails the test elsewhere
	})
	listener, s := listenForWrites(t, handler, connections)
	c := s.dial(t)
	sizes := []int{1, 2, 1000, 64 << 10, 1 << 20}
	for size := 3500; size < 4500; size++ {
		sizes = append(sizes, size)
	}
	for _, size := range append(sizes, 1) {
		writes, got := listener.writesOf(c, "GET", "/"+strconv.Itoa(size))
		if len(got.body) != size || writes > 1 {
			t.Fatalf("a reply of %d bytes came as %d bytes in %d writes", size, len(got.body), writes)
		}
	}
}

// TestListsAreWrittenAtOnce checks that a list takes one call of the system, and that a reply without its body is
// sent.
func TestListsAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	connections := httpapi.NewConnections(httpapi.ConnectionLimits{Most: 10})
	upstream, _ := serveEndlessWith(t, httpapi.Options{Connections: connections}, 100, noError)
	listener, s := listenForWrites(t, upstream.server.Config.Handler, connections)
	c := s.dial(t)
	for _, limit := range []int{1, 3, 4, 5, 6, 10, 100} {
		path := "/api/rest/stockitems?limit=" + strconv.Itoa(limit)
		writes, got := listener.writesOf(c, "GET", path)
		if got.StatusCode != http.StatusOK || strings.Count(got.body, `"item_id"`) != limit || writes > 1 {
			t.Errorf("%d items: %d in %d writes: %.200s", limit, got.StatusCode, writes, got.body)
		}
		if _, head := listener.writesOf(c, "HEAD", path); head.body != "" {
			t.Errorf("%d items: HEAD has a body of %d bytes", limit, len(head.body))
		}
	}
}

// TestCutReplies checks that a reply reaches the client although middleware has made its body smaller, or has kept it
// back, and that the next reply on the connection does.
func TestCutReplies(t *testing.T) {
	t.Parallel()
	connections := httpapi.NewConnections(httpapi.ConnectionLimits{Most: 10})
	upstream, _ := serveEndlessWith(t, httpapi.Options{Connections: connections}, 100, noError)
	for name, cut := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"length changed": func(w http.ResponseWriter) http.ResponseWriter { return &cutWriter{ResponseWriter: w, length: "3"} },
		"length removed": func(w http.ResponseWriter) http.ResponseWriter { return &cutWriter{ResponseWriter: w} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := upstream.server.Config.Handler
			_, s := listenForWrites(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Cut") != "" {
					w = cut(w)
				}
				if r.Method == "HEAD" {
					r = r.Clone(r.Context())
					r.Method = "GET" // net/http drops the body
				}
				api.ServeHTTP(w, r)
			}), connections)
			c := s.dial(t)
			for range 2 {
				c.send("GET /api/rest/stockitems?limit=100 HTTP/1.1", "Host: x", admin, "X-Cut: 1")
				if got := c.receive("GET"); got.StatusCode != http.StatusOK || got.body != "cut" {
					t.Errorf("a cut reply: %d %.100q", got.StatusCode, got.body)
				}
				c.send("HEAD /api/rest/stockitems?limit=100 HTTP/1.1", "Host: x", admin)
				if got := c.receive("HEAD"); got.StatusCode != http.StatusOK || got.ContentLength < 10_000 {
					t.Errorf("without its body: %d, %d bytes declared", got.StatusCode, got.ContentLength)
				}
				c.send("GET /api/rest/stockitems?limit=100 HTTP/1.1", "Host: x", admin)
				if got := c.receive("GET"); got.StatusCode != http.StatusOK || strings.Count(got.body, `"item_id"`) != 100 {
					t.Errorf("the whole list: %d %.100q", got.StatusCode, got.body)
				}
			}
			c.send("HEAD /api/rest/stockitems?limit=100 HTTP/1.1", "Host: x", admin, "Connection: close")
			if got := c.receive("HEAD"); got.StatusCode != http.StatusOK {
				t.Errorf("without its body, at the end: %d", got.StatusCode)
			}
		})
	}
}

// A cutWriter replaces a body by "cut".
type cutWriter struct {
	http.ResponseWriter
	length string // that it declares; "" for none
	done   bool
}

// WriteHeader writes the headers with another length.
func (w *cutWriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	if w.length != "" {
		w.Header().Set("Content-Length", w.length)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes the new body once.
func (w *cutWriter) Write(p []byte) (int, error) {
	if w.done {
		return len(p), nil
	}
	w.done = true
	_, err := w.ResponseWriter.Write([]byte("cut"))
	return len(p), err
}
