package fastpath

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server answers requests of the connections of an [http.Server]. It is safe for concurrent use
// once it has a listener.
type Server struct {
	// Handler is that of the http.Server. If Prepare returns a request, Handler must answer it without
	// waiting for anything, must not use its connection, nor depend on the end of its context.
	Handler http.Handler
	// Prepare returns the request to give to Handler in place of r, or nil if net/http is to serve r. The
	// reply is in memory until the client has read it, so it should be small.
	Prepare func(r *http.Request) *http.Request
	// IdleTimeout and WriteTimeout are those of the http.Server; 0 means none.
	IdleTimeout, WriteTimeout time.Duration

	replies   sync.Pool
	answering sync.WaitGroup
}

// Listener returns l with its connections served. The http.Server must call [Server.State]. Connections
// that wrap those of the listener must have a method NetConn, as those of crypto/tls have, and see only
// what net/http reads.
func (s *Server) Listener(l net.Listener) net.Listener {
	s.replies.New = newReply
	return listener{l, s}
}

// State notices that a connection, or one above it, has become idle. Use it as the ConnState of the
// http.Server.
func (s *Server) State(c net.Conn, state http.ConnState) {
	for state == http.StateIdle {
		if own, ok := c.(*conn); ok {
			own.idle, own.deadlines = true, time.Time{}
			return
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		c = outer.NetConn()
	}
}

// Wait waits until no reply is being written, or ctx ends. Call it after the Shutdown of the
// http.Server, which knows nothing of them.
func (s *Server) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		s.answering.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type listener struct {
	net.Listener
	server *Server
}

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, server: l.server, remote: c.RemoteAddr().String()}, nil
}

// A conn is a connection between a client and an http.Server, which has one goroutine that reads
// requests and answers them.
type conn struct {
	net.Conn
	server *Server
	remote string

	// buffer is the size of net/http's buffer when nothing is in it: that of the first read.
	buffer int
	// idle: net/http waits for the next request.
	idle bool
	// deadlines is when the deadlines of the connection were set, zero if net/http has set them.
	deadlines time.Time

	mu        sync.Mutex
	answering bool // a reply is being made or written
	closing   bool // Close was called meanwhile
}

// Read reads for net/http what is not answered here.
func (c *conn) Read(p []byte) (int, error) {
	if c.buffer == 0 {
		c.buffer = len(p)
	}
	for {
		n, err := c.Conn.Read(p)
		if err == nil && c.idle && len(p) == c.buffer {
			var answered bool
			if answered, err = c.answer(string(p[:n])); answered && err == nil {
				continue
			} else if answered {
				return 0, err
			}
		}
		c.idle = c.idle && n == 0
		return n, err
	}
}

// answer answers the request that head holds, or reports that it is left to net/http. After an
// error the connection must end.
func (c *conn) answer(head string) (answered bool, err error) {
	r := parseHead(head, c.remote)
	if r != nil {
		r = c.server.Prepare(r)
	}
	if r == nil || !c.begin() {
		return false, nil
	}
	defer func() { err = c.end(err) }()
	if err := c.extendDeadlines(); err != nil {
		return true, err
	}
	w := c.server.replies.Get().(*reply)
	c.server.Handler.ServeHTTP(w, r)
	_, err = c.Conn.Write(w.bytes())
	if err == nil && w.closes() {
		err = io.EOF
	}
	if w.reset() {
		c.server.replies.Put(w)
	}
	return true, err
}

// begin begins a reply, unless the connection is closed.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.answering = true
	c.server.answering.Add(1)
	return true
}

// end ends a reply, and the connection if Close was called meanwhile.
func (c *conn) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering = false
	c.server.answering.Done()
	if !c.closing {
		return err
	}
	_ = c.Conn.Close() // nobody is left who could use the error
	return net.ErrClosed
}

// Close closes the connection. If a reply is being written, the connection is closed after it; a
// second call does not wait for that.
func (c *conn) Close() error {
	c.mu.Lock()
	waits := c.answering && !c.closing
	c.closing = true
	c.mu.Unlock()
	if waits {
		return nil
	}
	return c.Conn.Close()
}

// deadlineStep is how precise the deadlines are: to set them for every request would take a sixth of
// its time.
const deadlineStep = time.Second

// extendDeadlines gives the reply and the wait for the next request the time that net/http gives them.
func (c *conn) extendDeadlines() error {
	now := time.Now()
	if now.Sub(c.deadlines) < deadlineStep {
		return nil
	}
	c.deadlines = now
	if d := c.server.IdleTimeout; d > 0 {
		if err := c.SetReadDeadline(now.Add(d + deadlineStep)); err != nil {
			return err
		}
	}
	if d := c.server.WriteTimeout; d > 0 {
		return c.SetWriteDeadline(now.Add(d + deadlineStep))
	}
	return nil
}
