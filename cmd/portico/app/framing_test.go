package app

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestFraming checks that the server reads the same requests from the bytes of a connection as a
// plain server of net/http.
func TestFraming(t *testing.T) { compareFraming(t, 2000) }

// TestFramingAtLength is TestFraming with many more sequences.
func TestFramingAtLength(t *testing.T) {
	testenv.OnlyNightly(t, "attacks")
	compareFraming(t, 100_000)
}

// TestFramingOfKnownFaults is TestFraming with sequences that a server once read as different
// requests.
func TestFramingOfKnownFaults(t *testing.T) {
	t.Parallel()
	portico, bare := startFraming(t)
	simple := generator{rand.New(rand.NewPCG(0, 0))}.simpleRequest()
	_ = portico.observe(t, []string{simple}, nil) // from now on the reply is cached
	head := func(fields string) string {
		return "GET " + cachedTarget + " HTTP/1.1\r\n" + fields + "Accept: application/json\r\n\r\n"
	}
	post := fmt.Sprintf("POST /api/rest/products HTTP/1.1\r\nHost: shop.example\r\nContent-Length: %d\r\n\r\n", len(simple))
	for name, pieces := range map[string][]string{
		"a body behind a cached reply":         {simple, simple + post, simple},
		"chunks behind a cached reply":         {simple, simple + "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n", len(simple)), simple, "\r\n0\r\n\r\n"},
		"a head that is cut after a line":      {simple, simple + "GET / HTTP/1.1\r\nHost: a\r\n", simple},
		"an empty host and another":            {simple, simple, head("Host:\r\nHost: shop.example\r\n")},
		"another host and an empty one":        {simple, simple, head("Host: shop.example\r\nHost:\r\n")},
		"several requests, one after another":  {simple, simple, simple},
		"several requests in one piece":        {simple + simple + simple},
		"a request behind an unread long body": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("a", 300000), simple},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := observeBoth(t, portico, bare, pieces); !slices.Equal(got.all(), want.all()) {
				t.Error(difference(pieces, got, want))
			}
		})
	}
}

// compareFraming sends generated sequences of requests to Portico's server and to a bare one.
func compareFraming(t *testing.T, sequences int) {
	seed := testenv.NewSample(t).Uint64()
	portico, bare := startFraming(t)
	var next, requests atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for !t.Failed() {
				i := next.Add(1)
				if i > int64(sequences) {
					return
				}
				pieces := generator{rand.New(rand.NewPCG(seed, uint64(i)))}.sequence()
				got, want := observeBoth(t, portico, bare, pieces)
				requests.Add(int64(len(want.requests)))
				if !slices.Equal(got.all(), want.all()) {
					t.Errorf("sequence %d: %s", i, difference(pieces, got, want))
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d sequences with %d requests", sequences, requests.Load())
}

// difference describes how two servers have read the same pieces.
func difference(pieces []string, got, want *observation) string {
	lines := func(all []string) string { return "\n  " + strings.Join(all, "\n  ") }
	return quoted(pieces) + "\nthe server has read" + lines(got.all()) + "\na bare one" + lines(want.all())
}

// quoted returns pieces for people, one a line, and long ones shortened.
func quoted(pieces []string) (lines string) {
	const end = 400
	for _, piece := range pieces {
		text := fmt.Sprintf("%q", piece)
		if len(text) > 3*end {
			text = fmt.Sprintf("%s … %s (%d bytes)", text[:end], text[len(text)-end:], len(piece))
		}
		lines += "\n  " + text
	}
	return lines
}

// startFraming starts Portico's server as in production, and a bare server. Both record the
// requests that their handlers get.
func startFraming(t *testing.T) (portico, bare *observedServer) {
	t.Helper()
	l, cfg := openLocal(t, true, "PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0", "PORTICO_CACHE_TTL=24h", "PORTICO_LOG_LEVEL=error")
	portico, bare = new(observedServer), new(observedServer)
	l.app.contract = portico.handler(l.app.contract)
	quiet := slog.New(slog.DiscardHandler)
	ports, err := openPorts(t.Context(), cfg, l.app, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ports.contractListener = portico.listener(ports.contractListener)
	failed := ports.serve()
	t.Cleanup(func() {
		_ = errors.Join(ports.contract.Close(), ports.ops.Close())
		<-failed
		<-failed
	})
	server := newServer(cfg, bare.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bare.wants(r) {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(w, "answered\n")
	})), quiet)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, server, bare.listener(listener))
	return portico, bare
}

