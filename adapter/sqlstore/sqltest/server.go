//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/portico-commerce/portico/config/testenv"
)

// A Server is a running server, of one test or of all tests of a go command. A test may kill or pause its
// own one, which keeps its port and all committed data.
type Server struct {
	*program
	tb              testing.TB // of the test that owns the server, or nil
	bin             string
	dir             string
	port            int
	attributes      *syscall.SysProcAttr
	arguments       []string      // besides the arguments of program.serve
	main            *exec.Cmd     // the process that starts the others, if there are any
	ended           chan struct{} // closed when main has exited
	watchdogProcess *exec.Cmd
	admin           *sql.DB
	databases       atomic.Int64
	owner           int    // of a shared server: the process with which it ends
	shared          string // of a shared server: the file with its port, which is also its lock
}

// StartPostgres starts a PostgreSQL server that is shut down and removed when the test ends.
func StartPostgres(tb testing.TB) *Server {
	tb.Helper()
	return startFor(tb, postgres())
}

// StartLargePostgres is StartPostgres for databases that do not fit into memory: the server keeps its
// files in the folder for temporary files, and has buffers, vacuuming and plans as in use.
func StartLargePostgres(tb testing.TB) *Server {
	tb.Helper()
	p := postgres()
	p.filesIn = os.TempDir()
	p.durable = append(p.durable, "-c", "shared_buffers=1GB", "-c", "autovacuum=on", "-c", "max_wal_size=16GB", "-c", "checkpoint_timeout=1h")
	return startFor(tb, p)
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

// NewMariaDB is StartMariaDB for a server that first runs when StartWith is called. It writes no binary
// log.
func NewMariaDB(tb testing.TB) *Server {
	tb.Helper()
	p := mariaDB(withoutLog()...)
	s := &Server{program: p}
	require(tb, s.initializeFolder(p.durable...))
	s.own(tb)
	return s
}

// startFor starts a server for a test.
func startFor(tb testing.TB, p *program) *Server {
	tb.Helper()
	s, err := start(p, p.durable...)
	require(tb, err)
	s.own(tb)
	return s
}

// own removes the server when a test ends.
func (s *Server) own(tb testing.TB) {
	s.tb = tb
	tb.Cleanup(func() {
		if err := s.remove(); err != nil {
			tb.Error(err)
		}
	})
}

// start initializes and starts a server, and waits until it accepts connections.
func start(p *program, arguments ...string) (*Server, error) {
	s := &Server{program: p}
	return s, s.start(arguments...)
}

func (s *Server) start(arguments ...string) error {
	if err := s.initializeFolder(arguments...); err != nil {
		return err
	}
	if err := s.run(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.name, err), s.remove())
	}
	return nil
}

// initializeFolder makes the folder of a server, with its files.
func (s *Server) initializeFolder(arguments ...string) (err error) {
	if s.bin, err = s.find(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp(s.filesIn, "portico-"+s.name+"-"); err != nil {
		return err
	}
	s.arguments = arguments
	if err := s.initializeFiles(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.name, err), s.remove())
	}
	return nil
}

func (s *Server) initializeFiles() (err error) {
	if s.attributes, err = s.processAttributes(s.dir); err != nil {
		return err
	}
	initialize := s.initialize(s.bin, s.dir)
	initialize.Dir, initialize.SysProcAttr = s.dir, s.attributes
	if output, err := initialize.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	if s.port, err = testenv.FreePort(); err != nil {
		return err
	}
	s.admin, err = sql.Open(s.driver, s.program.admin(s.port))
	return err
}

// remove stops the server and removes its folder.
func (s *Server) remove() error {
	s.shutDown()
	if s.admin != nil {
		_ = s.admin.Close()
	}
	return os.RemoveAll(s.dir)
}

// Address returns the address of the server, host:port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Database creates a database and returns its DSN in the form of sqlstore.Options.
func (s *Server) Database(name string) (dsn string) {
	s.tb.Helper()
	_, err := s.admin.ExecContext(s.tb.Context(), "CREATE DATABASE "+name)
	require(s.tb, err)
	return s.url(s.port, name)
}

// Start starts the server again after Kill, and returns when it accepts connections.
func (s *Server) Start() {
	s.tb.Helper()
	require(s.tb, s.run())
}

// StartWith is Start with further arguments.
func (s *Server) StartWith(arguments ...string) {
	s.tb.Helper()
	require(s.tb, s.run(arguments...))
}

// Command returns a command that runs the server's program on the files of the server, which must not be
// running.
func (s *Server) Command(arguments ...string) *exec.Cmd {
	command := s.serve(s.bin, s.dir, s.port)
	command.Args = slices.Concat(command.Args, s.arguments, arguments)
	command.Dir, command.SysProcAttr = s.dir, s.attributes
	return command
}

// URL returns the DSN of a database of the server in the form of sqlstore.Options.
func (s *Server) URL(database string) (dsn string) { return s.url(s.port, database) }

// Admin returns connections to the server as an administrator.
func (s *Server) Admin() *sql.DB { return s.admin }

func (s *Server) run(arguments ...string) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.main = s.Command(arguments...)
	s.main.Stdout, s.main.Stderr = log, log
	if err := s.main.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait() // the log says why
		close(ended)
	}(s.main, s.ended)
	if err := s.startWatchdog(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for s.admin.PingContext(ctx) != nil {
		select {
		case <-s.ended:
			said, _ := os.ReadFile(log.Name()) // nothing if it cannot be read
			return fmt.Errorf("the server exited during its start\n%s", said)
		case <-ctx.Done():
			return fmt.Errorf("no answer in %s", startTimeout)
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// watchdogScript shuts down the server $1 by the signal $3 and removes the folder $2 when standard
// input is closed, which happens however the test binary ends. For a shared server with the file $5 it
// does so when the process $4 has ended. It works for a paused server as well, and where no process waits
// for processes whose parents have ended.
const watchdogScript = `
runs() { read -r stat </proc/$1/stat && case $stat in *") Z "*) false ;; esac; }
if [ -n "$5" ]; then
  while runs $4; do sleep 0.5; done
else
  read -r end
fi
kill -s CONT $(cat /proc/$1/task/$1/children) $1
kill -s "$3" $1
while runs $1; do sleep 0.1; done
rm -rf "$2" ${5:+"$5"}
`

func (s *Server) startWatchdog() error {
	watchdog := exec.Command("sh", "-c", watchdogScript, "sh", strconv.Itoa(s.main.Process.Pid), s.dir, s.program.stop, strconv.Itoa(s.owner), s.shared)
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe stays open until this process ends or stopWatchdog kills the watchdog.
	if _, err := watchdog.StdinPipe(); err != nil {
		return err
	}
	if err := watchdog.Start(); err != nil {
		return err
	}
	s.watchdogProcess = watchdog
	return nil
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
