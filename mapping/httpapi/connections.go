package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/portico-commerce/portico/mapping/budget"
)

const (
	// freeHeaders is the size of a request's headers, in bytes, up to which no budget is
	// asked. Nearly all requests are below it.
	freeHeaders = 16 << 10
	// headerBytes bounds the headers beyond that of all requests together, in bytes.
	headerBytes = 32 << 20
)

// Connections bounds the memory that clients can make a server hold by the headers of
// requests, before anything is known of who sends them. A connection that asks for more
// than there is is closed.
//
// Over HTTP/2, where requests share a connection, headers that arrive while another
// request of the connection is being answered do not count.
type Connections struct{ headers *budget.Budget }

// NewConnections returns Connections for one server.
func NewConnections() *Connections {
	return &Connections{budget.New("headers", headerBytes, 0)}
}

// Listener returns l, whose connections are counted.
func (c *Connections) Listener(l net.Listener) net.Listener { return countedListener{l, c} }

type countedListener struct {
	net.Listener
	connections *Connections
}

// Accept waits for the next connection.
func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, headers: l.connections.headers}, nil
}

// Context returns ctx for the requests of a connection: it is a ConnContext of
// [http.Server].
func (c *Connections) Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, underTLS(conn))
}

type connKey struct{}

// State frees what a connection has taken when it becomes idle: it is a ConnState of
// [http.Server].
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	if counted, ok := underTLS(conn).(*countedConn); ok && state == http.StateIdle {
		counted.mu.Lock()
		defer counted.mu.Unlock()
		counted.free()
	}
}

// underTLS returns the connection that TLS, if it is used, runs on.
func underTLS(conn net.Conn) net.Conn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return conn
}

// Handler returns next, which is called when the headers of a request have been read.
func (c *Connections) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(*countedConn); ok {
			conn.begin()
			defer conn.end()
		}
		next.ServeHTTP(w, r)
	})
}

// A countedConn counts what is read of a connection while no request of it is being
// answered, which is the headers of the next one.
type countedConn struct {
	net.Conn
	headers *budget.Budget

	mu     sync.Mutex
	active int   // requests that are being answered
	read   int64 // bytes since the last one ended
	taken  int64 // from the budget
}

// errHeaders ends a connection.
var errHeaders = errors.New("httpapi: the headers of all requests together are too large")

// Read reads from the connection.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if counted := c.count(int64(n)); counted != nil {
		return 0, counted
	}
	return n, err
}

func (c *countedConn) count(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active > 0 || n == 0 {
		return nil
	}
	c.read += n
	more := c.read - freeHeaders - c.taken
	if more <= 0 {
		return nil
	}
	if c.headers.TryTake(more) != nil {
		return errHeaders
	}
	c.taken += more
	return nil
}

// begin notes that a request is being answered, for which its headers stay in memory.
func (c *countedConn) begin() {
	c.mu.Lock()
	c.active++
	c.mu.Unlock()
}

// end notes that a request has been answered.
func (c *countedConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 {
		c.free()
	}
}

func (c *countedConn) free() {
	if c.taken > 0 {
		c.headers.Return(c.taken)
	}
	c.read, c.taken = 0, 0
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.mu.Lock()
	c.free()
	c.mu.Unlock()
	return c.Conn.Close()
}
