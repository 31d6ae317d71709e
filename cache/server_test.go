//go:build linux

package cache_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// A server is a redis-server on a free loopback port with its files in a temporary folder.
// It ends with the test.
type server struct {
	tb   testing.TB
	path string // of the program
	dir  string
	port string
	run  *exec.Cmd // nil if it is not running
}

// startRedis starts an empty server that stores its data on disk for a restart.
func startRedis(tb testing.TB) *server {
	tb.Helper()
	path := programs.Need(tb, "redis-server")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{tb: tb, path: path, dir: tb.TempDir(), port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	s.start()
	tb.Cleanup(func() {
		if s.run != nil {
			s.kill()
		}
	})
	return s
}

// start runs the server with the data in its folder, and waits until it answers.
func (s *server) start() {
	s.tb.Helper()
	output, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer output.Close()
	s.run = exec.Command(s.path, "--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir, "--save", "", "--daemonize", "no")
	s.run.Stdout, s.run.Stderr = output, output
	s.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.run.Start(); err != nil {
		s.tb.Fatal(err)
	}
	client := s.client()
	deadline := time.Now().Add(30 * time.Second)
	for client.Ping(s.tb.Context()).Err() != nil {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(output.Name())
			s.tb.Fatalf("redis-server does not answer:\n%s", said)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// client returns a client that is independent of the cache.
func (s *server) client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.port, DialerRetries: 1, MaxRetries: -1})
	s.tb.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *server) url() string { return "redis://127.0.0.1:" + s.port }

// save writes the data to disk for a restart.
func (s *server) save() {
	s.tb.Helper()
	if err := s.client().Save(s.tb.Context()).Err(); err != nil {
		s.tb.Fatal(err)
	}
}

// kill stops the server immediately.
func (s *server) kill() {
	s.tb.Helper()
	if err := s.run.Process.Kill(); err != nil {
		s.tb.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.run.Wait(); err != nil && !errors.As(err, &exit) {
		s.tb.Fatal(err)
	}
	s.run = nil
}

// pause stops the process until resume.
func (s *server) pause()  { s.signal(syscall.SIGSTOP) }
func (s *server) resume() { s.signal(syscall.SIGCONT) }

func (s *server) signal(signal syscall.Signal) {
	s.tb.Helper()
	if err := s.run.Process.Signal(signal); err != nil {
		s.tb.Fatal(err)
	}
}

// empty removes the data that a stopped server has saved.
func (s *server) empty() {
	s.tb.Helper()
	if err := os.Remove(filepath.Join(s.dir, "dump.rdb")); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.tb.Fatal(err)
	}
}
