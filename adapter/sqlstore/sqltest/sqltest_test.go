//go:build linux

package sqltest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type serverKind struct {
	start func() (*Server, error)
	dsn   func(testing.TB) string
}

// testServers returns the servers by the names of their subtests.
func testServers() map[string]serverKind {
	return map[string]serverKind{"postgres": {startPostgres, Postgres}, "mariadb": {startMariaDB, MariaDB}}
}

// TestDatabases checks that every call creates an empty database on one server and
// removes it at the end of the test.
func TestDatabases(t *testing.T) {
	for name, kind := range testServers() {
		t.Run(name, func(t *testing.T) {
			kind.dsn(t) // starts the server, or skips the test
			s, err := kind.start()
			if err != nil {
				t.Fatal(err)
			}
			count := func() (n int) {
				t.Helper()
				query := "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'test%'"
				if s.driver == "pgx" {
					query = "SELECT COUNT(*) FROM pg_database WHERE datname LIKE 'test%'"
				}
				if err := s.admin.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			t.Run("two", func(t *testing.T) {
				first, second := kind.dsn(t), kind.dsn(t)
				if first == second || count() != 3 {
					t.Errorf("%s, %s, %d databases", first, second, count())
				}
				for _, dsn := range []string{first, second} {
					pool, err := sql.Open(s.driver, strings.TrimPrefix(dsn, "mysql:"))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := pool.ExecContext(t.Context(), "CREATE TABLE product (id BIGINT)"); err != nil {
						t.Error(err)
					}
					if err := pool.Close(); err != nil {
						t.Error(err)
					}
				}
			})
			if n := count(); n != 1 {
				t.Errorf("%d databases are left, want 1", n)
			}
		})
	}
}

// TestServerEndsWithTestBinary kills a test binary in the middle of a test: its server
// must stop and its folder must disappear.
func TestServerEndsWithTestBinary(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"postgres": Postgres, "mariadb": MariaDB, "paused postgres": Postgres, "paused mariadb": MariaDB} {
		t.Run(name, func(t *testing.T) {
			dsn(t) // skips the test without the server
			binary, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			victim := exec.CommandContext(t.Context(), binary, "-test.run=^TestVictim$/^"+strings.ReplaceAll(name, " ", "_")+"$", "-test.v")
			victim.Env = append(os.Environ(), "SQLTEST_VICTIM=true")
			output, err := victim.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			var address, dir string
			for lines := bufio.NewScanner(output); lines.Scan(); {
				if rest, ok := strings.CutPrefix(lines.Text(), "victim "); ok {
					address, dir, _ = strings.Cut(rest, " ")
					break
				}
			}
			if address == "" {
				t.Fatal("the binary did not start a server")
			}
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait() // killed
			ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
			defer cancel()
			for gone := false; !gone && ctx.Err() == nil; time.Sleep(pollEvery) {
				_, err := os.Stat(dir)
				connection, dialErr := net.Dial("tcp", address)
				if dialErr == nil {
					_ = connection.Close()
				}
				gone = errors.Is(err, os.ErrNotExist) && dialErr != nil
			}
			if ctx.Err() != nil {
				t.Errorf("%s or %s is still there", address, dir)
			}
		})
	}
}

// TestVictim is the test that TestServerEndsWithTestBinary kills. It starts a server,
// prints where, and waits. It does nothing in any other process.
func TestVictim(t *testing.T) {
	if os.Getenv("SQLTEST_VICTIM") != "true" {
		return
	}
	for name, start := range map[string]func(testing.TB) *Server{"paused postgres": StartPostgres, "paused mariadb": StartMariaDB} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			s.Pause()
			_, _ = os.Stdout.WriteString("\nvictim " + s.Address() + " " + s.dir + "\n")
			<-t.Context().Done() // never: the binary is killed
		})
	}
	for name, kind := range testServers() {
		t.Run(name, func(t *testing.T) {
			kind.dsn(t)
			s, err := kind.start()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = os.Stdout.WriteString("\nvictim " + s.Address() + " " + s.dir + "\n")
			<-t.Context().Done() // never: the binary is killed
		})
	}
}

// TestNotInstalled starts a server that does not exist.
func TestNotInstalled(t *testing.T) {
	_, err := start(&program{name: "none", command: "no-such-server", pkg: "none", folders: []string{t.TempDir()}})
	if !errors.Is(err, errNotInstalled) || !strings.Contains(err.Error(), "package none") {
		t.Errorf("%v, want not installed", err)
	}
}

// TestStartReportsServerOutput starts a server that fails: the error must contain its
// output, and its folder must be removed.
func TestStartReportsServerOutput(t *testing.T) {
	var dir string
	_, err := start(&program{
		name: "false", command: "sh", users: []string{"nobody"}, stop: "KILL",
		initialize: func(_, folder string) *exec.Cmd { dir = folder; return exec.Command("true") },
		serve:      func(string, string, int) *exec.Cmd { return exec.Command("sh", "-c", "echo out of order; exit 1") },
		driver:     "pgx",
		admin:      func(port int) string { return postgres().admin(port) },
	})
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("%v, want what the server said", err)
	}
	if found, err := filepath.Glob(dir); err != nil || len(found) != 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
}
