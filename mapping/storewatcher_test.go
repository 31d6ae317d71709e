package mapping_test

import (
	"database/sql"
	"fmt"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A storeWatcher sees everything stored in a shop, each row and file, bypassing the
// service and its adapter.
type storeWatcher struct {
	db     *sql.DB
	media  fs.FS
	tables []storedTable
	// version and mediaState show whether the store has changed since the last check.
	version    int64
	mediaState string
}

type storedTable struct {
	name         string
	columns, key []string
}

// A storedRow is a row by its columns, without columns that are NULL.
type storedRow struct {
	table  string
	values map[string]string
}

// A snapshot holds all rows by table and key, and all files by name.
type snapshot map[string]storedRow

// watchStore returns a watcher of the store of s.
func (s *shop) watchStore(t testing.TB) *storeWatcher {
	t.Helper()
	db, err := sql.Open("sqlite", s.direct.path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection has a version of its own
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &storeWatcher{db: db, media: os.DirFS(engine.MediaDir(s.direct.path))}
	names := w.column(t, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'goose%'")
	for _, name := range names {
		w.tables = append(w.tables, storedTable{name,
			w.column(t, "SELECT name FROM pragma_table_info(?) ORDER BY cid", name),
			w.column(t, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name)})
	}
	if len(names) < 20 {
		t.Fatalf("only %d tables", len(names))
	}
	w.mayHaveChanged(t)
	return w
}

func (w *storeWatcher) column(t testing.TB, query string, args ...any) []string {
	t.Helper()
	values, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(w.db.QueryContext), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// mayHaveChanged reports whether anything may have been stored since the last check.
func (w *storeWatcher) mayHaveChanged(t testing.TB) bool {
	t.Helper()
	var version int64
	if err := w.db.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	files := strings.Join(w.mediaFiles(t), "\n")
	moved := version != w.version || files != w.mediaState
	w.version, w.mediaState = version, files
	return moved
}

// mediaFiles lists the media files.
func (w *storeWatcher) mediaFiles(t testing.TB) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(w.media, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// snapshot reads all rows and files.
func (w *storeWatcher) snapshot(t testing.TB) snapshot {
	t.Helper()
	all := snapshot{}
	for _, table := range w.tables {
		w.read(t, table, all)
	}
	for _, name := range w.mediaFiles(t) {
		all["file "+name] = storedRow{table: "file"}
	}
	return all
}

func (w *storeWatcher) read(t testing.TB, table storedTable, all snapshot) {
	t.Helper()
	rows, err := w.db.QueryContext(t.Context(), "SELECT "+strings.Join(table.columns, ", ")+" FROM "+table.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	cells, places := make([]any, len(table.columns)), make([]any, len(table.columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		row := storedRow{table.name, map[string]string{}}
		for i, cell := range cells {
			// Each reset writes the credentials again, with its own time.
			if cell != nil && !(table.columns[i] == "created_at" && strings.HasPrefix(table.name, "oauth_")) {
				row.values[table.columns[i]] = fmt.Sprint(cell)
			}
		}
		key := table.name
		for _, column := range table.key {
			key += " " + row.values[column]
		}
		all[key] = row
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// A change is a row before and after. A new row has no values before, a deleted one none
// after.
type change struct {
	key           string
	before, after storedRow
}

// columns returns the columns whose values differ.
func (c change) columns() []string {
	var names []string
	for name, was := range c.before.values {
		if is, ok := c.after.values[name]; !ok || is != was {
			names = append(names, name)
		}
	}
	for name := range c.after.values {
		if _, ok := c.before.values[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (c change) String() string {
	text := c.key + ":"
	for _, name := range c.columns() {
		text += fmt.Sprintf(" %s %.40q became %.40q", name, c.before.values[name], c.after.values[name])
	}
	return text
}

// changesSince returns the differences between the rows and the rows in before, in the
// order of their keys.
func (after snapshot) changesSince(before snapshot) []change {
	keys := map[string]bool{}
	for key := range before {
		keys[key] = true
	}
	for key := range after {
		keys[key] = true
	}
	var changes []change
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, before := before[key]
		is, after := after[key]
		if before != after || !maps.Equal(was.values, is.values) {
			changes = append(changes, change{key, was, is})
		}
	}
	return changes
}

// ownersOf names the records that a row belongs to, as "customer 1". A row that belongs
// to none is named by its table.
func (all snapshot) ownersOf(row storedRow) []string {
	switch id := row.values["entity_id"]; row.table {
	case "":
		return nil
	case "customer":
		return []string{"customer " + id}
	case "product":
		return []string{"product " + id}
	case "sales_order":
		owners := []string{"order " + id}
		if customer := row.values["customer_id"]; customer != "" {
			owners = append(owners, "customer "+customer)
		}
		return owners
	case "order_address", "order_comment":
		return []string{"order " + row.values["parent_id"]}
	case "order_item": // which stays when its product is deleted
		return []string{"order " + row.values["order_id"]}
	case "customer_address_value":
		return all.ownersOf(all["customer_address "+row.values["address_id"]])
	case "product_image_value":
		return all.ownersOf(all["product_image "+row.values["image_id"]])
	}
	for _, of := range []string{"customer", "product"} {
		if id, ok := row.values[of+"_id"]; ok {
			return []string{of + " " + id}
		}
	}
	return []string{row.table}
}

// checkChangesOnly fails the test for changes of rows that belong to none of owners, and
// for rows that changed their owner.
func checkChangesOnly(t *testing.T, what string, before, after snapshot, owners ...string) {
	t.Helper()
	for _, c := range after.changesSince(before) {
		was, is := before.ownersOf(c.before), after.ownersOf(c.after)
		mine := func(owner string) bool { return slices.Contains(owners, owner) }
		moved := slices.ContainsFunc(is, func(owner string) bool { return !mine(owner) && !slices.Contains(was, owner) })
		if len(was) > 0 && !slices.ContainsFunc(was, mine) || moved {
			t.Errorf("%s changed a row that does not belong to %s: %s", what, strings.Join(owners, ", "), c)
		}
	}
}
