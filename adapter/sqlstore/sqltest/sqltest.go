//go:build linux

// Package sqltest gives tests databases on real servers.
//
// # Principles
//
//  1. A test binary starts at most one server of each kind, on a free port of the
//     loopback interface and in a temporary folder, which is in memory if there is
//     room. It does not touch other servers on the machine.
//  2. Every call returns a new database, which is removed when the test ends. It is empty
//     or a copy of a [Template].
//  3. However the test binary ends, the server is stopped and its folder removed: a shell
//     script watches a pipe that closes with the binary.
//  4. If a server is not installed, the test is skipped. With CI=true in the environment
//     it fails instead, so that CI leaves nothing out unnoticed.
//  5. A test that kills or pauses its server starts one of its own ([StartPostgres],
//     [StartMariaDB], [StartLoggedMariaDB]). What it has committed survives that.
//
// # How it is tested
//
// On real servers, and by killing a test binary in the middle of a test.
package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/programs"
)

const (
	// startTimeout bounds the initialization and the start of a server.
	startTimeout = 2 * time.Minute
	// pollEvery is the pause between two attempts to connect to a new server.
	pollEvery = 20 * time.Millisecond
)

// A program is a kind of database server.
type program struct {
	name    string
	command string   // executable of the server
	pkg     string   // Debian package that contains it
	folders []string // patterns of folders to search besides PATH
	users   []string // users to run it as if the tests run as root
	stop    string   // signal that stops it immediately and releases all its resources

	// initialize returns the command that creates the files of a new server in
	// dir/data.
	initialize func(bin, dir string) *exec.Cmd
	// serve returns the command that runs a server on those files in the foreground.
	serve  func(bin, dir string, port int) *exec.Cmd
	driver string
	// admin returns the DSN of an administrator in the driver's form, and url the DSN of
	// a database in the form of sqlstore.Options.
	admin func(port int) string
	url   func(port int, database string) string
	drop  string // format of the statement that removes a database
	// durable are arguments of serve with which acknowledged commits survive the end of the
	// server's processes, though not that of the machine.
	durable []string
}

// A server is a running server.
type server struct {
	*program
	dir       string
	port      int
	admin     *sql.DB
	databases atomic.Int64
}

// address returns the address of the server, host:port.
func (s *server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Postgres returns the DSN, in the form of sqlstore.Options, of an empty PostgreSQL
// database that is removed when the test ends.
func Postgres(tb testing.TB) (dsn string) {
	tb.Helper()
	return database(tb, startPostgres)
}

// MariaDB returns the DSN, in the form of sqlstore.Options, of an empty MariaDB
// database that is removed when the test ends.
func MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return database(tb, startMariaDB)
}

// LoggedMariaDB is MariaDB for a server that writes a binary log of rows. It is another server
// than that of MariaDB.
func LoggedMariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return database(tb, startLoggedMariaDB)
}

// The servers of this test binary, started on first use.
var (
	startPostgres      = sync.OnceValues(func() (*server, error) { return start(postgres()) })
	startMariaDB       = sync.OnceValues(func() (*server, error) { return start(mariaDB(withoutLog()...)) })
	startLoggedMariaDB = sync.OnceValues(func() (*server, error) { return start(mariaDB(withLog()...)) })
)

// errNotInstalled means that the executable of a server was not found.
var errNotInstalled = errors.New("is not installed")

func database(tb testing.TB, start func() (*server, error)) string {
	tb.Helper()
	s, err := start()
	require(tb, err)
	return s.database(tb, "")
}

// database creates a database that is removed when the test ends. options follow its
// name in the CREATE statement.
func (s *server) database(tb testing.TB, options string) (dsn string) {
	tb.Helper()
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	if _, err := s.admin.ExecContext(tb.Context(), "CREATE DATABASE "+name+options); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := s.admin.ExecContext(context.WithoutCancel(tb.Context()), fmt.Sprintf(s.drop, name)); err != nil {
			tb.Error(err)
		}
	})
	return s.url(s.port, name)
}

// start initializes and starts a server, and waits until it accepts connections.
func start(p *program) (*server, error) {
	bin, err := p.find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(programs.MemoryFolder(), "portico-"+p.name+"-")
	if err != nil {
		return nil, err
	}
	s, err := p.startIn(bin, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), os.RemoveAll(dir))
	}
	return s, nil
}

// find returns the folder of the server's executables.
func (p *program) find() (bin string, err error) {
	if path, err := exec.LookPath(p.command); err == nil {
		return filepath.Dir(path), nil
	}
	for _, folder := range p.folders {
		found, err := filepath.Glob(filepath.Join(folder, p.command))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Dir(found[len(found)-1]), nil // the newest version
		}
	}
	return "", fmt.Errorf("%s %w: install the package %s", p.command, errNotInstalled, p.pkg)
}

func (p *program) startIn(bin, dir string) (*server, error) {
	attributes, err := p.processAttributes(dir)
	if err != nil {
		return nil, err
	}
	initialize := p.initialize(bin, dir)
	initialize.Dir, initialize.SysProcAttr = dir, attributes
	if output, err := initialize.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	// The file stays open until this process ends, as the folder may be removed before.
	output, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	ended, err := p.watch(p.serve(bin, dir, port), dir, output, attributes)
	if err != nil {
		return nil, err
	}
	admin, err := sql.Open(p.driver, p.admin(port))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for admin.PingContext(ctx) != nil {
		select {
		case <-ended:
			said := make([]byte, 10_000)
			n, _ := output.ReadAt(said, 0) // nothing if it cannot be read
			return nil, fmt.Errorf("the server exited during its start\n%s", said[:n])
		case <-ctx.Done():
			return nil, fmt.Errorf("no answer in %s", startTimeout)
		case <-time.After(pollEvery):
		}
	}
	return &server{program: p, dir: dir, port: port, admin: admin}, nil
}

// processAttributes returns how to run the executables: in a process group of their
// own, which an interrupt from the terminal does not reach, and not as root, which
// servers refuse. It makes the user that they run as the owner of dir.
func (p *program) processAttributes(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	for _, name := range p.users {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attributes, os.Chown(dir, int(uid), int(gid))
	}
	return nil, fmt.Errorf("cannot run it as root, and none of the users %v exists", p.users)
}

// watchScript runs the server "$@" until standard input is closed, then stops it by the
// signal $STOP and removes the folder $DIR.
const watchScript = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
( read -r end <&3; kill -s "$STOP" $server ) 2>/dev/null &
exec 3<&-
wait $server
cd /
rm -rf "$DIR"
`

// watch starts a server whose output goes to output and which stops when this process
// ends for whatever reason. The channel is closed when the server has exited.
func (p *program) watch(serve *exec.Cmd, dir string, output *os.File, attributes *syscall.SysProcAttr) (ended <-chan struct{}, err error) {
	watched := exec.Command("sh", append([]string{"-c", watchScript, "sh"}, serve.Args...)...)
	watched.Dir, watched.SysProcAttr = dir, attributes
	watched.Env = append(os.Environ(), "STOP="+p.stop, "DIR="+dir)
	watched.Stdout, watched.Stderr = output, output
	// The pipe is never closed explicitly, so it stays open until this process ends.
	if _, err := watched.StdinPipe(); err != nil {
		return nil, err
	}
	if err := watched.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = watched.Wait() // the log says why
	}()
	return done, nil
}

// freePort returns a port of the loopback interface that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
