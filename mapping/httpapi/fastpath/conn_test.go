package fastpath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A pipeListener accepts connections in memory, whose pieces arrive as they were written.
type pipeListener struct {
	connections chan net.Conn
	closed      chan struct{}
	close       sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for the next connection.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (l *pipeListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A testServer is an http.Server with or without a fast path.
type testServer struct {
	http.Server
	fast     Server
	listener *pipeListener
	mu       sync.Mutex
	taken    []string // targets of the requests that did not go through net/http
	accepted net.Conn // the last one
}

// connection returns the last connection that the server has accepted.
func (s *testServer) connection() net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// newTestServer starts a server whose fast path takes requests for /fast, if it is enabled.
func newTestServer(t *testing.T, enabled bool, handler http.HandlerFunc) *testServer {
	t.Helper()
	s := &testServer{listener: newPipeListener()}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(http.ServerContextKey) == nil {
			s.mu.Lock()
			s.taken = append(s.taken, r.RequestURI)
			s.mu.Unlock()
		}
		handler(w, r)
	})
	s.fast = Server{Handler: s.Handler, Prepare: func(r *http.Request) *http.Request {
		if !strings.HasPrefix(r.URL.Path, "/fast") {
			return nil
		}
		return r
	}}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		s.mu.Lock()
		s.accepted = c
		s.mu.Unlock()
		s.fast.State(c, state)
	}
	var listener net.Listener = s.listener
	if enabled {
		listener = s.fast.Listener(s.listener)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(listener) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// A serverEnd is the server's end of a connection. It says when the server waits for more than the byte that
// shows that a client has not disconnected.
type serverEnd struct {
	net.Conn
	waits chan int // with the number of bytes that were read before
	read  int
	once  sync.Once
}

// Read reads from the client.
func (e *serverEnd) Read(p []byte) (int, error) {
	if len(p) > 1 {
		e.waits <- e.read
	}
	n, err := e.Conn.Read(p)
	e.read += n
	return n, err
}

// Close closes the connection.
func (e *serverEnd) Close() error {
	e.once.Do(func() { close(e.waits) })
	return e.Conn.Close()
}

// A client is the client's end of a connection.
type client struct {
	net.Conn
	server *serverEnd
	sent   int // bytes
}

// send sends a piece when the server has read everything before it and waits, or nothing once the server has
// closed the connection.
func (c *client) send(piece string) {
	for read := range c.server.waits {
		if read == c.sent {
			c.sent += len(piece)
			_, _ = io.WriteString(c.Conn, piece)
			return
		}
	}
}

// dial connects to the server.
func (s *testServer) dial(t *testing.T) *client {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	end := &serverEnd{Conn: theirs, waits: make(chan int, 100)}
	s.listener.connections <- end
	return &client{Conn: ours, server: end}
}

var dates = regexp.MustCompile(`Date: [^\r]*`)

// exchange sends pieces and returns all that the server sends before it closes the connection, and the
// targets of the requests that the fast path took.
func (s *testServer) exchange(t *testing.T, pieces []string) (replies string, taken []string) {
	t.Helper()
	c := s.dial(t)
	go func() {
		for _, piece := range pieces {
			c.send(piece)
		}
	}()
	received, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return dates.ReplaceAllString(string(received), "Date: now"), s.taken
}

// request returns the bytes of a request with more header fields.
func request(method, target string, fields ...string) string {
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: shop.example"}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// TestSameReplies checks that a server with a fast path replies as one without, and which requests the
// fast path takes.
func TestSameReplies(t *testing.T) {
	t.Parallel()
	first, last := request("GET", "/first"), request("GET", "/last", "Connection: close")
	fast := request("GET", "/fast")
	for name, tt := range map[string]struct {
		pieces []string
		taken  string
	}{
		"one after the other":         {[]string{first, fast, request("GET", "/fast?a=b", "Accept: x"), fast, last}, "/fast /fast?a=b /fast"},
		"the first":                   {[]string{fast, fast, last}, "/fast"},
		"others between":              {[]string{first, fast, request("GET", "/slow"), fast, last}, "/fast /fast"},
		"in two pieces":               {[]string{first, fast[:20], fast[20:], fast, last}, "/fast"},
		"in three pieces":             {[]string{first, fast[:3], fast[3:10], fast[10:], fast, last}, "/fast"},
		"pipelined":                   {[]string{first, fast + fast, fast, last}, "/fast"},
		"pipelined behind the first":  {[]string{first + fast, fast, last}, "/fast"},
		"part of the next":            {[]string{first + fast[:10], fast[10:], fast, last}, "/fast"},
		"head within a body":          {[]string{first, request("POST", "/read", fmt.Sprintf("Content-Length: %d", len(fast))), fast, fast, last}, "/fast"},
		"head within an unread body":  {[]string{first, request("POST", "/post", fmt.Sprintf("Content-Length: %d", 2*len(fast))), fast, fast, fast, last}, "/fast"},
		"head within a chunk":         {[]string{first, request("POST", "/read", "Transfer-Encoding: chunked"), fmt.Sprintf("%x\r\n", len(fast)), fast, "\r\n0\r\n\r\n", fast, last}, "/fast"},
		"head within a head":          {[]string{first, "GET /slow HTTP/1.1\r\nA: ", fast, fast, last}, "/fast"},
		"length of the body":          {[]string{first, request("GET", "/fast/length"), fast, last}, "/fast/length /fast"},
		"no body":                     {[]string{first, request("GET", "/fast/empty"), fast, last}, "/fast/empty /fast"},
		"not modified":                {[]string{first, request("GET", "/fast/304"), fast, last}, "/fast/304 /fast"},
		"error":                       {[]string{first, request("GET", "/fast/404"), fast, last}, "/fast/404 /fast"},
		"fields of the reply":         {[]string{first, request("GET", "/fast/fields"), fast, last}, "/fast/fields /fast"},
		"long head and long body":     {[]string{first, request("GET", "/fast/long"), fast, last}, "/fast/long /fast"},
		"the handler closes":          {[]string{first, request("GET", "/fast/close"), fast}, "/fast/close"},
		"fields of the request":       {[]string{first, request("GET", "/fast/echo", "b: 1", "a:2 ", "b:  3"), last}, "/fast/echo"},
		"keep-alive":                  {[]string{first, request("GET", "/fast", "Connection: keep-alive"), last}, "/fast"},
		"close":                       {[]string{first, request("GET", "/fast", "Connection: close")}, ""},
		"refused by net/http":         {[]string{first, request("GET", "/fast", "Host: b")}, ""},
		"longer than a buffer":        {[]string{first, request("GET", "/fast", "A: "+strings.Repeat("a", 5000)), fast, last}, "/fast"},
		"a buffer and then a request": {[]string{first, request("GET", "/slow", "A: "+strings.Repeat("a", 4096-len(request("GET", "/slow", "A: "))+len(fast))+"\r\nB: c"), fast, last}, "/fast"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, taken := newTestServer(t, true, answerTest).exchange(t, tt.pieces)
			want, none := newTestServer(t, false, answerTest).exchange(t, tt.pieces)
			if got != want {
				t.Errorf("with the fast path:\n%q\nwithout:\n%q", got, want)
			}
			if all := strings.Join(taken, " "); all != tt.taken || len(none) > 0 {
				t.Errorf("the fast path took %q, want %q", all, tt.taken)
			}
		})
	}
}

// answerTest is the handler of TestSameReplies.
func answerTest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	switch r.URL.Path {
	case "/read":
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, string(body), err)
	case "/fast/length":
		w.Header().Set("Content-Length", "3")
		fmt.Fprint(w, "abc")
	case "/fast/empty":
	case "/fast/304":
		w.WriteHeader(http.StatusNotModified)
	case "/fast/404":
		http.NotFound(w, r)
	case "/fast/fields":
		w.Header().Add("Set-Cookie", "a")
		w.Header().Add("Set-Cookie", "b")
		w.Header().Set("Zeta", " of two\r\nlines ")
		w.WriteHeader(http.StatusAccepted)
	case "/fast/long":
		w.Header().Set("Long", strings.Repeat("a", 2*headRoom))
		w.Header().Set("Content-Length", strconv.Itoa(maxPooledReply))
		fmt.Fprint(w, strings.Repeat("b", maxPooledReply))
	case "/fast/close":
		w.Header().Set("Connection", "close")
	case "/fast/echo":
		fmt.Fprint(w, r.Method, r.Host, r.RequestURI, r.Header, r.RemoteAddr, r.ContentLength)
	default:
		fmt.Fprint(w, r.RequestURI)
	}
}

