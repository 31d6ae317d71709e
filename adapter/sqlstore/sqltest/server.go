//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// A Server is a server of a single test, which the test may kill or pause. It keeps its port,
// and all committed data.
type Server struct {
	tb              testing.TB
	program         *program
	bin             string
	dir             string
	port            int
	attributes      *syscall.SysProcAttr
	main            *exec.Cmd     // the process that starts the others, if there are any
	ended           chan struct{} // closed when main has exited
	watchdogProcess *exec.Cmd
}

// StartPostgres starts a PostgreSQL server that is shut down and removed when the test ends.
func StartPostgres(tb testing.TB) *Server {
	tb.Helper()
	return startFor(tb, postgres())
}

// StartMariaDB is StartPostgres for MariaDB.
func StartMariaDB(tb testing.TB) *Server {
	tb.Helper()
	return startFor(tb, mariaDB(withoutLog()...))
}

// StartLoggedMariaDB is StartMariaDB for a server that writes a binary log of rows.
func StartLoggedMariaDB(tb testing.TB) *Server {
	tb.Helper()
	return startFor(tb, mariaDB(withLog()...))
}

// startFor starts a server for a test.
func startFor(tb testing.TB, p *program) *Server {
	tb.Helper()
	bin, err := p.find()
	require(tb, err)
	s := &Server{tb: tb, program: p, bin: bin}
	s.dir, err = os.MkdirTemp(programs.MemoryFolder(), "portico-"+p.name+"-")
	require(tb, err)
	tb.Cleanup(func() {
		s.shutDown()
		if err := os.RemoveAll(s.dir); err != nil {
			tb.Error(err)
		}
	})
	s.attributes, err = p.processAttributes(s.dir)
	require(tb, err)
	initialize := p.initialize(bin, s.dir)
	initialize.Dir, initialize.SysProcAttr = s.dir, s.attributes
	if output, err := initialize.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, output)
	}
	s.port, err = freePort()
	require(tb, err)
	s.Start()
	return s
}

// Address returns the address of the server, host:port.
func (s *Server) Address() string { return (&server{port: s.port}).address() }

// Database creates a database and returns its DSN in the form of sqlstore.Options.
func (s *Server) Database(name string) (dsn string) {
	s.tb.Helper()
	admin := s.administrator()
	defer func() { _ = admin.Close() }()
	_, err := admin.ExecContext(s.tb.Context(), "CREATE DATABASE "+name)
	require(s.tb, err)
	return s.program.url(s.port, name)
}

func (s *Server) administrator() *sql.DB {
	s.tb.Helper()
	admin, err := sql.Open(s.program.driver, s.program.admin(s.port))
	require(s.tb, err)
	return admin
}

// Start starts the server again after Kill, and returns when it accepts connections.
func (s *Server) Start() {
	s.tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require(s.tb, err)
	defer func() { _ = log.Close() }()
	s.main = s.program.serve(s.bin, s.dir, s.port)
	s.main.Args = append(s.main.Args, s.program.durable...)
	s.main.Dir, s.main.SysProcAttr = s.dir, s.attributes
	s.main.Stdout, s.main.Stderr = log, log
	require(s.tb, s.main.Start())
	s.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait() // the log says why
		close(ended)
	}(s.main, s.ended)
	s.startWatchdog()

	admin := s.administrator()
	defer func() { _ = admin.Close() }()
	ctx, cancel := context.WithTimeout(s.tb.Context(), startTimeout)
	defer cancel()
	for admin.PingContext(ctx) != nil {
		select {
		case <-s.ended:
			said, _ := os.ReadFile(log.Name()) // nothing if it cannot be read
			s.tb.Fatalf("the server exited during its start\n%s", said)
		case <-ctx.Done():
			s.tb.Fatalf("no answer in %s", startTimeout)
		case <-time.After(pollEvery):
		}
	}
}

// watchdogScript shuts down the server $1 by the signal $3 and removes the folder $2 when
// standard input is closed, which happens however the test binary ends. It works for a paused
// server as well.
const watchdogScript = `
read -r end
kill -s CONT $(cat /proc/$1/task/$1/children) $1
kill -s "$3" $1
while kill -s 0 $1; do sleep 0.1; done
rm -rf "$2"
`

func (s *Server) startWatchdog() {
	s.tb.Helper()
	s.watchdogProcess = exec.Command("sh", "-c", watchdogScript, "sh", strconv.Itoa(s.main.Process.Pid), s.dir, s.program.stop)
	s.watchdogProcess.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe stays open until this process ends or stopWatchdog kills the watchdog.
	_, err := s.watchdogProcess.StdinPipe()
	require(s.tb, err)
	require(s.tb, s.watchdogProcess.Start())
}

// Kill kills all processes of the server, as kill -9 does, and returns when they are
// gone.
func (s *Server) Kill() {
	s.tb.Helper()
	if !s.stopWatchdog() {
		return
	}
	processes := s.stop()
	for _, pid := range processes {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	<-s.ended
	for deadline := time.Now().Add(startTimeout); slices.ContainsFunc(processes, isRunning); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			s.tb.Fatal("the server does not end")
		}
	}
}

// shutDown stops the server by the signal that makes it release all its resources.
func (s *Server) shutDown() {
	if !s.stopWatchdog() {
		return
	}
	s.Resume()
	_ = s.main.Process.Signal(unix.SignalNum("SIG" + s.program.stop)) // it may have ended
	<-s.ended
}

// stopWatchdog stops the watchdog, as the system may reuse the process ids that it
// would kill. It reports whether the server was running.
func (s *Server) stopWatchdog() bool {
	if s.watchdogProcess == nil {
		return false
	}
	_ = s.watchdogProcess.Process.Kill()
	_ = s.watchdogProcess.Wait()
	s.watchdogProcess = nil
	return true
}

// Pause suspends all processes of the server. It then answers nothing, but connections
// to it stay open.
func (s *Server) Pause() { s.stop() }

// Resume continues a paused server.
func (s *Server) Resume() {
	for _, pid := range append(s.children(), s.main.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
}

// stop suspends all processes of the server and returns their ids. The main one comes first,
// so that it starts no more processes.
func (s *Server) stop() (processes []int) {
	first := s.main.Process.Pid
	suspend(first)
	processes = append(s.children(), first)
	for _, pid := range processes {
		suspend(pid)
	}
	return processes
}

// suspend suspends a process, unless it has ended. It returns once all its threads have stopped,
// as each of them goes on until it notices the signal.
func suspend(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for end := time.Now().Add(startTimeout); !isSuspended(pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// isSuspended reports whether no thread of a process runs.
func isSuspended(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none if it has ended
	return !slices.ContainsFunc(threads, func(file string) bool {
		stat, err := os.ReadFile(file)
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.ContainsAny(state[:min(len(state), 1)], "TtZX")
	})
}

// children returns the ids of the processes that the main one has started. MariaDB has none.
func (s *Server) children() (processes []int) {
	first := strconv.Itoa(s.main.Process.Pid)
	listed, _ := os.ReadFile("/proc/" + first + "/task/" + first + "/children") // nothing if it has ended
	for _, word := range strings.Fields(string(listed)) {
		if pid, err := strconv.Atoi(word); err == nil {
			processes = append(processes, pid)
		}
	}
	return processes
}

// isRunning reports whether a process exists and has not exited.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// require fails the test if err is not nil. If the reason is that the server is not
// installed, it skips the test, except in CI.
func require(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errNotInstalled) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
