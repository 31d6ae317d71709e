package contracttests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// TestClientKeepsConnections checks that reads share connections, as far as the server lets them, and that each
// write has one of its own.
func TestClientKeepsConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	used := map[string]int{} // requests, by the address of the client
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		used[r.RemoteAddr]++
		if r.URL.Path == "/api/rest/last" {
			w.Header().Set("Connection", "close")
		}
	}))
	t.Cleanup(srv.Close)
	c := newTestClient(t, srv.URL)
	do := func(method, path string) {
		t.Helper()
		if got, err := c.Do(t.Context(), &Step{As: Guest, Method: method, Path: path}); err != nil || got.Status != http.StatusOK {
			t.Errorf("%s %s: %+v, %v", method, path, got, err)
		}
	}
	opened := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(used)
	}
	for _, tt := range []struct {
		method, path string
		want         int // connections so far
	}{
		{"GET", "/a", 1}, {"GET", "/b", 1}, {"POST", "/c", 2}, {"DELETE", "/c", 3}, {"GET", "/last", 3}, {"GET", "/d", 4}, {"GET", "/e", 4},
	} {
		if do(tt.method, tt.path); opened() != tt.want {
			t.Errorf("after %s %s: %d connections, want %d", tt.method, tt.path, opened(), tt.want)
		}
	}
	const together, each = 8, 25
	var group sync.WaitGroup
	for range together {
		group.Go(func() {
			for range each {
				do("GET", "/f")
			}
		})
	}
	group.Wait()
	if most := 4 + together - 1; opened() > most {
		t.Errorf("%d connections, want at most %d", opened(), most)
	}
	c.Close()
	if do("GET", "/g"); len(c.connections.idle) != 1 {
		t.Errorf("%d idle connections, want the one of the read after Close", len(c.connections.idle))
	}
}

// TestClosedIdleConnections checks that a read is sent again on a new connection, with another signature, if the
// server has closed the idle one, without a word or with a status, and that an answer on a kept connection counts
// otherwise.
func TestClosedIdleConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, farewell string
		wait           bool // the farewell comes after the second request
		status         int  // of the second request
		connections    int
	}{
		{name: "closed", status: 200, connections: 2},
		{name: "closed with a status", farewell: httpReply(408, ""), status: 200, connections: 2},
		{name: "closed after the request", wait: true, status: 200, connections: 2},
		{name: "closed within the answer", farewell: "HTTP/1.1 2", wait: true, status: 200, connections: 2},
		{name: "answered with an error", farewell: httpReply(503, ""), wait: true, status: 503, connections: 1},
		{name: "cut short", farewell: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", wait: true, connections: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			answered, closed, opened := make(chan struct{}), make(chan struct{}), 0
			var requests sync.Map
			read := func(in *bufio.Reader) error {
				request, err := readRequest(in)
				if _, seen := requests.LoadOrStore(request, true); seen && err == nil {
					t.Errorf("the same request comes twice: %s", request)
				}
				return err
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					in := bufio.NewReader(conn)
					if read(in) == nil {
						_, _ = io.WriteString(conn, httpReply(200, "ok"))
					}
					if opened++; opened == 1 {
						if <-answered; tt.wait {
							_ = read(in)
						}
						_, _ = io.WriteString(conn, tt.farewell)
						_ = conn.Close()
						close(closed)
						continue
					}
					serving.Go(func() { // until the client closes it
						_, _ = in.ReadByte()
						_ = conn.Close()
					})
				}
			})
			credentials := testCredentials
			credentials.Signature = HMACSHA1
			c, err := NewClient(Target{BaseURL: fmt.Sprintf("http://%s", listener.Addr()), Credentials: credentials})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				c.Close()
				_ = listener.Close()
				serving.Wait()
				if opened != tt.connections {
					t.Errorf("%d connections, want %d", opened, tt.connections)
				}
			})
			get := func() int {
				got, err := c.Do(t.Context(), &Step{As: Admin, Method: http.MethodGet, Path: "/products"})
				if err != nil {
					return 0
				}
				return got.Status
			}
			if got := get(); got != 200 {
				t.Errorf("first read: status %d", got)
			}
			if close(answered); !tt.wait {
				<-closed
			}
			if got := get(); got != tt.status {
				t.Errorf("second read: status %d, want %d", got, tt.status)
			}
		})
	}
}