// An observedServer records the requests that the handler of a server gets over each connection.
// The data arrives in the same pieces in which a test sends it.
type observedServer struct {
	address     string
	connections sync.Map // *observedConn by the address of the client
}

// listener returns l with its connections observed.
func (s *observedServer) listener(l net.Listener) net.Listener {
	s.address = l.Addr().String()
	return observedListener{l, s}
}

type observedListener struct {
	net.Listener
	server *observedServer
}

// Accept waits for the next connection.
func (l observedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &observedConn{Conn: conn, aborted: make(chan struct{}, 1), closed: make(chan struct{})}
	l.server.connections.Store(conn.RemoteAddr().String(), c)
	return c, nil
}

// An observedConn is a connection whose client first sends the sizes of the pieces in which its
// bytes arrive. All but the first piece arrive when the server waits for them, and not while it
// answers a request.
type observedConn struct {
	net.Conn // not its type, on which net writes several pieces without Write
	reading  sync.Mutex
	planned  bool
	wanted   []bool        // whether the handler is to read the body of each request
	begun    bool          // a piece, of which some bytes are left
	pieces   []uint32      // bytes that are left of each
	aborted  chan struct{} // gets a value when a read ends because of its deadline
	closing  sync.Once
	closed   chan struct{}
	mu       sync.Mutex
	sent     bytes.Buffer
	requests []*framedRequest
}

