//go:build linux

package speed

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// A store is a database that a server and its floor use.
type store struct {
	environ     []string // of the server
	driver, dsn string   // of the floor
	media       string   // folder of images; "" if no image is created
}

// A storeMaker makes a store in dir and runs statements for it, which are in the SQL of SQLite.
type storeMaker func(b testing.TB, dir string, statements ...string) store

// newStore makes a store in a file of SQLite in dir, with a thousand products and a hundred orders.
func newStore(b testing.TB, dir string, statements ...string) store {
	b.Helper()
	db, _ := demotest.NewCatalog(b, dir, 1000)
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "demo.db")
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	addOrders(b, pool, 100)
	for _, text := range statements {
		if _, err := pool.Exec(text); err != nil {
			b.Fatal(err)
		}
	}
	return store{
		environ: []string{"PORTICO_SQL_DSN=sqlite:" + path, "PORTICO_SQL_MEDIA_DIR=" + filepath.Join(dir, "media")},
		media:   filepath.Join(dir, "media"), driver: "sqlite", dsn: "file:" + path + "?_pragma=query_only(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)",
	}
}

// addOrders copies the first order with its parts.
func addOrders(b testing.TB, pool *sql.DB, copies int) {
	b.Helper()
	for table, columns := range map[string]struct{ key, parent string }{
		"sales_order": {"entity_id", ""}, "order_item": {"item_id", "order_id"}, "order_address": {"entity_id", "parent_id"}, "order_comment": {"entity_id", "parent_id"},
	} {
		names := tableColumns(b, pool, table)
		into, from, where := "", "", " WHERE entity_id = 1"
		if columns.parent != "" {
			where = " WHERE " + columns.parent + " = 1"
		}
		for _, name := range names {
			value := name
			switch {
			case name == columns.key && columns.parent == "":
				value = "1000 + n"
			case name == columns.key:
				continue
			case name == columns.parent:
				value = "1000 + n"
			case name == "increment_id" || name == "increment_id_folded":
				value = "200000000 + n"
			}
			into, from = into+", "+name, from+", "+value
		}
		if _, err := pool.Exec("INSERT INTO " + table + " (" + into[2:] + ") " + fmt.Sprintf(made, copies) + "SELECT " + from[2:] + " FROM " + table + ", made" + where); err != nil {
			b.Fatal(err)
		}
	}
}

// tableColumns returns the names of the columns of a table.
func tableColumns(b testing.TB, pool *sql.DB, table string) (names []string) {
	b.Helper()
	rows, err := pool.Query("SELECT name FROM pragma_table_info('" + table + "')")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// A reading is a read of BenchmarkRead.
type reading struct {
	name string
	request
}

// reads returns the reads of BenchmarkRead.
func reads() []reading {
	return []reading{
		{"guest product", get("/api/rest/products/147")},
		{"guest list of 10", get("/api/rest/products")},
		{"admin list of 100", get("/api/rest/products?limit=100").asAdmin()},
		{"stock item", get("/api/rest/stockitems/1").asAdmin()},
		{"stock list of 10", get("/api/rest/stockitems?limit=10").asAdmin()},
		{"stock list of 100", get("/api/rest/stockitems?limit=100").asAdmin()},
		{"orders list of 10", get("/api/rest/orders?limit=10").asAdmin()},
	}
}

// engines are the databases of BenchmarkRead.
var engines = []struct {
	name     string
	newStore storeMaker
}{{"sqlite", newStore}, {"postgres", newPostgresStore}, {"mariadb", newMariaDBStore}}

// BenchmarkRead compares reads that reach the database with floors.
func BenchmarkRead(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			portico, least := engine.newStore(b, b.TempDir()).start(b)
			for _, r := range reads() {
				b.Run(r.name, func(b *testing.B) { compare(b, portico, least, r.request) })
			}
		})
	}
}

// TestReads checks that the server and the floor give the same replies.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			portico, least := engine.newStore(t, t.TempDir()).start(t)
			for _, r := range reads() {
				t.Run(r.name, func(t *testing.T) { compareReplies(t, portico, least, r.request) })
			}
		})
	}
}

// start starts a server and a floor that read the store.
func (s store) start(b testing.TB) (portico, least *server) {
	b.Helper()
	return startPortico(b, append(s.environ, apptest.WithoutReplyCache)), startFloor(b, floor{Driver: s.driver, DSN: s.dsn})
}

// rows returns the rows of a table as texts, without the times at which they were written.
func (s store) rows(t testing.TB, table string) map[string]bool {
	t.Helper()
	pool, err := sql.Open(s.driver, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	names := tableColumns(t, pool, table)
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"created_at", "updated_at", "low_stock_date"}, name)
	})
	stmt, err := (&floorDatabase{s.driver, pool}).prepare("SELECT " + columnList("", names) + " FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	found, values := map[string]bool{}, make([]any, len(names))
	err = each(t.Context(), stmt, values, func() error {
		row := ""
		for i, value := range values {
			if value != nil {
				row += fmt.Sprintf(" %s=%v", names[i], value)
			}
		}
		found[row] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
