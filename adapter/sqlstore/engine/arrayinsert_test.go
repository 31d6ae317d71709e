package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestInsertValues inserts many rows at once, and the same rows one by one: the tables must be equal. The rows hold
// quotes, braces, commas and other characters that have a meaning in the text of an array or of a statement.
func TestInsertValues(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openWith(t, e.Empty(t), false)
		time, decimal := typesOf(e)
		for _, table := range []string{"at_once", "one_by_one"} {
			create := "CREATE TABLE " + table + " (id BIGINT PRIMARY KEY, number INTEGER, price " + decimal + ", name VARCHAR(30), content TEXT, code CHAR(3), at " + time + ")"
			if _, err := db.WriteStatements.Exec(t.Context(), create); err != nil {
				t.Fatal(err)
			}
		}
		columns := []string{"id", "Number", "price", "name", "content", "code", "at"}
		insert := func(table string, rows ...[]any) error {
			return db.Write(t.Context(), "insert", func(tx *engine.Tx) error { return tx.InsertValues(t.Context(), table, columns, rows, "") })
		}
		var rows [][]any
		for i, text := range []string{"", "NULL", `"`, `\`, `\"`, "{}", "a,b", " lead and trail ", "a\nb\r\tc", "'", "Größe", `\N`, "()", "$1", "?"} {
			id := int64(i + 1)
			rows = append(rows, []any{id, i - 1, "-12.5000", text, nil, "abc", "2012-03-04 05:06:07"}, []any{-id, nil, nil, nil, text + text, nil, nil})
		}
		for part := range slices.Chunk(rows, len(rows)/2) { // the second part uses the statement that the first one has cached
			if err := insert("at_once", part...); err != nil {
				t.Fatal(err)
			}
			for _, row := range part {
				if err := insert("one_by_one", row); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := "SELECT COUNT(*) FROM at_once JOIN one_by_one ON at_once.id = one_by_one.id"
		for _, column := range columns[1:] {
			all += " AND (at_once." + column + " = one_by_one." + column + " OR COALESCE(at_once." + column + ", one_by_one." + column + ") IS NULL)"
		}
		if same, err := engine.SelectColumn[int](t.Context(), db.ReadStatements.Query, all); err != nil || !slices.Equal(same, []int{len(rows)}) {
			t.Errorf("%v equal rows of %d, %v", same, len(rows), err)
		}
		if e.Name == "sqlite" { // SQLite limits the length of no text
			return
		}
		for i := range rows {
			rows[i][0] = int64(1000 + i)
		}
		for column, long := range map[int]string{3: strings.Repeat("x", 31), 5: "abcd"} {
			is := rows[7][column]
			rows[7][column] = long
			if err := insert("at_once", rows...); adapter.KindOf(err) != adapter.Invalid {
				t.Errorf("a text that is too long for %s: %v, want an error of kind invalid", columns[column], err)
			}
			rows[7][column] = is
		}
		rows[7][3] = []byte("bytes")
		if err := insert("at_once", rows...); err != nil {
			t.Errorf("a value of another type: %v", err)
		}
		if e.Name != "postgres" {
			return
		}
		// Another process changes the type of a column: at most one write fails.
		if _, err := db.WriteStatements.Exec(t.Context(), "ALTER TABLE at_once ALTER COLUMN number TYPE BIGINT"); err != nil {
			t.Fatal(err)
		}
		large := func(from int64) (rows [][]any) {
			for i := range from {
				rows = append(rows, []any{from*100 + i, int64(1) << 40, nil, nil, nil, nil, nil})
			}
			return rows
		}
		if err := insert("at_once", large(50)...); err != nil {
			err = insert("at_once", large(60)...)
			if err != nil {
				t.Errorf("a column of another type: %v", err)
			}
		}
	})
}
