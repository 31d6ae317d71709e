package engine

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// Rows are the rows of a statement, as [sql.Rows] has them. They must be closed.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// A QueryFunc runs a statement that returns rows.
type QueryFunc func(ctx context.Context, text string, arguments ...any) (Rows, error)

// QueryOf returns the QueryFunc of a method of package sql, such as [sql.DB.QueryContext].
func QueryOf(query func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error)) QueryFunc {
	return func(ctx context.Context, text string, arguments ...any) (Rows, error) {
		return query(ctx, text, arguments...)
	}
}

// EachRow calls scan for each row that a statement returns.
func EachRow(ctx context.Context, query QueryFunc, scan func(Rows) error, text string, arguments ...any) error {
	rows, err := query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// CollectRows returns the rows of a statement, as scan reads each of them.
func CollectRows[T any](ctx context.Context, query QueryFunc, scan func(Rows) (T, error), text string, arguments ...any) (all []T, err error) {
	err = EachRow(ctx, query, func(rows Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	}, text, arguments...)
	return all, err
}

// SelectColumn returns the values of the only column of a statement.
func SelectColumn[T any](ctx context.Context, query QueryFunc, text string, arguments ...any) ([]T, error) {
	return CollectRows(ctx, query, func(rows Rows) (value T, err error) {
		err = rows.Scan(&value)
		return value, err
	}, text, arguments...)
}

// A row is the first row that a statement returns, or the error of the statement.
type row struct {
	rows Rows
	err  error
}

// First returns the first row of a query's result. Its Scan must be called.
func First(rows Rows, err error) row { return row{rows, err} }

// Scan scans the row into dest and closes the rows. It fails with sql.ErrNoRows if there is
// none.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer func() { _ = r.rows.Close() }()
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), sql.ErrNoRows)
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	return r.rows.Close()
}

// EachRowOf runs a statement for a few keys at a time: text, then a condition that column is one of the keys,
// then end.
func EachRowOf(ctx context.Context, query QueryFunc, keys []adapter.Key, scan func(Rows) error, text, column, end string) error {
	for chunk := range slices.Chunk(keys, IDsPerStatement) {
		arguments := KeyArguments(chunk)
		if err := EachRow(ctx, query, scan, text+InList(column, arguments)+end, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// A Scanner reads rows of one table into records. Attributes that were not selected
// stay absent.
type Scanner struct {
	Cells    []Cell
	dest     []any           // pointers to the cells, to nulls if the table has that column, and to the destinations of Also
	indexes  []int           // schema indexes of the attributes in cells
	hasNulls bool            // the table has the column nulls
	nulls    string          // the column nulls
	values   []adapter.Value // for the next records
	room     int             // number of records that the next allocation has values for
}

// mostRoom limits the number of records for which a Scanner allocates values at once. One allocation for several records
// takes less time than one for each.
const mostRoom = 16

// NewScannerPool returns a pool of scanners. Callers must call SetColumns before they
// use one.
func NewScannerPool() *sync.Pool { return &sync.Pool{New: func() any { return &Scanner{} }} }

// SetColumns makes s read the attributes of t at the given schema indexes, in that
// order, and then the list of nulls if t has one.
func (s *Scanner) SetColumns(t *Table, indexes []int) {
	if cap(s.Cells) < len(indexes) {
		s.Cells = make([]Cell, len(t.Columns))
	}
	s.Cells, s.dest, s.indexes = s.Cells[:len(indexes)], s.dest[:0], indexes
	s.values, s.room = nil, 1
	for i, a := range indexes {
		s.Cells[i] = *NewCell(t.Schema.Attributes[a].Kind, nil)
		s.dest = append(s.dest, &s.Cells[i])
	}
	if s.hasNulls = t.Nulls; t.Nulls {
		s.dest = append(s.dest, &s.nulls)
	}
}

// RequestedIndexes narrows a list of attributes, given as their indexes in the schema, to
// the attributes that a statement has to read: the key, attributes that only the list
// names, and attributes that q filters or orders by. A nil list asks for all attributes.
func (t *Table) RequestedIndexes(indexes []int, only []string, q *adapter.Query) []int {
	if only == nil {
		return indexes
	}
	wanted := make([]bool, len(t.Columns))
	for _, names := range [][]string{{t.Schema.Key}, only, QueriedAttributes(q)} {
		for _, name := range names {
			if place, ok := t.Schema.Index(name); ok {
				wanted[place] = true
			}
		}
	}
	narrowed := make([]int, 0, len(indexes))
	for _, place := range indexes {
		if wanted[place] {
			narrowed = append(narrowed, place)
		}
	}
	return narrowed
}

// Also adds the destination of one more column, which follows the columns of SetColumns.
func (s *Scanner) Also(dest any) { s.dest = append(s.dest, dest) }

// Forget clears the references to records and to the destinations of Also.
func (s *Scanner) Forget() {
	clear(s.Cells)
	clear(s.dest)
	s.values, s.nulls = nil, ""
}

// Record reads the current row. Several records share one allocation of values, so that a record in use also holds the
// memory of its neighbors.
func (s *Scanner) Record(schema *adapter.Schema, rows Rows) (adapter.Record, error) {
	r := s.newRecord(schema)
	for i, a := range s.indexes {
		s.Cells[i].Value = &r.Values[a]
	}
	if err := rows.Scan(s.dest...); err != nil {
		return adapter.Record{}, err
	}
	if !s.hasNulls {
		return r, nil
	}
	for _, a := range s.indexes {
		v := &r.Values[a]
		if v.Kind() == adapter.Null && (s.nulls == "" || !strings.Contains(s.nulls, ","+schema.Attributes[a].Name+",")) {
			*v = adapter.Value{} // never stored
		}
	}
	return r, nil
}

// newRecord returns a record without values.
func (s *Scanner) newRecord(schema *adapter.Schema) adapter.Record {
	n := len(schema.Attributes)
	if len(s.values) < n {
		s.values = make([]adapter.Value, n*s.room)
		s.room = min(2*s.room, mostRoom)
	}
	r := adapter.Record{Schema: schema, Values: s.values[:n:n]}
	s.values = s.values[n:]
	return r
}
