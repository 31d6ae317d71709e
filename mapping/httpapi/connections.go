package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping/limits"
)

const (
	// unbudgetedHeaders is the size in bytes of request headers that do not count against the
	// budget. Nearly all requests are smaller.
	unbudgetedHeaders = 16 << 10
	// headerBytes limits the headers of all requests beyond that size, in bytes.
	headerBytes = 32 << 20
)

// ConnectionLimits limit the connections of a server.
type ConnectionLimits struct {
	// Most is the number of connections at a time. Others wait until one is closed.
	Most int
	// UnreadBytes and UnreadTime limit the data that is read and discarded from a request that is
	// refused before all of it has arrived.
	UnreadBytes int64
	UnreadTime  time.Duration
}

// Connections limits the number of connections, and the memory that unauthenticated clients can
// occupy with request headers. A connection that exceeds the common budget is closed. It lets
// replies arrive at clients that are still sending their requests.
//
// Over HTTP/2, where requests share a connection, headers that arrive while another request
// of the connection is in progress do not count.
type Connections struct {
	limits  ConnectionLimits
	slots   chan struct{} // one value for each open connection
	headers *limits.Budget
	unread  *limits.Budget // connections

	mu      sync.Mutex
	drained map[*countedConn]struct{} // the remaining data of their clients is discarded
	idle    chan struct{}             // closed when none is left; nil without a waiter
}

// NewConnections returns Connections for one server.
func NewConnections(most ConnectionLimits) *Connections {
	return &Connections{
		limits: most, slots: make(chan struct{}, most.Most), headers: limits.NewBudget("headers", headerBytes, 0),
		unread: limits.NewBudget("unread", int64(max(1, most.Most/unreadPart)), 0), drained: map[*countedConn]struct{}{},
	}
}

// Limit returns the number of connections at a time.
func (c *Connections) Limit() int { return c.limits.Most }

// Listener returns l with its connections counted.
func (c *Connections) Listener(l net.Listener) net.Listener {
	return &countedListener{Listener: l, connections: c, closed: make(chan struct{})}
}

type countedListener struct {
	net.Listener
	connections *Connections
	closing     sync.Once
	closed      chan struct{}
}

// Accept waits for the next connection, and until there may be one more.
func (l *countedListener) Accept() (net.Conn, error) {
	select {
	case l.connections.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.connections.slots
		return nil, err
	}
	return &countedConn{Conn: conn, connections: l.connections}, nil
}

// Close ends the listener, not its connections.
func (l *countedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Context returns ctx for the requests of a connection. Use it as the ConnContext of an
// [http.Server].
func (c *Connections) Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, counted(conn))
}

type connKey struct{}

// State tracks new and idle connections; an idle connection returns its bytes to the budget. Use it
// as the ConnState of an [http.Server].
func (*Connections) State(conn net.Conn, state http.ConnState) {
	c := counted(conn)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.secure = conn != net.Conn(c)
	case http.StateIdle:
		c.writeHeld()
		c.release()
		c.begun, c.unread, c.body = false, false, 0
	}
}

// counted returns the counted connection below one of TLS, or conn itself; nil if it is another.
func counted(conn net.Conn) *countedConn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*countedConn)
	return c
}

// connectionOf returns the connection of a request; nil if it is not counted.
func connectionOf(r *http.Request) *countedConn {
	conn, _ := r.Context().Value(connKey{}).(*countedConn)
	return conn
}

// countHeaders counts the headers of a request as complete when it starts.
func (a *API) countHeaders(c *gin.Context) {
	if conn := connectionOf(c.Request); conn != nil {
		conn.begin(c.Request)
		defer conn.end()
		c.Next()
	}
}

// A countedConn counts the bytes read while no request of the connection is in progress:
// the headers of the next one. It is one of the connections that are open at a time.
type countedConn struct {
	net.Conn
	connections *Connections

	mu     sync.Mutex
	active int   // requests in progress
	read   int64 // bytes since the end of the last request
	taken  int64 // from the budget

	secure bool // there is TLS above
	begun  bool // a request has begun since the connection was idle
	unread bool // the client may still be sending the request that is answered
	ending ending

	body int     // size of the body of the reply that is written next; 0 if its first piece is not held back
	held *[]byte // the piece that waits for the next one; nil if there is none
}

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
	if c.connections.headers.TryTake(more) != nil {
		return errHeaders
	}
	c.taken += more
	return nil
}

// begin records the start of a request, during which its headers stay in memory.
func (c *countedConn) begin(r *http.Request) {
	c.mu.Lock()
	c.active++
	c.begun = true
	c.unread = r.ContentLength != 0 || c.unread && r.ProtoMajor > 1 // whose requests share it
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
		c.connections.headers.Return(c.taken)
	}
	c.read, c.taken = 0, 0
}

// The server may refuse a request before it has read the body. Most clients send all of the body
// before they read the reply. If the server closed the connection meanwhile, the kernel would
// answer further segments with a reset, and the client would get an error instead of the reply. So
// the server closes its own direction only, and discards incoming data until the client, having
// read the reply, closes the other direction.
//
// Hostile clients could make the server read for long. So the drain is limited in bytes and in
// time, slow clients are cut off, and few connections drain at a time: others are closed
// immediately.

const (
	// unreadPart is the part of all connections, as a divisor, that may wait for the ends of refused
	// requests at a time.
	unreadPart = 4
	// unreadPiece is how much a client has to send within unreadPieceTime, in bytes.
	unreadPiece     = 16 << 10
	unreadPieceTime = 5 * time.Second
)

