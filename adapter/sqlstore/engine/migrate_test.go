package engine_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// openEmpty opens an empty database, as if two processes did.
func openEmpty(t *testing.T, e sqltest.Engine) (db, other *engine.DB) {
	t.Helper()
	dsn := e.Empty(t)
	for _, to := range []**engine.DB{&db, &other} {
		opened, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		*to = opened
	}
	return db, other
}

// logged sends each logged line.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestWaitForMigration has one process wait while another one migrates, with and without the right
// to migrate itself.
func TestWaitForMigration(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		for _, migrates := range []bool{true, false} {
			db, other := openEmpty(t, e)
			release, err := db.Engine.TryMigrationLock(t.Context(), db.Writer, db.Name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Engine.TryMigrationLock(t.Context(), other.Writer, other.Name); !errors.Is(err, engine.ErrMigrating) {
				t.Fatalf("the lock is taken twice: %v", err)
			}
			lines, ended := make(logged, 1000), make(chan error, 1)
			logger := slog.New(slog.NewTextHandler(lines, nil))
			go func() {
				if migrates {
					_, err := other.Engine.Migrate(t.Context(), other.Writer, other.Name, logger)
					ended <- err
					return
				}
				ended <- other.Engine.CheckVersion(t.Context(), other.Writer, other.Name, logger)
			}()
			if line := <-lines; !strings.Contains(line, "another process is migrating the database") || !strings.Contains(line, "at_most=10m") {
				t.Errorf("the log says %q", line)
			}
			select {
			case err := <-ended:
				t.Errorf("it did not wait: %v", err)
			default:
			}
			if err := release(); err != nil {
				t.Fatal(err)
			}
			err = <-ended
			if !migrates { // no process has made the migrations
				if adapter.KindOf(err) != adapter.Invalid || !strings.Contains(err.Error(), `run "portico migrate up"`) {
					t.Errorf("%v, want what to do", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Engine.CheckVersion(t.Context(), db.Writer, db.Name, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDatabaseOfLaterVersion opens databases to which a later version has added a migration, and
// perhaps the oldest version that may use them.
func TestDatabaseOfLaterVersion(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := sqltest.Open(t, e.NewDSN(t))
		run := func(text string) {
			t.Helper()
			if _, err := db.Writer.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		check := func(wants bool) {
			t.Helper()
			_, migrateErr := db.Engine.Migrate(t.Context(), db.Writer, db.Name, nil)
			for what, err := range map[string]error{"migrate": migrateErr, "check": db.Engine.CheckVersion(t.Context(), db.Writer, db.Name, nil)} {
				if wants != (err == nil) || err != nil && (adapter.KindOf(err) != adapter.Invalid || !strings.Contains(err.Error(), "newer than this program")) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		check(true)
		run("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, " + map[bool]string{true: "true", false: "1"}[e.Name == "postgres"] + ")")
		run("CREATE TABLE migration_floor (migration BIGINT NOT NULL PRIMARY KEY)")
		check(true)
		run("INSERT INTO migration_floor (migration) VALUES (3)")
		check(true)
		run("INSERT INTO migration_floor (migration) VALUES (9000)")
		check(false)
	})
}

// TestDatabaseOfSomebodyElse checks the version of a database that has views in place of the tables.
func TestDatabaseOfSomebodyElse(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db, _ := openEmpty(t, e)
		if err := db.Engine.CheckVersion(t.Context(), db.Writer, db.Name, nil); adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("an empty database: %v", err)
		}
		if _, err := db.Writer.ExecContext(t.Context(), "CREATE VIEW stock_item AS SELECT 1 AS item_id"); err != nil {
			t.Fatal(err)
		}
		if err := db.Engine.CheckVersion(t.Context(), db.Writer, db.Name, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestLockOfDeadMigration gives the lock of migrations to another process once the connection of
// the first one has ended.
func TestLockOfDeadMigration(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		db, other := openEmpty(t, e)
		if _, err := db.Engine.TryMigrationLock(t.Context(), db.Writer, db.Name); err != nil {
			t.Fatal(err)
		}
		end := "SELECT CONCAT('SELECT pg_terminate_backend(', pid, ')') FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
		if e.Name == "mariadb" {
			end = "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = DATABASE()"
		}
		kills, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(other.Writer.QueryContext), end)
		if err != nil || len(kills) == 0 {
			t.Fatalf("%d other connections, %v", len(kills), err)
		}
		for _, kill := range kills {
			if _, err := other.Writer.ExecContext(t.Context(), kill); err != nil {
				t.Error(err)
			}
		}
		testenv.Await(t, "the lock", func() bool {
			release, err := other.Engine.TryMigrationLock(t.Context(), other.Writer, other.Name)
			if err != nil {
				return false
			}
			if err := release(); err != nil {
				t.Error(err)
			}
			return true
		})
	})
}

// TestIndexesAreBuiltConcurrently checks that migrations of PostgreSQL do not keep writers waiting
// while they build an index on a table that may be large. Migrations up to 15 came before any
// release.
func TestIndexesAreBuiltConcurrently(t *testing.T) {
	index, create := regexp.MustCompile(`(?i)CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?\w+\s+ON\s+(\w+)`), regexp.MustCompile(`(?i)CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)`)
	files, err := fs.Glob(engine.Migrations, "migrations/postgres/*.sql")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if path.Base(name) < "00016" {
			continue
		}
		text, err := fs.ReadFile(engine.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]bool{}
		for _, found := range create.FindAllStringSubmatch(string(text), -1) {
			made[found[1]] = true
		}
		for _, found := range index.FindAllStringSubmatch(string(text), -1) {
			if concurrently := found[1] != ""; !made[found[2]] && !concurrently || concurrently && !strings.Contains(string(text), "-- +goose NO TRANSACTION") {
				t.Errorf("%s: %q: build the index CONCURRENTLY, in a file with -- +goose NO TRANSACTION", name, found[0])
			}
		}
	}
}
