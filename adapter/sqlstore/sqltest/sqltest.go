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
//
// # Galeratest
//
// Package galeratest gives tests a Galera cluster of three MariaDB nodes.
//
// # Principles
//
//  1. The nodes are real servers of package sqltest on free ports of the loopback interface. A node
//     takes over the data of another one by rsync when it joins.
//  2. A test may kill, pause or isolate a node, and have it join again ([Cluster.Rejoin]).
//  3. [Cluster.Balance] starts an HAProxy as operators run it: one node takes the writes, and the
//     others are its backups.
//  4. The cluster gives up a silent node after a second, in place of five, so that tests of
//     failures take seconds. The operators' documentation recommends the same settings.
//
// # How it is tested
//
// By the tests that use it, which run in the stage galera of .ci/nightly.
//
// # Patronitest
//
// Package patronitest runs PostgreSQL with failover for tests: three nodes that Patroni manages, with a
// synchronous standby, an etcd, and HAProxy before them.
//
// # Principles
//
//  1. A node is a Patroni and its PostgreSQL. [Cluster.KillPrimary] kills both, as a machine ends that
//     loses its power: nobody says goodbye.
//  2. Patroni's times are short, so that tests are; what takes a second here takes five with its
//     defaults. The settings that decide what survives are those of production: a synchronous
//     standby, and synchronous_commit on.
//
// # How it is tested
//
// By the tests that use it.
//
// # Pgbouncertest
//
// Package pgbouncertest puts PgBouncer before the PostgreSQL server of tests.
//
// # Principles
//
//  1. PgBouncer runs with the settings that it comes with, but for the mode of its pools: it refuses start-up parameters that
//     it does not know, and resets nothing between the transactions of its clients.
//  2. It has fewer connections to the server than its clients have to it, so that clients do share
//     them.
//
// # How it is tested
//
// By the conformance suite of package sqlstore, and by the contract suite with four replicas.
//
// # S3test
//
// Package s3test starts a server of the S3 interface for tests: versitygw, which keeps its objects in
// a folder and is built with go.
//
// # How it is tested
//
// By the tests of package s3, which use it.
//
// # Livebackend
//
// Package livebackend starts the servers of commerce systems for tests.
//
// # Principles
//
//  1. Starting a backend takes up to a minute, and minutes when npm has to install it. Tests
//     that need it run only on request: PORTICO_TEST_NAME is 1, or names a file with the
//     output of NAME/start.sh for a running server with an empty shop. Otherwise they are
//     skipped with a message.
//  2. Every server has its own database and folder and listens on a free loopback port.
//  3. However the test binary ends, the server ends with it and its folder is removed.
//
// # How it is tested
//
// By the packages that use it, one for each backend.
//
// # Medusatest
//
// Package medusatest starts Medusa servers for tests, by package livebackend.
//
// # How it is tested
//
// By the tests that use it.
//
// # Venduretest
//
// Package venduretest starts Vendure servers for tests, by package livebackend.
//
// # How it is tested
//
// By the tests that use it.
package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// LoggedMariaDB is MariaDB for a server that writes a binary log of rows. It is another server
// than that of MariaDB.
func LoggedMariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	return newDatabase(tb, startLoggedMariaDB)
}

// The servers of this test binary, started on first use.
var (
	startPostgres      = sync.OnceValues(func() (*Server, error) { return start(postgres()) })
	startMariaDB       = sync.OnceValues(func() (*Server, error) { return start(mariaDB(withoutLog()...)) })
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

// freePort returns a port of the loopback interface that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
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