// Read reads from one piece.
func (c *observedConn) Read(p []byte) (int, error) {
	c.reading.Lock() // net/http may still wait for the byte after a body when the rest is dropped
	defer c.reading.Unlock()
	if !c.planned {
		c.planned = true
		if err := c.readPlan(); err != nil {
			return 0, err
		}
	}
	// While it answers a request, net/http reads one byte to notice that a client has gone. Other reads of one
	// byte are rare, and nothing aborts them.
	if !c.begun && len(p) == 1 {
		select {
		case <-c.aborted:
			return 0, os.ErrDeadlineExceeded
		case <-time.After(time.Second):
		}
	}
	if len(c.pieces) == 0 {
		return c.Conn.Read(p)
	}
	n, err := io.ReadFull(c.Conn, p[:min(len(p), int(c.pieces[0]))])
	c.pieces[0] -= uint32(n)
	if c.begun = c.pieces[0] > 0; !c.begun {
		c.pieces = c.pieces[1:]
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// readPlan reads the numbers of pieces and requests, the sizes of the pieces, and for each request
// whether the handler is to read its body.
func (c *observedConn) readPlan() error {
	var counts [2]uint32
	if err := binary.Read(c.Conn, binary.BigEndian, &counts); err != nil {
		return err
	}
	c.pieces, c.wanted = make([]uint32, counts[0]), make([]bool, counts[1])
	return errors.Join(binary.Read(c.Conn, binary.BigEndian, c.pieces), binary.Read(c.Conn, binary.BigEndian, c.wanted))
}

// SetReadDeadline sets when reads end.
func (c *observedConn) SetReadDeadline(deadline time.Time) error {
	select {
	case <-c.aborted: // the data was not read
	default:
	}
	if !deadline.IsZero() && time.Until(deadline) < 0 {
		c.aborted <- struct{}{}
	}
	return c.Conn.SetReadDeadline(deadline)
}

// Write records the data that the server sends.
func (c *observedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.sent.Write(p)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// CloseWrite closes the direction to the client.
func (c *observedConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// Close closes the connection.
func (c *observedConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A framedRequest is a request as a server has read it.
type framedRequest struct {
	head   string
	read   bool  // the handler has read the body, or a part of it
	body   int64 // bytes of it
	failed error
}

// handler returns next with the requests noted that it gets.
func (s *observedServer) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := &framedRequest{head: fmt.Sprintf("%q %q %s host %q, length %d %q, close %t, %q", r.Method, r.RequestURI, r.Proto, r.Host, r.ContentLength, r.TransferEncoding, r.Close, r.Header)}
		found, _ := s.connections.Load(r.RemoteAddr)
		c := found.(*observedConn)
		c.mu.Lock()
		c.requests = append(c.requests, request)
		c.mu.Unlock()
		w.Header().Set(methodHeader, r.Method)
		counted := r.WithContext(r.Context()) // net/http looks at the body of r
		if r.Body != http.NoBody {
			counted.Body = &observedBody{r.Body, request}
		}
		next.ServeHTTP(w, counted)
	})
}

// An observedBody counts the bytes that are read of a body.
type observedBody struct {
	io.ReadCloser
	request *framedRequest
}

// Read reads from the body.
func (b *observedBody) Read(p []byte) (int, error) {
	b.request.read = true
	n, err := b.ReadCloser.Read(p)
	b.request.body += int64(n)
	if err != nil && err != io.EOF {
		b.request.failed = err
	}
	return n, err
}

// An observation holds the requests that a server has read from a connection, and its replies.
type observation struct {
	requests []*framedRequest
	replies  []string
}

// all returns the requests and the replies.
func (o *observation) all() (lines []string) {
	for _, r := range o.requests {
		lines = append(lines, fmt.Sprintf("%s, %d bytes read, %v", r.head, r.body, r.failed))
	}
	return append(lines, o.replies...)
}

// wants reports whether the handler is to read the body of r, which is the last request of its connection.
func (s *observedServer) wants(r *http.Request) bool {
	found, _ := s.connections.Load(r.RemoteAddr)
	c := found.(*observedConn)
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) <= len(c.wanted) && c.wanted[len(c.requests)-1]
}

// observeBoth lets both servers observe pieces. The bare one reads the bodies that the other has read.
func observeBoth(t *testing.T, portico, bare *observedServer, pieces []string) (got, want *observation) {
	got = portico.observe(t, pieces, nil)
	read := make([]bool, len(got.requests))
	for i, r := range got.requests {
		read[i] = r.read
	}
	return got, bare.observe(t, pieces, read)
}

// observe sends pieces over a new connection. Once the server has closed it, observe returns the
// requests and replies. wanted has a value for each request: whether the handler is to read its
// body.
func (s *observedServer) observe(t *testing.T, pieces []string, wanted []bool) *observation {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Error(err)
		return new(observation)
	}
	defer func() { _ = conn.Close() }()
	plan := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(pieces))), uint32(len(wanted)))
	for _, piece := range pieces {
		plan = binary.BigEndian.AppendUint32(plan, uint32(len(piece)))
	}
	plan, err = binary.Append(plan, binary.BigEndian, wanted)
	if err != nil {
		t.Error(err)
	}
	_, _ = conn.Write(append(plan, strings.Join(pieces, "")...)) // fails if the server closes the connection
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
	found, ok := s.connections.LoadAndDelete(conn.LocalAddr().String())
	if !ok {
		t.Error("the server has not accepted the connection")
		return new(observation)
	}
	c := found.(*observedConn)
	<-c.closed
	c.mu.Lock()
	defer c.mu.Unlock()
	return &observation{c.requests, readReplies(c.sent.Bytes())}
}

// methodHeader is the header in which handlers return the method of the request.
const methodHeader = "X-Method"

// readReplies describes replies: in full if net/http itself has sent them, and otherwise only by
// whether they close the connection.
func readReplies(sent []byte) (replies []string) {
	in := bufio.NewReaderSize(bytes.NewReader(sent), max(len(sent), 16))
	for {
		if _, err := in.Peek(1); err != nil {
			return replies
		}
		rest, _ := in.Peek(in.Buffered())
		head, _, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
		to := &http.Request{Method: http.MethodGet}
		if bytes.Contains(head, []byte("\r\n"+methodHeader+": "+http.MethodHead)) {
			to.Method = http.MethodHead
		}
		reply, err := http.ReadResponse(in, to)
		if err != nil {
			return append(replies, "unreadable: "+err.Error())
		}
		body, err := io.ReadAll(reply.Body)
		described := fmt.Sprintf("reply of net/http: %s %q %v", reply.Status, body, err)
		if method := reply.Header.Get(methodHeader); method != "" {
			described = "reply to " + method
		}
		replies = append(replies, fmt.Sprintf("%s, close %t", described, reply.Close))
	}
}