// blocking returns a handler that blocks in /fast/block until release is closed, and closes blocked when it does so.
func blocking() (handler http.HandlerFunc, blocked, release chan struct{}) {
	blocked, release = make(chan struct{}), make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fast/block" {
			close(blocked)
			<-release
		}
		fmt.Fprint(w, "end")
	}, blocked, release
}

// TestShutdown checks that a reply in progress is written before the server ends.
func TestShutdown(t *testing.T) {
	t.Parallel()
	handler, blocked, release := blocking()
	s := newTestServer(t, true, handler)
	c := s.dial(t)
	received := make(chan string)
	go func() {
		all, _ := io.ReadAll(c)
		received <- string(all)
	}()
	for _, target := range []string{"/first", "/fast/block"} {
		c.send(request("GET", target))
	}
	<-blocked
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.fast.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait does not wait: %v", err)
	}
	close(release)
	if err := s.fast.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if all := <-received; strings.Count(all, "end") != 2 {
		t.Errorf("received %q, want two replies", all)
	}
}

// TestClose checks that a second Close does not wait for a reply in progress.
func TestClose(t *testing.T) {
	t.Parallel()
	handler, blocked, release := blocking()
	defer close(release)
	s := newTestServer(t, true, handler)
	c := s.dial(t)
	ended := make(chan string)
	go func() {
		all, _ := io.ReadAll(c)
		ended <- string(all)
	}()
	for _, target := range []string{"/first", "/fast/block"} {
		c.send(request("GET", target))
	}
	<-blocked
	// Shutdown closes the connection, as net/http takes it for idle, and Close closes all.
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.connection().Close(); err != nil {
		t.Fatal(err)
	}
	if all := <-ended; strings.Count(all, "end") != 1 {
		t.Errorf("received %q, want the first reply", all)
	}
}

// TestTimeouts checks that the timeouts of the server end connections after a request of the fast path.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idle, write time.Duration
		reads       bool
	}{
		"idle":  {idle: time.Millisecond, reads: true},
		"write": {write: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, true, answerTest)
			s.fast.IdleTimeout, s.fast.WriteTimeout = tt.idle, tt.write
			c := s.dial(t)
			piece := make([]byte, 4096)
			c.send(request("GET", "/first"))
			if _, err := c.Read(piece); err != nil {
				t.Fatal(err)
			}
			c.send(request("GET", "/fast"))
			if tt.reads {
				if _, err := c.Read(piece); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(piece); !errors.Is(err, io.EOF) {
					t.Errorf("%v, want the end of the connection", err)
				}
				return
			}
			for range c.server.waits { // until the server closes the connection, as nobody reads the reply
			}
		})
	}
}
