//go:build linux

package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// pollInterval is the pause between two checks of a condition.
const pollInterval = 10 * time.Millisecond

// await polls until done returns true. It fails the test if that takes longer than hang.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !done(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", waitTimeout, what)
		}
	}
}

// A redisServer is a private redis-server that a test can break. It keeps its port, and
// persists all acknowledged writes.
type redisServer struct {
	t       testing.TB
	dir     string
	address string // host:port
	cmd     *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

// newRedis starts a server that is stopped at the end of the test.
func newRedis(t testing.TB) *redisServer {
	t.Helper()
	programs.Need(t, "redis-server")
	r := &redisServer{t: t, dir: t.TempDir(), address: freeAddress(t)}
	r.start()
	t.Cleanup(r.kill)
	return r
}

// freeAddress returns an address of the loopback interface on which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// url returns the URL of the server.
func (r *redisServer) url() string { return "redis://" + r.address }

// start starts the server, or restarts it after kill, and waits until it answers.
func (r *redisServer) start() {
	r.t.Helper()
	host, port, err := net.SplitHostPort(r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	said := &bytes.Buffer{}
	r.cmd = exec.Command("redis-server", "--bind", host, "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "no")
	// The server must end with the tests, even if they crash.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	r.ended = ended
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // an error is in its output
		close(ended)
	}(r.cmd)
	await(r.t, "an answer of redis-server", func() bool {
		select {
		case <-ended:
			r.t.Fatalf("redis-server ended\n%s", said)
		default:
		}
		conn, err := net.Dial("tcp", r.address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte("PING\r\n"))
		answer, _ := bufio.NewReader(conn).ReadString('\n') // while it reads its files, an error
		return err == nil && answer == "+PONG\r\n"
	})
}

// kill ends the server with SIGKILL and waits until it is gone.
func (r *redisServer) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

// pause stops the process: it does not answer, and its connections stay open.
func (r *redisServer) pause() { r.signal(syscall.SIGSTOP) }

// resume continues a paused server.
func (r *redisServer) resume() { r.signal(syscall.SIGCONT) }

// signal sends a signal to the server.
func (r *redisServer) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// deleteData removes the files of a killed server.
func (r *redisServer) deleteData() {
	r.t.Helper()
	if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "appendonlydir")), os.RemoveAll(filepath.Join(r.dir, "dump.rdb"))); err != nil {
		r.t.Fatal(err)
	}
}

// A fakeServer listens in place of another server, and answers with something else.
type fakeServer struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	serving  sync.WaitGroup
}

// newFakeServer listens on an address and answers everything with reply, until it is
// closed.
func newFakeServer(t testing.TB, address, reply string) *fakeServer {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	i := &fakeServer{listener: listener, open: map[net.Conn]bool{}}
	i.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			i.mu.Lock()
			i.open[conn] = true
			i.mu.Unlock()
			i.serving.Go(func() { i.answer(conn, reply) })
		}
	})
	return i
}

// answer answers one connection.
func (i *fakeServer) answer(conn net.Conn, reply string) {
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.open, conn)
		_ = conn.Close()
	}()
	sent := make([]byte, 64<<10)
	for {
		n, err := conn.Read(sent)
		if err != nil {
			return
		}
		// A reply to each command of a pipeline.
		for range max(1, bytes.Count(sent[:n], []byte("\r\n*"))+1) {
			if _, err := conn.Write([]byte(reply)); err != nil {
				return
			}
		}
	}
}

// close stops listening.
func (i *fakeServer) close() {
	_ = i.listener.Close()
	i.mu.Lock()
	for conn := range i.open {
		_ = conn.Close()
	}
	i.mu.Unlock()
	i.serving.Wait()
}

// A slowProxy forwards connections to a server. It can delay or block them.
type slowProxy struct {
	t testing.TB
	*toxiproxy.Proxy
}

// newSlowProxy returns a proxy for a server, without a delay.
func newSlowProxy(t testing.TB, to string) *slowProxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "line", "127.0.0.1:0", to)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return &slowProxy{t, proxy}
}

// delay delays all data from the server.
func (l *slowProxy) delay(by time.Duration) {
	l.t.Helper()
	l.add(fmt.Sprintf(`{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":%d}}`, by.Milliseconds()))
}

// block stops all data to the server, without closing connections.
func (l *slowProxy) block() {
	l.t.Helper()
	l.add(`{"name":"held","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
}

// add adds a toxic, which is a kind of disturbance.
func (l *slowProxy) add(toxic string) {
	l.t.Helper()
	if _, err := l.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		l.t.Fatal(err)
	}
}

// reset removes all disturbances.
func (l *slowProxy) reset() { l.Toxics.ResetToxics(context.Background()) }

// dsnThrough returns the DSN with the server's address replaced by that of the proxy.
func dsnThrough(dsn, server string, line *slowProxy) string {
	return strings.Replace(dsn, server, line.Listen, 1)
}

// newDemoServer starts a private PostgreSQL server with the demo store.
func newDemoServer(t testing.TB) (server *sqltest.Server, dsn string) {
	t.Helper()
	server = sqltest.StartPostgres(t)
	dsn = server.Database("shop")
	if err := demotest.Load(dsn); err != nil {
		t.Fatal(err)
	}
	return server, dsn
}
