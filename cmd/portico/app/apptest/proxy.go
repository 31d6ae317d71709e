package apptest

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A SlowProxy forwards connections to a server. It can delay, block or cut them.
type SlowProxy struct {
	t      testing.TB
	Listen string // host:port

	mu       sync.Mutex
	upstream string       // host:port of the server
	listener net.Listener // nil while it is stopped
	open     map[net.Conn]bool
	fault    lineFault
	mended   chan struct{} // closed when the fault ends
}

// A lineFault is a fault that a proxy injects into its connections. The zero value is no fault.
type lineFault struct {
	delay time.Duration // of data from the server
	block bool          // holds data to the server
	limit int           // the bytes from the server after which each connection ends; 0: none
}

// NewSlowProxy returns a proxy for a server, without a fault.
func NewSlowProxy(t testing.TB, to string) *SlowProxy {
	t.Helper()
	l := &SlowProxy{t: t, Listen: "127.0.0.1:0", upstream: to, open: map[net.Conn]bool{}, mended: make(chan struct{})}
	l.Start()
	t.Cleanup(l.Stop)
	return l
}

// Start listens, after Stop at the same address.
func (l *SlowProxy) Start() {
	l.t.Helper()
	listener, err := net.Listen("tcp", l.Listen)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Listen, l.listener = listener.Addr().String(), listener
	go func() {
		for client, err := listener.Accept(); err == nil; client, err = listener.Accept() {
			go l.forward(client, listener)
		}
	}()
}

// Stop stops listening, closes all connections, and ends the fault.
func (l *SlowProxy) Stop() {
	l.Reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
	}
	l.listener = nil
	for conn := range l.open {
		_ = conn.Close()
	}
}

// Lead closes all connections, and forwards new ones to another server.
func (l *SlowProxy) Lead(to string) {
	l.t.Helper()
	l.Stop()
	l.mu.Lock()
	l.upstream = to
	l.mu.Unlock()
	l.Start()
}

// Delay delays all data from the server.
func (l *SlowProxy) Delay(by time.Duration) { l.set(lineFault{delay: by}) }

// Block stops all data to the server, without closing connections before the fault ends.
func (l *SlowProxy) Block() { l.set(lineFault{block: true}) }

// CutAfter closes each connection after so many bytes from the server.
func (l *SlowProxy) CutAfter(bytes int) { l.set(lineFault{limit: bytes}) }

// Reset ends the fault.
func (l *SlowProxy) Reset() { l.set(lineFault{}) }

// set replaces the fault.
func (l *SlowProxy) set(f lineFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.mended)
	l.fault, l.mended = f, make(chan struct{})
}

// forward serves a connection of a listener.
func (l *SlowProxy) forward(client net.Conn, of net.Listener) {
	defer func() { _ = client.Close() }()
	l.mu.Lock()
	to := l.upstream
	l.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	l.mu.Lock()
	stopped := l.listener != of
	if !stopped {
		l.open[client], l.open[server] = true, true
	}
	l.mu.Unlock()
	if stopped {
		return
	}
	go l.pass(client, server, false)
	l.pass(server, client, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, client)
	delete(l.open, server)
}

// pass forwards data in one direction until either connection ends, and closes both.
func (l *SlowProxy) pass(from, to net.Conn, fromServer bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	data := make([]byte, 32<<10)
	for passed := 0; ; {
		n, err := from.Read(data)
		l.mu.Lock()
		fault, mended := l.fault, l.mended
		l.mu.Unlock()
		switch {
		case !fromServer && fault.block:
			<-mended
			return
		case fromServer && fault.delay > 0:
			select {
			case <-time.After(fault.delay):
			case <-mended:
			}
		case fromServer && fault.limit > 0:
			n = min(n, max(0, fault.limit-passed))
		}
		if _, failed := to.Write(data[:n]); failed != nil || err != nil {
			return
		}
		if passed += n; fromServer && fault.limit > 0 && passed >= fault.limit {
			return
		}
	}
}

// DSNThrough returns the DSN with the address of the proxy in place of the server's.
func DSNThrough(dsn, server string, line *SlowProxy) string {
	return strings.Replace(dsn, server, line.Listen, 1)
}
