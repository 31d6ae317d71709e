package engine

import (
	"slices"
	"strings"

	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
)

// A rowEncoder turns records of a table into the arguments of an INSERT statement.
type rowEncoder struct {
	table   *Table
	indexes []int // schema indexes of the attributes, in the order of their columns
	Columns []string
}

// newRowEncoder returns an encoder of the attributes at the given schema indexes.
func newRowEncoder(t *Table, indexes []int) *rowEncoder {
	w := &rowEncoder{table: t, indexes: indexes}
	for _, at := range w.indexes {
		w.Columns = append(w.Columns, Unqualified(t.Columns[at].Name))
		if t.Columns[at].Folded != "" {
			w.Columns = append(w.Columns, Unqualified(t.Columns[at].Folded))
		}
	}
	if t.Nulls {
		w.Columns = append(w.Columns, "nulls")
	}
	return w
}

// insertSQL returns the statement that inserts a row.
func (w *rowEncoder) insertSQL(e *Engine) string {
	text, _ := e.Flavor.NewInsertBuilder().InsertInto(w.table.Name).Cols(w.Columns...).Values(make([]any, len(w.Columns))...).Build()
	return text
}

// Arguments returns the values of r, in the order of the columns.
func (w *rowEncoder) Arguments(e *Engine, r adapter.Record) ([]any, error) {
	arguments := make([]any, 0, len(w.Columns))
	var nulls []string
	for _, at := range w.indexes {
		a, v := &w.table.Schema.Attributes[at], r.Values[at]
		argument, err := e.Bind(a, v)
		if err != nil {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: "store " + string(w.table.Schema.Resource), Field: a.Name, Err: err}
		}
		arguments = append(arguments, argument)
		if w.table.Columns[at].Folded != "" {
			arguments = append(arguments, Fold(v))
		}
		if v.Kind() == adapter.Null {
			nulls = append(nulls, a.Name)
		}
	}
	if w.table.Nulls {
		arguments = append(arguments, joinNulls(nulls))
	}
	return arguments, nil
}

// joinNulls returns the content of the column nulls for the named attributes: ",a,b,".
func joinNulls(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "," + strings.Join(names, ",") + ","
}

// A WritePlan holds the statements with which a store creates and deletes the records of
// its table.
type WritePlan struct {
	Row, RowWithoutKey          *rowEncoder // encode a record, with or without its key
	InsertWithKeySQL, InsertSQL string      // insert one of them
	DeleteSQL                   string      // deletes a row by its key
}

// NewWritePlan returns the statements of a table.
func NewWritePlan(e *Engine, t *Table) WritePlan {
	key, _ := t.Schema.Index(t.Schema.Key)
	w := WritePlan{Row: newRowEncoder(t, t.ColumnIndexes(false)), RowWithoutKey: newRowEncoder(t, slices.DeleteFunc(t.ColumnIndexes(false), func(at int) bool { return at == key }))}
	keyColumn := Unqualified(t.KeyColumn())
	w.InsertWithKeySQL = w.Row.insertSQL(e)
	w.InsertSQL = w.RowWithoutKey.insertSQL(e)
	if e.UseReturning {
		w.InsertSQL += " RETURNING " + keyColumn
	}
	db := e.Flavor.NewDeleteBuilder().DeleteFrom(t.Name)
	w.DeleteSQL, _ = db.Where(db.Equal(keyColumn, nil)).Build()
	return w
}

// Assign adds the assignments of the values of r that columns hold to an UPDATE, and
// reports whether there are any.
func (t *Table) Assign(e *Engine, ub *sqlbuilder.UpdateBuilder, r adapter.Record) (assigned bool, err error) {
	for i, v := range r.Values {
		a, c := &t.Schema.Attributes[i], &t.Columns[i]
		if v.Kind() == adapter.Absent || a.Added {
			continue
		}
		argument, err := e.Bind(a, v)
		if err != nil {
			return false, &adapter.Error{Kind: adapter.Invalid, Op: "update " + string(t.Schema.Resource), Field: a.Name, Err: err}
		}
		ub.SetMore(ub.Assign(Unqualified(c.Name), argument))
		if c.Folded != "" {
			ub.SetMore(ub.Assign(Unqualified(c.Folded), Fold(v)))
		}
		assigned = true
	}
	return assigned, nil
}

// NullNames returns the content of the column nulls after change is stored, and whether
// it differs from the current content.
func (t *Table) NullNames(current, change adapter.Record) (list string, differs bool) {
	if !t.Nulls {
		return "", false
	}
	var before, after []string
	for i, a := range t.Schema.Attributes {
		if a.Added {
			continue // a NULL in its row of the value table stands for it
		}
		was, is := current.Values[i].Kind(), change.Values[i].Kind()
		if was == adapter.Null {
			before = append(before, a.Name)
		}
		if is == adapter.Null || is == adapter.Absent && was == adapter.Null {
			after = append(after, a.Name)
		}
	}
	return joinNulls(after), !slices.Equal(before, after)
}