// An ending is how far the end of a connection has come.
type ending uint8

const (
	open     ending = iota
	draining        // the client's remaining data is discarded; then the connection is closed
	closed
)

// Write writes to the connection. A write before a request has begun is a refusal: net/http could
// not parse the headers, and the rest of the request stays unread. With TLS such a write may belong
// to the handshake, unless bytes of a request have been read.
func (c *countedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.unread = c.unread || !c.begun && (!c.secure || c.read > 0)
	first := c.held
	c.held = nil
	holds := first == nil && c.body > 0 && c.hold(p)
	c.mu.Unlock()
	switch {
	case holds:
		return len(p), nil
	case first == nil:
		return c.Conn.Write(p)
	}
	defer heldPieces.Put(first)
	pieces := net.Buffers{*first, p}
	n, err := pieces.WriteTo(c.Conn)
	return max(0, int(n)-len(*first)), err
}

// heldReply is the least size of a body whose first piece is held back. net/http fills a buffer of 4 KB with the
// headers and the beginning of the body.
const heldReply = 2 << 10

// holdFirst makes the connection write the first piece of a reply, which has a body of heldReply bytes or more,
// together with the second one, as one call of the system: each costs a tenth of a list of ten products, and wakes the
// client.
func (c *countedConn) holdFirst(body int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.secure {
		c.body = body
	}
}

// heldPieces are buffers for first pieces.
var heldPieces = sync.Pool{New: func() any { return new([]byte) }}

// hold keeps the first piece of a reply if another one must follow: it declares the size of the body, and lacks a part
// of it. Middleware may have replaced the body. The caller holds the lock.
func (c *countedConn) hold(p []byte) bool {
	headers, beginning, _ := bytes.Cut(p, []byte("\r\n\r\n"))
	declared := bytes.Contains(headers, []byte("\r\nContent-Length: "+strconv.Itoa(c.body)+"\r\n"))
	partial := declared && len(beginning) < c.body
	c.body = 0
	if !partial {
		return false
	}
	c.held = heldPieces.Get().(*[]byte)
	*c.held = append((*c.held)[:0], p...)
	return true
}

// writeHeld writes the piece that waits, if there is one: middleware has kept the rest of its reply back. Errors are
// errors of the next call. The caller holds the lock.
func (c *countedConn) writeHeld() {
	if c.held == nil {
		return
	}
	_ = c.Conn.SetWriteDeadline(time.Now().Add(heldTime))
	_, _ = c.Conn.Write(*c.held)
	_ = c.Conn.SetWriteDeadline(time.Time{})
	heldPieces.Put(c.held)
	c.held = nil
}

// heldTime bounds such a write, for which there is room unless the client has not read earlier replies.
const heldTime = time.Second

// CloseWrite closes the direction to the client. net/http calls it before it closes the connection, if
// it has not read all of a request.
func (c *countedConn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeHeld()
	c.unread = true
	if c.beginDrain() {
		return nil
	}
	return c.closeWrite()
}

// closeWrite closes the direction to the client, if the connection has directions.
func (c *countedConn) closeWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection. If the client may still be sending a request that is answered, it closes
// the direction to the client only, and the connection after that.
func (c *countedConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeHeld()
	c.release()
	if c.ending == draining || c.beginDrain() {
		return nil
	}
	return c.shut()
}

// beginDrain begins to discard the client's remaining data, unless it sends nothing or too many
// connections do so. The caller holds the lock.
func (c *countedConn) beginDrain() bool {
	if c.ending != open || !c.unread || c.connections.unread.TryTake(1) != nil {
		return false
	}
	c.ending = draining
	c.connections.addDrained(c)
	go c.drain()
	return true
}

// shut closes the connection. The caller holds the lock.
func (c *countedConn) shut() error {
	if c.ending != closed {
		c.ending = closed
		defer func() { <-c.connections.slots }()
	}
	return c.Conn.Close()
}

// drain discards the client's remaining data, within the limits, and closes the connection.
func (c *countedConn) drain() {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.shut() // there is no caller that could use the error
		c.connections.unread.Return(1)
		c.connections.removeDrained(c)
	}()
	if c.closeWrite() != nil {
		return
	}
	limits := &c.connections.limits
	end := time.Now().Add(limits.UnreadTime)
	for left := limits.UnreadBytes; left > 0; left -= unreadPiece {
		deadline := time.Now().Add(unreadPieceTime)
		if end.Before(deadline) {
			deadline = end
		}
		if c.Conn.SetReadDeadline(deadline) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c.Conn, min(left, unreadPiece)); err != nil {
			return
		}
	}
}

// Wait waits for the clients that are still sending requests which have been answered. When ctx ends, it
// closes their connections. Call it after the Shutdown of the [http.Server], which knows nothing of them.
func (c *Connections) Wait(ctx context.Context) {
	c.mu.Lock()
	idle := make(chan struct{})
	if c.idle = idle; len(c.drained) == 0 {
		close(idle)
		c.idle = nil
	}
	c.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		for conn := range c.drained {
			_ = conn.Conn.Close() // which ends its drain
		}
	}
}

func (c *Connections) addDrained(conn *countedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained[conn] = struct{}{}
}

func (c *Connections) removeDrained(conn *countedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.drained, conn)
	if len(c.drained) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}
