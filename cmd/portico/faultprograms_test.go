//go:build linux

package main

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

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// pollEvery is the pause between two looks at what tells nobody that it changes.
const pollEvery = 10 * time.Millisecond

// await returns once done says so. It fails the test if that takes too long.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !done(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", hang, what)
		}
	}
}

// A redisServer is a redis-server of one test's own, for the test to break. It
// listens on one port, and has on disk what it has acknowledged.
type redisServer struct {
	t       testing.TB
	dir     string
	address string // host:port
	cmd     *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

// newRedis starts a server that goes with the test.
func newRedis(t testing.TB) *redisServer {
	t.Helper()
	programs.Need(t, "redis-server")
	r := &redisServer{t: t, dir: t.TempDir(), address: freeAddress(t)}
	r.start()
	t.Cleanup(r.kill)
	return r
}

// freeAddress returns an address of the loopback interface that nothing listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func (r *redisServer) url() string { return "redis://" + r.address }

// start starts the server, again after kill, and returns when it answers.
func (r *redisServer) start() {
	r.t.Helper()
	host, port, err := net.SplitHostPort(r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	said := &bytes.Buffer{}
	r.cmd = exec.Command("redis-server", "--bind", host, "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "no")
	// It ends with the tests, however they end.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	r.ended = ended
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // killed, or it says why
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

// kill ends the server as kill -9 does, and returns when it is gone.
func (r *redisServer) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

// pause stops the server, so that it answers nobody and connections stay.
func (r *redisServer) pause() { r.signal(syscall.SIGSTOP) }

// resume lets a server go on that was paused.
func (r *redisServer) resume() { r.signal(syscall.SIGCONT) }

func (r *redisServer) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// forget removes what a server has on disk that was killed.
func (r *redisServer) forget() {
	r.t.Helper()
	if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "appendonlydir")), os.RemoveAll(filepath.Join(r.dir, "dump.rdb"))); err != nil {
		r.t.Fatal(err)
	}
}

// An impostor listens where a server should, and answers with something else.
type impostor struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	serving  sync.WaitGroup
}

// newImpostor answers whatever is sent to an address with reply, until closed.
func newImpostor(t testing.TB, address, reply string) *impostor {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{listener: listener, open: map[net.Conn]bool{}}
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

func (i *impostor) answer(conn net.Conn, reply string) {
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

// close frees the address.
func (i *impostor) close() {
	_ = i.listener.Close()
	i.mu.Lock()
	for conn := range i.open {
		_ = conn.Close()
	}
	i.mu.Unlock()
	i.serving.Wait()
}

// A slowLine stands between a client and a server, and can be made slow or held.
type slowLine struct {
	t testing.TB
	*toxiproxy.Proxy
}

// newSlowLine returns a line to an address, which does nothing yet.
func newSlowLine(t testing.TB, to string) *slowLine {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "line", "127.0.0.1:0", to)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return &slowLine{t, proxy}
}

// delay makes all that the server says arrive later.
func (l *slowLine) delay(by time.Duration) {
	l.t.Helper()
	l.add(fmt.Sprintf(`{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":%d}}`, by.Milliseconds()))
}

// hold lets nothing through to the server, and breaks no connection.
func (l *slowLine) hold() {
	l.t.Helper()
	l.add(`{"name":"held","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
}

func (l *slowLine) add(toxic string) {
	l.t.Helper()
	if _, err := l.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		l.t.Fatal(err)
	}
}

// mend makes the line what it was.
func (l *slowLine) mend() { l.Toxics.ResetToxics(context.Background()) }

// through returns the DSN of a database by way of a line to its server.
func through(dsn, server string, line *slowLine) string {
	return strings.Replace(dsn, server, line.Listen, 1)
}

// newDemoServer starts a PostgreSQL server of the test's own, which holds the demo
// store.
func newDemoServer(t testing.TB) (server *sqltest.Server, dsn string) {
	t.Helper()
	server = sqltest.StartPostgres(t)
	dsn = server.Database("shop")
	loadDemo(t, dsn)
	return server, dsn
}

// loadDemo fills an empty database with the demo store.
func loadDemo(t testing.TB, dsn string) {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Load(t.Context(), data, nil), db.Close()); err != nil {
		t.Fatal(err)
	}
}
