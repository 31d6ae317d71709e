package httpapi

import (
	"context"
	"io"
	"time"
)

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
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// CloseWrite closes the direction to the client. net/http calls it before it closes the connection, if
// it has not read all of a request.
func (c *countedConn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
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
