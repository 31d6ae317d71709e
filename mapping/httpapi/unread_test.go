package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/mapping/httpapi"
)

// A pipeListener accepts connections in memory, whose time a test can pass.
type pipeListener struct {
	accepts chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

// Accept waits for the next connection.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepts:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (l *pipeListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// Addr returns a dummy address.
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// serveRefusals answers 403 to everybody, and returns a function that opens a connection.
func serveRefusals(t *testing.T, limits httpapi.ConnectionLimits) (dial func() net.Conn) {
	connections := httpapi.NewConnections(limits)
	l := &pipeListener{accepts: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{
		ConnContext: connections.Context, ConnState: connections.State, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "refused", http.StatusForbidden) }),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(connections.Listener(l)) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		connections.Wait(context.Background())
		<-served
	})
	return func() net.Conn {
		server, client := net.Pipe()
		l.accepts <- server
		return client
	}
}

// refuse begins a request with a body of a gigabyte and reads its refusal.
func refuse(t *testing.T, client net.Conn) {
	t.Helper()
	if _, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reply, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || reply.StatusCode != http.StatusForbidden {
		t.Fatalf("%v, %v", reply, err)
	}
}

// sendUntilClosed sends pieces of a size in bytes, with a pause between them, until the server
// closes the connection. It returns the number of bytes that it sent and the time that it took.
func sendUntilClosed(client net.Conn, size int, pause time.Duration) (sent int, took time.Duration) {
	began, piece := time.Now(), make([]byte, size)
	for {
		n, err := client.Write(piece)
		sent += n
		if err != nil {
			return sent, time.Since(began)
		}
		time.Sleep(pause)
	}
}

// TestUnreadIsLimited checks for how long, and how much, the server reads of requests that it has refused.
func TestUnreadIsLimited(t *testing.T) {
	limits := httpapi.ConnectionLimits{Most: 8, UnreadBytes: 4 << 20, UnreadTime: time.Minute}
	const inBuffers = 16 << 10 // bytes that net/http has read before
	for name, tt := range map[string]struct {
		size        int
		pause       time.Duration
		least, most int
		atLeast     time.Duration
		atMost      time.Duration
	}{
		"fast":         {64 << 10, 0, 4 << 20, 4<<20 + inBuffers, 0, time.Second},
		"slow":         {8 << 10, time.Second, 400 << 10, 500 << 10, 58 * time.Second, 63 * time.Second},
		"too slow":     {1, time.Second, 1, 20, 4 * time.Second, 7 * time.Second},
		"nothing":      {0, time.Second, 0, 0, 4 * time.Second, 7 * time.Second},
		"ever slower":  {10, 20 * time.Second, 0, 20, 4 * time.Second, 41 * time.Second},
		"in one piece": {1 << 30, 0, 4 << 20, 4<<20 + inBuffers, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serveRefusals(t, limits)()
				refuse(t, client)
				sent, took := sendUntilClosed(client, tt.size, tt.pause)
				if sent < tt.least || sent > tt.most || took < tt.atLeast || took > tt.atMost {
					t.Errorf("closed after %d bytes and %s", sent, took)
				}
			})
		})
	}
}

// TestUnreadAtATime checks that few connections wait for the ends of refused requests, and that they count as connections.
func TestUnreadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serveRefusals(t, httpapi.ConnectionLimits{Most: 8, UnreadBytes: 1 << 20, UnreadTime: time.Minute})
		var ends [4]time.Duration
		var group sync.WaitGroup
		for i := range ends {
			client := dial()
			refuse(t, client)
			group.Go(func() { _, ends[i] = sendUntilClosed(client, 4<<10, time.Second) })
		}
		group.Wait()
		long := 0
		for _, took := range ends {
			if took > 30*time.Second {
				long++
			}
		}
		if long != 2 {
			t.Errorf("of 4 connections %d wait for a request, want 2 of 8 connections: %v", long, ends)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		dial := serveRefusals(t, httpapi.ConnectionLimits{Most: 1, UnreadBytes: 1 << 20, UnreadTime: time.Minute})
		first, began := dial(), time.Now()
		refuse(t, first)
		var group sync.WaitGroup
		group.Go(func() { sendUntilClosed(first, 8<<10, time.Second) })
		refuse(t, dial()) // when the first is closed
		if waited := time.Since(began); waited < 58*time.Second || waited > 63*time.Second {
			t.Errorf("another connection waited for %s", waited)
		}
		group.Wait()
	})
}

// TestNothingUnread checks that connections end at once if their client is not sending a request that is answered.
func TestNothingUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		requests string
		after    time.Duration // when the server closes the connection
	}{
		"between requests": {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", time.Minute},
		"in a head":        {"GET / HTTP/1.1\r\n", 10 * time.Second},
		"nothing":          {"", 10 * time.Second},
		"after a body":     {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serveRefusals(t, httpapi.ConnectionLimits{Most: 8, UnreadBytes: 1 << 20, UnreadTime: time.Minute})()
				go func() { _, _ = io.Copy(client, strings.NewReader(tt.requests)) }()
				began := time.Now()
				if _, err := io.ReadAll(client); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != tt.after {
					t.Errorf("closed after %s, want %s", took, tt.after)
				}
			})
		})
	}
}
