//go:build linux

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout bounds the initialization and the start of a server.
	startTimeout = 2 * time.Minute
	// pollEvery is the pause between two attempts to connect to a new server.
	pollEvery = 20 * time.Millisecond
)

// Postgres returns the DSN, in the form of sqlstore.Options, of an empty PostgreSQL
// database that is removed when the test ends.
func Postgres(tb testing.TB) (dsn string) {
	tb.Helper()
	return newDatabase(tb, startPostgres)
}

// MariaDB returns the DSN, in the form of sqlstore.Options, of an empty MariaDB
// database that is removed when the test ends.
func MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return newDatabase(tb, startMariaDB)
}

// LoggedMariaDB is MariaDB for a server that writes a binary log of rows. It is a different server
// from the one of MariaDB.
func LoggedMariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return newDatabase(tb, startLoggedMariaDB)
}

// The servers that this test binary uses, started on first use. A binary log is of one binary alone, because
// its tests read it whole and set its options.
var (
	startPostgres      = sync.OnceValues(func() (*Server, error) { return share(postgres()) })
	startMariaDB       = sync.OnceValues(func() (*Server, error) { return share(mariaDB(withoutLog()...)) })
	startLoggedMariaDB = sync.OnceValues(func() (*Server, error) { return start(mariaDB(withLog()...)) })
)

// errNotInstalled means that the executable of a server was not found.
var errNotInstalled = errors.New("is not installed")

func newDatabase(tb testing.TB, start func() (*Server, error)) string {
	tb.Helper()
	s, err := start()
	require(tb, err)
	return s.database(tb, "")
}

// database creates a database that is removed when the test ends. options follow its
// name in the CREATE statement.
func (s *Server) database(tb testing.TB, options string) (dsn string) {
	tb.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), s.databases.Add(1))
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
