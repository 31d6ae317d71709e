package program

import (
	"errors"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestMigrate checks that processes which migrate a database at once wait for each other
// and all succeed, that the database then serves without migrations, and that running the
// command again does nothing.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "store.db"), "postgres": sqltest.Postgres(t), "mariadb": sqltest.MariaDB(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A folder for images that cannot be made, as in a container without a volume.
			commands := apptest.Environment{"PORTICO_SQL_DSN=" + dsn, "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey, "PORTICO_SQL_MEDIA_DIR=/proc/portico/media"}
			var processes sync.WaitGroup
			off := commands.With("PORTICO_SQL_MIGRATE=off", "PORTICO_SQL_MEDIA_DIR="+t.TempDir())
			if _, _, err := commands.Run(t, "migrate", "status"); name != "sqlite" && (err == nil || !strings.Contains(err.Error(), `run "portico migrate up"`)) {
				t.Errorf("the status of an empty database: %v", err)
			}
			if _, _, err := off.Run(t, "credentials", "list"); name != "sqlite" && (err == nil || !strings.Contains(err.Error(), "sql.migrate is off")) {
				t.Errorf("an empty database with sql.migrate off: %v", err)
			}
			outputs := make([]string, 3)
			for i := range outputs {
				processes.Go(func() {
					stdout, stderr, err := commands.RunProcess(t, append([]string{"migrate"}, [][]string{{"--json"}, {"up", "--json"}}[i%2]...)...)
					if err != nil {
						t.Errorf("%v\n%s", err, stderr)
					}
					outputs[i] = stdout
				})
			}
			processes.Wait()
			var all []string
			for _, output := range outputs {
				var printed struct{ Migrations []string }
				apptest.Parse(t, output, &printed)
				all = append(all, printed.Migrations...)
			}
			if want := migrationNames(t, name); !slices.Equal(all, want) {
				t.Errorf("the processes have applied %q together, want each of %q once", all, want)
			}
			if got := commands.MustRun(t, "migrate"); !strings.HasPrefix(got, "nothing to do") {
				t.Errorf("the second time the command prints %q", got)
			}
			if got := commands.MustRun(t, "migrate", "status"); got != "the tables are those of this version\n" {
				t.Errorf("the status is %q", got)
			}
			var status struct{ Applied, Pending []int64 }
			apptest.Parse(t, commands.MustRun(t, "migrate", "status", "--json"), &status)
			if len(status.Applied) != len(migrationNames(t, name)) || status.Pending == nil || len(status.Pending) > 0 {
				t.Errorf("the status is %+v", status)
			}
			if got := off.MustRun(t, "credentials", "list"); strings.Contains(got, "consumer key") {
				t.Errorf("the new store has credentials:\n%s", got)
			}
		})
	}
}

// TestMigrateThroughLinks checks that processes which migrate one new file at once wait for each other,
// and apply each migration once, whatever symbolic link they open it by.
func TestMigrateThroughLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, folderLink, fileLink := filepath.Join(folder, "store.db"), filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "shop.db")
	if err := errors.Join(os.Symlink(folder, folderLink), os.Symlink(file, fileLink)); err != nil {
		t.Fatal(err)
	}
	const rounds = 6
	for range rounds { // the processes do not meet in every round
		var processes sync.WaitGroup
		var applied [3][]string
		for i, path := range []string{file, filepath.Join(folderLink, "store.db"), fileLink} {
			processes.Go(func() {
				stdout, stderr, err := apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + path}.RunProcess(t, "migrate", "--json")
				if err != nil {
					t.Errorf("%s: %v\n%s", path, err, stderr)
					return
				}
				var printed struct{ Migrations []string }
				apptest.Parse(t, stdout, &printed)
				applied[i] = printed.Migrations
			})
		}
		processes.Wait()
		if all, want := slices.Concat(applied[:]...), migrationNames(t, "sqlite"); !slices.Equal(all, want) {
			t.Fatalf("the processes have applied %q together, want each of %q once", all, want)
		}
		files, err := filepath.Glob(file + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// migrationNames returns the names of the migrations of an engine, in their order.
func migrationNames(t *testing.T, engine string) (names []string) {
	t.Helper()
	folder := strings.Replace(engine, "mariadb", "mysql", 1)
	files, err := os.ReadDir(filepath.Join("..", "..", "adapter", "sqlstore", "engine", "migrations", folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".sql"))
	}
	return names
}

// TestMigrateFails checks the command's message for a database that it cannot reach.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	_, _, err := apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "missing", "store.db")}.Run(t, "migrate")
	if err == nil || !strings.Contains(err.Error(), "set sql.dsn (PORTICO_SQL_DSN)") {
		t.Errorf("%v, want what to set", err)
	}
}
