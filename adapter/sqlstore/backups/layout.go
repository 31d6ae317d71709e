package backups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/pressly/goose/v3"
)

// The kinds of columns.
const (
	integer = "integer"
	decimal = "decimal"
	text    = "text"
)

// A Column is one of a table.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// A Table is one that the migrations make.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`

	counter  string   // the column whose values the database generates, if any
	parents  []string // the tables that it refers to
	prefixed bool     // the migrations put rows into it
}

// names returns the names of the columns.
func (t *Table) names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// isLocal reports whether a table is about the processes that use a database, and about this database,
// rather than about the records: archives leave it out, and a restore lets it be.
func isLocal(table string) bool {
	return slices.Contains([]string{"import_state", "import_change", "import_process", "write_process", engine.StateTable}, table)
}

// withoutLocal removes the tables that are local.
func withoutLocal(tables []*Table) []*Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return isLocal(t.Name) })
}

// layout returns the tables that some migrations create, each after the tables that it references.
// It leaves out local tables.
func layout(ctx context.Context, versions []int64) (tables []*Table, err error) {
	folder, err := os.MkdirTemp("", "portico-layout-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	db, err := engine.Open(engine.Options{DSN: "sqlite:" + filepath.Join(folder, "layout.db"), PoolOptions: engine.PoolOptions{Create: true}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := migrateTo(ctx, db, versions); err != nil {
		return nil, err
	}
	query := engine.QueryOf(db.Readers.QueryContext)
	names, err := engine.SelectColumn[string](ctx, query, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> ? ORDER BY name", engine.VersionTable)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t, err := describe(ctx, query, name)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		tables = append(tables, t)
	}
	return inOrder(withoutLocal(tables)), nil
}

// migrateTo runs the migrations with the given versions.
func migrateTo(ctx context.Context, db *engine.DB, versions []int64) error {
	known, err := db.Engine.MigrationVersions()
	if err != nil {
		return err
	}
	excluded := slices.DeleteFunc(known, func(v int64) bool { return slices.Contains(versions, v) })
	_, err = db.Engine.Migrate(ctx, db.Writer, db.Name, nil, goose.WithExcludeVersions(excluded))
	return err
}

// describe reads the definition of an SQLite table.
func describe(ctx context.Context, query engine.QueryFunc, name string) (*Table, error) {
	t := &Table{Name: name}
	definitions, err := engine.SelectColumn[string](ctx, query, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", name)
	if err != nil {
		return nil, err
	}
	types, err := engine.SelectColumn[string](ctx, query, "SELECT name || ' ' || type || ' ' || pk FROM pragma_table_info(?) ORDER BY cid", name)
	if err != nil {
		return nil, err
	}
	for _, column := range types {
		parts := strings.Fields(column)
		kind := text
		switch {
		case strings.HasPrefix(parts[1], "INT"):
			kind = integer
		case strings.HasPrefix(parts[1], "DECIMAL"):
			kind = decimal
		}
		t.Columns = append(t.Columns, Column{parts[0], kind})
		if parts[len(parts)-1] != "0" && strings.Contains(definitions[0], "AUTOINCREMENT") {
			t.counter = parts[0]
		}
	}
	if t.parents, err = engine.SelectColumn[string](ctx, query, `SELECT "table" FROM pragma_foreign_key_list(?)`, name); err != nil {
		return nil, err
	}
	rows, err := engine.SelectColumn[int](ctx, query, "SELECT 1 FROM "+name+" LIMIT 1")
	t.prefixed = len(rows) > 0
	return t, err
}

// inOrder returns the tables so that each comes after its parents.
func inOrder(tables []*Table) []*Table {
	var ordered []*Table
	placed := map[string]bool{}
	for len(ordered) < len(tables) {
		before := len(ordered)
		for _, t := range tables {
			waits := slices.ContainsFunc(t.parents, func(parent string) bool { return parent != t.Name && !placed[parent] })
			if !placed[t.Name] && !waits {
				ordered, placed[t.Name] = append(ordered, t), true
			}
		}
		if len(ordered) == before { // a circle: TestLayoutOrder would have found it
			panic("backups: tables refer to each other")
		}
	}
	return ordered
}

// appliedVersions returns the versions of the migrations that a database has, and nil if it has
// never been migrated.
func appliedVersions(ctx context.Context, db *engine.DB) ([]int64, error) {
	versions, err := db.Engine.Versions(ctx, db.Readers)
	return versions.Applied, err
}
