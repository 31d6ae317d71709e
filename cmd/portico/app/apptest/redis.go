//go:build linux

package apptest

import (
	"bufio"
	"bytes"
	"errors"
	"github.com/portico-commerce/portico/config/testenv"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A Redis is a private redis-server that a test can break. It keeps its port, and
// persists all acknowledged writes.
type Redis struct {
	t         testing.TB
	dir       string
	arguments []string
	Address   string // host:port
	cmd       *exec.Cmd
	ended     chan struct{} // closed when it has ended
}

// NewRedis starts a server that is stopped at the end of the test, with more arguments.
func NewRedis(t testing.TB, arguments ...string) *Redis {
	t.Helper()
	testenv.Need(t, "redis-server")
	r := &Redis{t: t, dir: t.TempDir(), arguments: arguments, Address: testenv.FreeAddress(t)}
	r.Start()
	t.Cleanup(r.Kill)
	return r
}

// URL returns the URL of the server.
func (r *Redis) URL() string { return "redis://" + r.Address }

// PID returns the id of its process.
func (r *Redis) PID() int { return r.cmd.Process.Pid }

// Start starts the server, or restarts it after Kill, and waits until it answers.
func (r *Redis) Start() {
	r.t.Helper()
	host, port, err := net.SplitHostPort(r.Address)
	if err != nil {
		r.t.Fatal(err)
	}
	said := &bytes.Buffer{}
	r.cmd = exec.Command("redis-server", append([]string{"--bind", host, "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "no"}, r.arguments...)...)
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
	testenv.Await(r.t, "an answer of redis-server", func() bool {
		select {
		case <-ended:
			r.t.Fatalf("redis-server ended\n%s", said)
		default:
		}
		conn, err := net.Dial("tcp", r.Address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte("PING\r\n"))
		answer, _ := bufio.NewReader(conn).ReadString('\n') // while it reads its files, an error
		return err == nil && answer == "+PONG\r\n"
	})
}

// Kill ends the server with SIGKILL and waits until it is gone.
func (r *Redis) Kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

// Pause stops the process: it does not answer, and its connections stay open.
func (r *Redis) Pause() { r.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (r *Redis) Resume() { r.signal(syscall.SIGCONT) }

// signal sends a signal to the server.
func (r *Redis) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// DeleteData removes the files of a killed server.
func (r *Redis) DeleteData() {
	r.t.Helper()
	if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "appendonlydir")), os.RemoveAll(filepath.Join(r.dir, "dump.rdb"))); err != nil {
		r.t.Fatal(err)
	}
}

// Command sends one command to the server and returns the first line of the reply.
func (r *Redis) Command(command string) (answer string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Address)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		r.t.Fatal(err)
	}
	if answer, err = bufio.NewReader(conn).ReadString('\n'); err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}
