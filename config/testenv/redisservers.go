//go:build linux

package testenv

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A Redis is one process: a Redis server or a Sentinel.
type Redis struct {
	// Address is the host and port on which clients connect.
	Address string

	t         testing.TB
	dir       string
	arguments []string
	cmd       *exec.Cmd
	ended     <-chan struct{} // closed when the process has ended
	client    *redis.Client
}

// NewRedis starts a server in a new folder with arguments of redis-server, and waits until it answers.
func NewRedis(t testing.TB, arguments ...string) *Redis {
	t.Helper()
	Need(t, "redis-server")
	s := &Redis{t: t, Address: FreeAddress(t), dir: t.TempDir(), arguments: arguments}
	s.client = redis.NewClient(&redis.Options{Addr: s.Address, DialerRetries: 1, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = s.client.Close() })
	s.Start()
	return s
}

// URL returns the URL of the server.
func (s *Redis) URL() string { return "redis://" + s.Address }

// PID returns the id of its process.
func (s *Redis) PID() int { return s.cmd.Process.Pid }

// Start starts a killed server again, on the same port and with the data of its folder.
func (s *Redis) Start() {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.Address)
	output := &bytes.Buffer{}
	s.cmd = exec.Command("redis-server", append(s.arguments, "--bind", "127.0.0.1", "--port", port, "--dir", s.dir)...)
	// The server must end with the tests, even if they crash.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s.cmd.Stdout, s.cmd.Stderr = output, output
	ended := StartProgram(s.t, s.cmd)
	s.ended = ended
	Await(s.t, "an answer of redis-server", func() bool {
		select {
		case <-ended:
			s.t.Fatalf("redis-server ended\n%s", output)
		default:
		}
		conn, err := net.Dial("tcp", s.Address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte("PING\r\n"))
		answer, _ := bufio.NewReader(conn).ReadString('\n') // while it reads its files, an error
		return err == nil && answer == "+PONG\r\n"
	})
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (s *Redis) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
}

// Pause stops the process: it does not answer, and its connections stay open.
func (s *Redis) Pause() { s.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (s *Redis) Resume() { s.signal(syscall.SIGCONT) }

func (s *Redis) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// DeleteData removes the files of a killed server.
func (s *Redis) DeleteData() {
	s.t.Helper()
	if err := errors.Join(os.RemoveAll(filepath.Join(s.dir, "appendonlydir")), os.RemoveAll(filepath.Join(s.dir, "dump.rdb"))); err != nil {
		s.t.Fatal(err)
	}
}

// Command sends one command to the server and returns the first line of the reply.
func (s *Redis) Command(command string) (answer string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		s.t.Fatal(err)
	}
	if answer, err = bufio.NewReader(conn).ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// do sends a command, whose failure fails the test.
func (s *Redis) do(command ...any) {
	s.t.Helper()
	if err := s.client.Do(s.t.Context(), command...).Err(); err != nil {
		s.t.Fatalf("%v: %v", command, err)
	}
}

// info returns a field of the reply to INFO or CLUSTER INFO, or "" if the server does not answer.
func (s *Redis) info(field string, command ...any) string {
	text, err := s.client.Do(s.t.Context(), command...).Text()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// dataArguments returns the arguments of a server that keeps its data.
func dataArguments() []string {
	return []string{"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"}
}

// writeFile writes a file into a new folder and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
