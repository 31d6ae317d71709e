//go:build linux

package sqltest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"

	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/portico-commerce/portico/config/testenv"
)

// postgres returns the program of PostgreSQL. Its databases use the collation of a
// language rather than byte order, so that tests notice where that matters.
func postgres() *program {
	return &program{
		name:    "postgres",
		command: "postgres",
		pkg:     "postgresql",
		folders: []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"},
		users:   []string{"postgres", "nobody"},
		filesIn: testenv.MemoryFolder(),
		stop:    "QUIT",
		initialize: func(bin, dir string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "initdb"), "--pgdata=data", "--username=portico", "--auth=trust",
				"--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en", "--no-sync")
		},
		serve: func(bin, dir string, port int) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=600",
				"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB",
				"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "autovacuum=off",
				"-c", "deadlock_timeout=20ms")
		},
		driver: "pgx",
		admin:  func(port int) string { return fmt.Sprintf("postgres://portico@127.0.0.1:%d/postgres", port) },
		url: func(port int, database string) string {
			return fmt.Sprintf("postgres://portico@127.0.0.1:%d/%s", port, database)
		},
		drop:    "DROP DATABASE %s WITH (FORCE)",
		durable: []string{"-c", "synchronous_commit=on", "-c", "full_page_writes=on"},
	}
}

// mariaDB returns the program of MariaDB, with options about its binary log.
func mariaDB(log ...string) *program {
	return &program{
		name:    "mariadb",
		command: "mariadbd",
		pkg:     "mariadb-server",
		folders: []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"},
		users:   []string{"mysql", "nobody"},
		filesIn: testenv.MemoryFolder(),
		stop:    "KILL",
		// A server that starts removes the temporary tables of others that have the same tmpdir.
		initialize: func(_, dir string) *exec.Cmd {
			return exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+filepath.Join(dir, "data"), "--tmpdir="+dir,
				"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=16M")
		},
		serve: func(bin, dir string, port int) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "mariadbd"), append([]string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir,
				"--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1", "--socket=" + filepath.Join(dir, "socket"),
				"--pid-file=" + filepath.Join(dir, "pid"), "--skip-name-resolve", "--max-connections=600",
				"--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
				"--innodb-doublewrite=OFF", "--innodb-stats-persistent=OFF", "--performance-schema=OFF"}, log...)...)
		},
		driver: "mysql",
		admin:  func(port int) string { return fmt.Sprintf("root@tcp(127.0.0.1:%d)/mysql?multiStatements=true", port) },
		url: func(port int, database string) string {
			return fmt.Sprintf("mysql:root@tcp(127.0.0.1:%d)/%s", port, database)
		},
		drop:    "DROP DATABASE %s",
		durable: []string{"--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=ON"},
	}
}

// withoutLog returns the option of a MariaDB without a binary log.
func withoutLog() []string { return []string{"--skip-log-bin"} }

// withLog returns the options of a MariaDB that writes a binary log of rows.
func withLog() []string {
	return []string{"--log-bin=bin", "--server-id=1", "--binlog-format=ROW", "--binlog-row-image=FULL", "--sync-binlog=0", "--gtid-strict-mode=ON"}
}

// A program is a kind of database server.
type program struct {
	name    string
	command string   // executable of the server
	pkg     string   // Debian package that contains it
	folders []string // patterns of folders to search besides PATH
	users   []string // users to run it as if the tests run as root
	filesIn string   // folder in which each server gets a folder for its files
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
	// server's processes, but not the end of the machine.
	durable []string
}
