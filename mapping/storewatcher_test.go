package mapping_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// A witness sees what is stored in a shop, every row and file of it, past the
// service and its adapter.
type storeWatcher struct {
	db     *sql.DB
	media  fs.FS
	tables []storedTable
	// version and files are what told a changed store from an unchanged one when
	// it was last looked at.
	version    int64
	mediaState string
}

type storedTable struct {
	name         string
	columns, key []string
}

// A storedRow is a row by its columns, without those that are NULL.
type storedRow struct {
	table  string
	values map[string]string
}

// stored holds all rows by their tables and keys, and all files by their names.
type snapshot map[string]storedRow

// witness returns one for the store of s.
func (s *shop) watchStore(t testing.TB) *storeWatcher {
	t.Helper()
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // a version is one connection's
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &storeWatcher{db: db, media: os.DirFS(sqlstore.MediaDir(s.path))}
	names := w.column(t, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'goose%'")
	for _, name := range names {
		w.tables = append(w.tables, storedTable{name,
			w.column(t, "SELECT name FROM pragma_table_info(?) ORDER BY cid", name),
			w.column(t, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name)})
	}
	if len(names) < 20 {
		t.Fatalf("%d tables: some are not seen", len(names))
	}
	w.mayHaveChanged(t)
	return w
}

func (w *storeWatcher) column(t testing.TB, query string, args ...any) []string {
	t.Helper()
	rows, err := w.db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var values []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// moved reports whether anything may have been stored since it was last asked.
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

// names lists the media files.
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

// stored reads all there is.
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
			// Credentials come with each reset, and are of its time.
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

// A change is what became of a row; of a new one before has no values, of a
// deleted one after.
type change struct {
	key           string
	before, after storedRow
}

// columns lists the columns of which the value is another one.
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

// since returns what became of the rows of before, in the order of their keys.
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

// belongsTo names what a row is a part of, as "customer 1". What is a part of
// nothing belongs to its own table.
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
	case "order_item": // which stays when its product goes
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

// checkOnly fails for changes of what is none of owners, and for rows that became
// a part of something else.
func checkChangesOnly(t *testing.T, what string, before, after snapshot, owners ...string) {
	t.Helper()
	for _, c := range after.changesSince(before) {
		was, is := before.ownersOf(c.before), after.ownersOf(c.after)
		mine := func(owner string) bool { return slices.Contains(owners, owner) }
		moved := slices.ContainsFunc(is, func(owner string) bool { return !mine(owner) && !slices.Contains(was, owner) })
		if len(was) > 0 && !slices.ContainsFunc(was, mine) || moved {
			t.Errorf("%s changed what is not of %s: %s", what, strings.Join(owners, ", "), c)
		}
	}
}
