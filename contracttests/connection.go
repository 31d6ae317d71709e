package contracttests

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxReply = 32 << 20  // bytes of one reply, including headers
	maxHead  = 256 << 10 // bytes of the status line and the headers of one reply
)

// A connection to a server carries one request at a time.
type connection struct {
	net.Conn
	server   server
	limited  io.LimitedReader // of the connection; N is what a reply may still have
	in       *bufio.Reader    // of limited
	answered bool             // the headers of the latest reply have been read
	reusable bool             // another request may follow
}

// connect opens a connection to the server, with TLS for https.
func (s server) connect(ctx context.Context) (*connection, error) {
	dial := new(net.Dialer).DialContext
	if s.scheme == "https" {
		dial = (&tls.Dialer{Config: s.tls}).DialContext
	}
	conn, err := dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, server: s, limited: io.LimitedReader{R: conn}}
	c.in = bufio.NewReader(&c.limited)
	return c, nil
}

// exchange makes one request. It removes the base path from the Location of the reply, because
// recordings and cases are written without one. It returns an error if no complete reply of at most
// maxReply bytes arrives before ctx ends, or if anything follows the reply.
func (c *connection) exchange(ctx context.Context, r *request) (*reply, error) {
	c.answered, c.reusable = false, false
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	got, more, err := c.writeAndRead(r)
	c.reusable = stop() && err == nil && more
	return got, err
}

// writeAndRead is exchange without a limit of time. It reports whether the server keeps the connection
// open for another request.
func (c *connection) writeAndRead(r *request) (got *reply, more bool, err error) {
	if _, err := c.Write(r.bytes()); err != nil {
		return nil, false, fmt.Errorf("sending: %w", err)
	}
	// A header takes much more memory than its bytes, so that headers have a limit of their own.
	c.limited.N = maxHead
	// ReadResponse needs the method: the reply to HEAD has a length but no body.
	resp, err := http.ReadResponse(c.in, &http.Request{Method: r.method})
	if err != nil && c.limited.N <= 0 {
		return nil, false, fmt.Errorf("the headers of the reply are longer than %d KiB", maxHead>>10)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the reply: %w", presentable(err))
	}
	c.answered = true
	defer resp.Body.Close()
	c.limited.N += maxReply - maxHead
	pieces, err := readPieces(resp.Body)
	if c.limited.N <= 0 { // which is no error if the end of the connection ends the body
		return nil, false, fmt.Errorf("the reply is longer than %d MiB", maxReply>>20)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the body: %w", presentable(err))
	}
	if n := c.in.Buffered(); n > 0 {
		return nil, false, fmt.Errorf("%d bytes after the end of the reply", n)
	}
	for i, location := range resp.Header["Location"] {
		resp.Header["Location"][i] = c.server.withoutBasePath(location)
	}
	return &reply{resp.StatusCode, resp.Header, strings.Join(pieces, "")}, !resp.Close, nil
}

// connections are the idle connections to one server, for reads. The zero value has none. There are
// never more of them than requests at the same time. They are safe for concurrent use.
type connections struct {
	mu   sync.Mutex
	idle []*connection // the one that was used last is taken first
}

// roundTrip makes the request that newRequest returns as described at [connection.exchange]: a GET on an
// idle connection if there is one, and any other request on a new one, because a server may close an idle
// connection at any time, and only a read can be sent again: with a signature of its own, as the server
// may have seen the first.
func (all *connections) roundTrip(ctx context.Context, s server, newRequest func() request) (*reply, error) {
	r := newRequest()
	if r.method != http.MethodGet {
		return s.roundTrip(ctx, &r)
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	if c := all.take(); c != nil {
		got, err := c.exchange(ctx, &r)
		// Some servers say why they close an idle connection, as if that were the answer.
		closed := !c.answered || err == nil && got.status == http.StatusRequestTimeout
		if all.put(c); !closed || ctx.Err() != nil {
			return got, err
		}
		r = newRequest()
	}
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer all.put(c)
	return c.exchange(ctx, &r)
}

// take returns an idle connection, or nil.
func (all *connections) take() *connection {
	all.mu.Lock()
	defer all.mu.Unlock()
	last := len(all.idle) - 1
	if last < 0 {
		return nil
	}
	c := all.idle[last]
	all.idle = all.idle[:last]
	return c
}

// put keeps a connection for another request, or closes it if the server does not.
func (all *connections) put(c *connection) {
	if !c.reusable {
		_ = c.Close()
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.idle = append(all.idle, c)
}

// close closes the idle connections.
func (all *connections) close() {
	for c := all.take(); c != nil; c = all.take() {
		_ = c.Close()
	}
}

// readPieces reads a body to its end in pieces: one text that grows would be copied several times,
// which takes five times the memory of a long body.
func readPieces(body io.Reader) (pieces []string, err error) {
	const first, longest = 4 << 10, 1 << 20
	for size := int64(first); err == nil; size = min(2*size, longest) {
		var piece strings.Builder
		piece.Grow(int(size))
		_, err = io.CopyN(&piece, body, size)
		pieces = append(pieces, piece.String())
	}
	if err == io.EOF {
		err = nil
	}
	return pieces, err
}

// maxErrorText is the length of the longest text of an error of which a server may have written a part.
const maxErrorText = 200

// presentable returns an error of reading a reply that people can read on a terminal. Errors of
// net/http can quote whole lines of a reply, with control characters and of any length.
func presentable(err error) error {
	text := err.Error()
	if len(text) <= maxErrorText && strconv.Quote(text) == `"`+text+`"` {
		return err
	}
	quoted := strconv.Quote(strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "\uFFFD"))
	if len(text) > maxErrorText {
		quoted += "…"
	}
	return errors.New(quoted)
}
