//go:build linux

package sqltest

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/portico-commerce/portico/config/testenv"
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
			own := fmt.Sprintf("'test_%d_%%'", os.Getpid())
			count := func() (n int) {
				t.Helper()
				query := "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE " + own
				if s.driver == "pgx" {
					query = "SELECT COUNT(*) FROM pg_database WHERE datname LIKE " + own
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
			awaitEnd(t, address, dir)
		})
	}
}

// awaitEnd waits until a server has ended and its files are gone.
func awaitEnd(t *testing.T, address string, files ...string) {
	t.Helper()
	testenv.Await(t, address+" to close, and the end of "+strings.Join(files, " and "), func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err != nil && !slices.ContainsFunc(files, func(name string) bool { _, err := os.Stat(name); return !errors.Is(err, os.ErrNotExist) })
	})
}

// TestSharedServer checks that test binaries with the same owner use one server, that it is replaced after a
// crash, and that nothing is left of it when the owner ends.
func TestSharedServer(t *testing.T) {
	for name, kind := range testServers() {
		t.Run(name, func(t *testing.T) {
			kind.dsn(t) // skips the test without the server
			owner := exec.CommandContext(t.Context(), "sleep", "infinity")
			ended := testenv.StartProgram(t, owner)
			shared := func() *Server {
				t.Helper()
				s, err := shareUntil(owner.Process.Pid, map[string]func() *program{"postgres": postgres, "mariadb": func() *program { return mariaDB(withoutLog()...) }}[name]())
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			first, second := shared(), shared()
			if first.port != second.port || second.main != nil {
				t.Errorf("ports %d and %d", first.port, second.port)
			}
			if err := first.main.Process.Signal(unix.SignalNum("SIG" + first.program.stop)); err != nil {
				t.Fatal(err)
			}
			<-first.ended
			third := shared()
			if third.main == nil || shared().port != third.port {
				t.Error("a server that has crashed is not replaced")
			}
			if err := owner.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			awaitEnd(t, third.Address(), first.dir, third.dir, third.shared)
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

// TestInstalled checks that SQLite takes the place of servers that are not installed.
func TestInstalled(t *testing.T) {
	t.Parallel()
	absent := Engine{Name: "absent", server: &program{command: "portico-absent-server"}}
	present := Engine{Name: "present", server: &program{command: "go"}}
	for _, tt := range []struct {
		engines []Engine
		want    string
	}{
		{[]Engine{absent}, "sqlite"},
		{[]Engine{present}, "present"},
		{[]Engine{Engines()[0], absent, absent}, "sqlite"},
		{[]Engine{Engines()[0], present}, "sqlite present"},
	} {
		var names []string
		for _, e := range installed(tt.engines) {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
