package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping/budget"
)

const (
	// unbudgetedHeaders is the size in bytes of request headers that do not count against the
	// budget. Nearly all requests are smaller.
	unbudgetedHeaders = 16 << 10
	// headerBytes limits the headers of all requests beyond that size, in bytes.
	headerBytes = 32 << 20
)

// Connections limits the memory that unauthenticated clients can occupy with request
// headers. A connection that exceeds the common budget is closed.
//
// Over HTTP/2, where requests share a connection, headers that arrive while another request
// of the connection is in progress do not count.
type Connections struct{ headers *budget.Budget }

// NewConnections returns Connections for one server.
func NewConnections() *Connections {
	return &Connections{budget.New("headers", headerBytes, 0)}
}

// Listener returns l with its connections counted.
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

// Context returns ctx for the requests of a connection. Use it as the ConnContext of an
// [http.Server].
func (c *Connections) Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, counted(conn))
}

type connKey struct{}

// State returns what a connection has taken to the budget when the connection becomes idle.
// Use it as the ConnState of an [http.Server].
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	if c := counted(conn); c != nil && state == http.StateIdle {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.release()
	}
}

// counted returns the counted connection below others, such as one of TLS, or nil.
func counted(conn net.Conn) *countedConn {
	for {
		if c, ok := conn.(*countedConn); ok {
			return c
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = outer.NetConn()
	}
}

// countHeaders counts the headers of a request as complete when it starts.
func (a *API) countHeaders(c *gin.Context) {
	if conn, _ := c.Request.Context().Value(connKey{}).(*countedConn); conn != nil {
		conn.begin()
		defer conn.end()
		c.Next()
	}
}

// A countedConn counts the bytes read while no request of the connection is in progress:
// the headers of the next one.
type countedConn struct {
	net.Conn
	headers *budget.Budget

	mu     sync.Mutex
	active int   // requests in progress
	read   int64 // bytes since the end of the last request
	taken  int64 // from the budget
}

// NetConn returns the connection below.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// errHeaders closes a connection.
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
	more := c.read - unbudgetedHeaders - c.taken
	if more <= 0 {
		return nil
	}
	if c.headers.TryTake(more) != nil {
		return errHeaders
	}
	c.taken += more
	return nil
}

// begin records the start of a request, during which its headers stay in memory.
func (c *countedConn) begin() {
	c.mu.Lock()
	c.active++
	c.mu.Unlock()
}

// end records the end of a request.
func (c *countedConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 {
		c.release()
	}
}

func (c *countedConn) release() {
	if c.taken > 0 {
		c.headers.Return(c.taken)
	}
	c.read, c.taken = 0, 0
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.mu.Lock()
	c.release()
	c.mu.Unlock()
	return c.Conn.Close()
}
