//go:build linux

// Package sqltest gives tests databases on real servers.
//
// # Principles
//
//  1. A test binary starts at most one server of a kind, on a free port of the
//     loopback interface and in a temporary folder, in memory where there is room.
//     Servers that run on the
//     machine anyway are left alone.
//  2. Every call gets a database of its own, which goes with the test. It is empty, or
//     a copy of a [Template].
//  3. However the test binary ends, the server ends with it and its folder is
//     removed: a small shell watches a pipe that closes with the binary.
//  4. A server that is not installed skips the test, and fails it where the
//     environment says CI=true, so that nothing is left out there unseen.
//  5. A test that breaks its server, to see what becomes of its clients, has one
//     of its own.
//
// # How it is tested
//
// On the servers themselves, and by ending a test binary in the middle of a test.
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
)

const (
	// startTimeout bounds making and starting a server.
	startTimeout = 2 * time.Minute
	// pollEvery is the pause between two attempts to connect to a new server.
	pollEvery = 20 * time.Millisecond
)

// A program is a kind of database server.
type program struct {
	name    string
	command string // that is looked for, and its Debian package
	pkg     string
	folders []string // beside PATH, patterns of folders that hold it
	users   []string // it may run as, when the tests run as root
	stop    string   // the signal that ends it at once and leaves nothing behind

	// initialize makes the files of a new server in dir/data.
	initialize func(bin, dir string) *exec.Cmd
	// serve runs a server on them in the foreground.
	serve  func(bin, dir string, port int) *exec.Cmd
	driver string
	// admin is the driver's DSN of an administrator, and url the DSN of a new
	// database in the form of sqlstore.Options.
	admin func(port int) string
	url   func(port int, database string) string
	drop  string // statement that removes a database, a format of its name
}

// A server is a server that runs.
type server struct {
	*program
	dir       string
	port      int
	admin     *sql.DB
	databases atomic.Int64
}

// address returns where the server listens.
func (s *server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Postgres returns the DSN, as of sqlstore.Options, of an empty PostgreSQL
// database that is removed when the test ends.
func Postgres(tb testing.TB) (dsn string) {
	tb.Helper()
	return database(tb, startPostgres)
}

// MariaDB returns the DSN, as of sqlstore.Options, of an empty MariaDB database
// that is removed when the test ends.
func MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return database(tb, startMariaDB)
}

// The servers of this test binary, started when first asked for.
var (
	startPostgres = sync.OnceValues(func() (*server, error) { return start(postgres()) })
	startMariaDB  = sync.OnceValues(func() (*server, error) { return start(mariaDB()) })
)

// errNotInstalled: the program of a server was not found.
var errNotInstalled = errors.New("is not installed")

func database(tb testing.TB, start func() (*server, error)) string {
	tb.Helper()
	s, err := start()
	require(tb, err)
	return s.database(tb, "")
}

// database creates a database that is removed when the test ends. options come after
// its name in the statement.
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

// start makes a server and waits until it answers.
func start(p *program) (*server, error) {
	bin, err := p.find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parentFolder(), "portico-"+p.name+"-")
	if err != nil {
		return nil, err
	}
	s, err := p.startIn(bin, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), os.RemoveAll(dir))
	}
	return s, nil
}

// parentFolder returns where the folder of a server is made: in memory, which
// makes creating databases several times as fast, or "" for the usual place.
func parentFolder() string {
	const folder, room = "/dev/shm", 1 << 30
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return ""
	}
	return folder
}

// find returns the folder of the programs.
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
	return "", fmt.Errorf("%s %w: the package %s brings it", p.command, errNotInstalled, p.pkg)
}

func (p *program) startIn(bin, dir string) (*server, error) {
	attributes, err := p.attributes(dir)
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
	// Open until this process ends, because the folder goes with the server.
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
			return nil, fmt.Errorf("the server ended at once\n%s", said[:n])
		case <-ctx.Done():
			return nil, fmt.Errorf("no answer in %s", startTimeout)
		case <-time.After(pollEvery):
		}
	}
	return &server{program: p, dir: dir, port: port, admin: admin}, nil
}

// attributes returns how to run the programs: in a process group of their own,
// which an interrupt from the terminal does not reach, and not as root, which
// servers refuse. dir is given to the user they run as.
func (p *program) attributes(dir string) (*syscall.SysProcAttr, error) {
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
	return nil, fmt.Errorf("none of the users %v is there to run it as", p.users)
}

// watcher runs the server "$@" until standard input ends, then ends it by the
// signal $STOP and removes the folder $DIR.
const watcher = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
( read -r end <&3; kill -s "$STOP" $server ) 2>/dev/null &
exec 3<&-
wait $server
cd /
rm -rf "$DIR"
`

// watch starts a server that ends with this process, however that ends, and
// writes to output. The channel is closed when the server has ended.
func (p *program) watch(serve *exec.Cmd, dir string, output *os.File, attributes *syscall.SysProcAttr) (ended <-chan struct{}, err error) {
	watched := exec.Command("sh", append([]string{"-c", watcher, "sh"}, serve.Args...)...)
	watched.Dir, watched.SysProcAttr = dir, attributes
	watched.Env = append(os.Environ(), "STOP="+p.stop, "DIR="+dir)
	watched.Stdout, watched.Stderr = output, output
	// The pipe is open until this process ends: nobody closes it.
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
