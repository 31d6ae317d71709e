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
)

// A Server is a PostgreSQL server of one test's own, for the test to break. It
// listens on one port and keeps what was committed, whatever is done to it.
type Server struct {
	tb         testing.TB
	bin        string
	dir        string
	port       int
	attributes *syscall.SysProcAttr
	postmaster *exec.Cmd
	ended      chan struct{} // closed when the postmaster is gone
	keeper     *exec.Cmd
}

// OwnPostgres starts a server that goes with the test.
func OwnPostgres(tb testing.TB) *Server {
	tb.Helper()
	p := postgres()
	bin, err := p.find()
	require(tb, err)
	s := &Server{tb: tb, bin: bin}
	s.dir, err = os.MkdirTemp(parentFolder(), "portico-"+p.name+"-")
	require(tb, err)
	tb.Cleanup(func() {
		s.end()
		if err := os.RemoveAll(s.dir); err != nil {
			tb.Error(err)
		}
	})
	s.attributes, err = p.attributes(s.dir)
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

// Address returns where the server listens, host:port.
func (s *Server) Address() string { return (&server{port: s.port}).address() }

// Database returns the DSN, as of sqlstore.Options, of a new database.
func (s *Server) Database(name string) (dsn string) {
	s.tb.Helper()
	admin := s.administrator()
	defer func() { _ = admin.Close() }()
	_, err := admin.ExecContext(s.tb.Context(), "CREATE DATABASE "+name)
	require(s.tb, err)
	return postgres().url(s.port, name)
}

func (s *Server) administrator() *sql.DB {
	s.tb.Helper()
	p := postgres()
	admin, err := sql.Open(p.driver, p.admin(s.port))
	require(s.tb, err)
	return admin
}

// Start starts the server again after Kill, and returns when it answers.
func (s *Server) Start() {
	s.tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require(s.tb, err)
	defer func() { _ = log.Close() }()
	s.postmaster = postgres().serve(s.bin, s.dir, s.port)
	// What was acknowledged survives the end of the process, if not of the machine.
	s.postmaster.Args = append(s.postmaster.Args, "-c", "synchronous_commit=on")
	s.postmaster.Dir, s.postmaster.SysProcAttr = s.dir, s.attributes
	s.postmaster.Stdout, s.postmaster.Stderr = log, log
	require(s.tb, s.postmaster.Start())
	s.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait() // the log says why
		close(ended)
	}(s.postmaster, s.ended)
	s.keep()

	admin := s.administrator()
	defer func() { _ = admin.Close() }()
	ctx, cancel := context.WithTimeout(s.tb.Context(), startTimeout)
	defer cancel()
	for admin.PingContext(ctx) != nil {
		select {
		case <-s.ended:
			said, _ := os.ReadFile(log.Name()) // nothing if it cannot be read
			s.tb.Fatalf("the server ended at once\n%s", said)
		case <-ctx.Done():
			s.tb.Fatalf("no answer in %s", startTimeout)
		case <-time.After(pollEvery):
		}
	}
}

// keeper ends the server $1 and removes the folder $2 when standard input ends:
// however the test binary ends, and whatever the server is in the middle of.
const keeper = `
read -r end
kill -s CONT $(cat /proc/$1/task/$1/children) $1
kill -s QUIT $1
while kill -s 0 $1; do sleep 0.1; done
rm -rf "$2"
`

func (s *Server) keep() {
	s.tb.Helper()
	s.keeper = exec.Command("sh", "-c", keeper, "sh", strconv.Itoa(s.postmaster.Process.Pid), s.dir)
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe is open until this process ends, or the keeper is ended.
	_, err := s.keeper.StdinPipe()
	require(s.tb, err)
	require(s.tb, s.keeper.Start())
}

// Kill ends all processes of the server at once, as kill -9 does, and returns when
// they are gone.
func (s *Server) Kill() {
	s.tb.Helper()
	if !s.release() {
		return
	}
	processes := s.stop()
	for _, pid := range processes {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	<-s.ended
	for deadline := time.Now().Add(startTimeout); slices.ContainsFunc(processes, runs); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			s.tb.Fatal("the server does not end")
		}
	}
}

// end ends the server by the signal after which nothing of it is left, in memory
// shared by processes either.
func (s *Server) end() {
	if !s.release() {
		return
	}
	s.Resume()
	_ = s.postmaster.Process.Signal(syscall.SIGQUIT) // it may have ended
	<-s.ended
}

// release ends the keeper, because the numbers of processes are used again. It
// reports whether there is a server.
func (s *Server) release() bool {
	if s.keeper == nil {
		return false
	}
	_ = s.keeper.Process.Kill()
	_ = s.keeper.Wait()
	s.keeper = nil
	return true
}

// Pause stops all processes of the server, so that it answers nobody, and
// connections to it stay as they are.
func (s *Server) Pause() { s.stop() }

// Resume lets a server go on that was paused.
func (s *Server) Resume() {
	for _, pid := range append(s.children(), s.postmaster.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
}

// stop stops all processes of the server, and returns their numbers: the postmaster
// first, which then starts no more.
func (s *Server) stop() (processes []int) {
	postmaster := s.postmaster.Process.Pid
	_ = syscall.Kill(postmaster, syscall.SIGSTOP) // it may have ended
	processes = append(s.children(), postmaster)
	for _, pid := range processes {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	return processes
}

// children returns the processes that the postmaster has started.
func (s *Server) children() (processes []int) {
	postmaster := strconv.Itoa(s.postmaster.Process.Pid)
	listed, _ := os.ReadFile("/proc/" + postmaster + "/task/" + postmaster + "/children") // nothing if it has ended
	for _, word := range strings.Fields(string(listed)) {
		if pid, err := strconv.Atoi(word); err == nil {
			processes = append(processes, pid)
		}
	}
	return processes
}

// runs reports whether a process is there and has not ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// require fails the test unless err is nil. It skips it if that is because a server
// is not installed, except in CI.
func require(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errNotInstalled) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
