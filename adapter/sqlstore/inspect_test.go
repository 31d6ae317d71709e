package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"
)

// inspect opens a database without migrating it and inspects it.
func inspect(t *testing.T, dsn string) *Inspection {
	t.Helper()
	db := OpenWith(t, Options{DSN: dsn})
	found, err := db.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestInspect inspects databases without tables, with all tables, and with tables of other
// versions.
func TestInspect(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		kind, _, err := engine.Of(map[string]string{"sqlite": "sqlite:a.db", "postgres": "postgres://u:p@localhost/shop", "mariadb": "mysql:u:p@tcp(localhost)/shop"}[e.Name])
		if err != nil {
			t.Fatal(err)
		}
		known, err := kind.MigrationVersions()
		if err != nil || len(known) < 15 || known[0] != 1 {
			t.Fatalf("migrations %v, %v", known, err)
		}
		if e.Name != "sqlite" {
			if empty := inspect(t, e.Empty(t)); !slices.Equal(empty.Pending, known) || len(empty.Unknown)+len(empty.MissingChanges)+len(empty.MissingWrites) > 0 {
				t.Errorf("without tables: %+v", empty)
			}
		}
		dsn := e.NewDSN(t)
		found := inspect(t, dsn)
		name := map[string]string{"sqlite": "SQLite 3.", "postgres": "PostgreSQL 1", "mariadb": "MariaDB 1"}[e.Name]
		if !strings.HasPrefix(found.Version, name) || found.Oldest != "" || found.Ahead.Abs() > time.Minute {
			t.Errorf("server: %+v", found)
		}
		if isServer := e.Name != "sqlite"; isServer != (found.Capacity > found.Connections && found.Connections > 0) {
			t.Errorf("%d connections of %d", found.Connections, found.Capacity)
		}
		found.Version, found.Ahead, found.RoundTrip, found.Connections, found.Capacity = "", 0, 0, 0, 0
		if diff := cmp.Diff(&Inspection{Pending: []int64{}}, found, cmpEmpty); diff != "" {
			t.Errorf("with all tables (-want +got):\n%s", diff)
		}
		db := OpenWith(t, Options{DSN: dsn})
		execute(t, db, "DELETE FROM goose_db_version WHERE version_id IN (14, 15)", "UPDATE goose_db_version SET version_id = 99 WHERE version_id = 3")
		if found := inspect(t, dsn); !slices.Equal(found.Pending, []int64{3, 14, 15}) || !slices.Equal(found.Unknown, []int64{99}) {
			t.Errorf("of other versions: %+v", found)
		}
	})
}

// cmpEmpty makes lists without elements equal.
var cmpEmpty = cmp.FilterValues(func(a, b []int64) bool { return len(a)+len(b) == 0 }, cmp.Ignore())

// TestInspectLeavesNothing inspects a database and compares its tables before and after.
func TestInspectLeavesNothing(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		db := OpenWith(t, Options{DSN: dsn})
		text := map[string]string{
			"sqlite": "SELECT name FROM sqlite_master", "postgres": "SELECT relname FROM pg_class", "mariadb": "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
		}[e.Name] + " ORDER BY 1"
		tables := func() []string {
			t.Helper()
			names, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(db.records.Readers.QueryContext), text)
			if err != nil {
				t.Fatal(err)
			}
			return names
		}
		before := tables()
		inspect(t, dsn)
		if diff := cmp.Diff(before, tables()); diff != "" {
			t.Errorf("tables (-before +after):\n%s", diff)
		}
	})
}

// TestOlderThan compares versions.
func TestOlderThan(t *testing.T) {
	for _, tt := range []struct {
		text, oldest string
		want         bool
	}{
		{"9.6.24", "10", true}, {"10.0", "10", false}, {"15.4 (Debian 15.4-1)", "10", false}, {"16beta1", "10", false},
		{"10.2.44-MariaDB-log", "10.3", true}, {"10.11.6-MariaDB-0+deb12u1", "10.3", false}, {"5.7.44", "8.0", true}, {"8.0.36", "8.0", false}, {"3.46.0", "", false},
	} {
		if got := olderThan(leadingVersion(tt.text), tt.oldest); got != tt.want {
			t.Errorf("%q is older than %q: %t", tt.text, tt.oldest, got)
		}
	}
}

// TestCheckFile checks files that are databases of Portico's and files that are not.
func TestCheckFile(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours := engine.File(sqltest.Engines()[0].NewDSN(t))
	for _, tt := range []struct {
		name, path string
		exists     bool
		problem    string
	}{
		{"missing", filepath.Join(folder, "missing.db"), false, ""},
		{"empty", write("empty.db", ""), false, ""},
		{"ours", ours, true, ""},
		{"a text", write("text.db", "listen: 127.0.0.1:8080\n"), true, "is no database of Portico's"},
		{"a short text", write("short.db", "x"), true, "is no database of Portico's"},
		{"without a log", write("old.db", "SQLite format 3\x00\x10\x00\x01\x01"), true, "is no database of Portico's"},
		{"a folder", folder, false, "is a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exists, err := engine.CheckFile(tt.path)
			if exists != tt.exists || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%t, %v; want %t, %q", exists, err, tt.exists, tt.problem)
			}
		})
	}
	if got := engine.File("postgres://u:p@localhost/shop"); got != "" {
		t.Errorf("the file of a server: %q", got)
	}
}

// TestInspectRights inspects databases as users who lack rights.
func TestInspectRights(t *testing.T) {
	for _, e := range sqltest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			dsn := e.NewDSN(t)
			db := OpenWith(t, Options{DSN: dsn})
			create, grant, user := "CREATE ROLE %s LOGIN", "GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA public TO %s", "portico@"
			noWrites, noChanges := []string{"INSERT on ", "UPDATE on "}, []string{"CREATE on the schema", "ownership on "}
			if e.Name == "mariadb" {
				create, grant, user = "CREATE USER %s", "GRANT SELECT, DELETE ON "+dsn[strings.LastIndex(dsn, "/")+1:]+".* TO %s", "root@"
				noWrites, noChanges = []string{"INSERT", "UPDATE"}, []string{"CREATE", "ALTER", "INDEX"}
			}
			reader := "inspect_reader"
			execute(t, db, fmt.Sprintf(create, reader), fmt.Sprintf(grant, reader))
			defer func() {
				if e.Name == "postgres" {
					execute(t, db, "DROP OWNED BY "+reader)
				}
				execute(t, db, "DROP USER "+reader)
			}()
			found := inspect(t, strings.Replace(dsn, user, reader+"@", 1))
			if !slices.EqualFunc(found.MissingWrites, noWrites, strings.HasPrefix) || !slices.EqualFunc(found.MissingChanges, noChanges, strings.HasPrefix) {
				t.Errorf("missing %q and %q, want %q and %q", found.MissingWrites, found.MissingChanges, noWrites, noChanges)
			}
		})
	}
}
