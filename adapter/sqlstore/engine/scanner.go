package engine

import (
	"database/sql"
	"github.com/portico-commerce/portico/adapter"
	"strings"
	"sync"
)

// A Scanner reads rows of one table into records. Attributes that were not selected
// stay absent.
type Scanner struct {
	Cells   []Cell
	dest    []any  // pointers to cells, and to nulls if the table has such a column
	indexes []int  // schema indexes of the attributes in cells
	nulls   string // the column nulls
}

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
	for i, a := range indexes {
		s.Cells[i] = *NewCell(t.Schema.Attributes[a].Kind, nil)
		s.dest = append(s.dest, &s.Cells[i])
	}
	if t.Nulls {
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

// Record reads the current row.
func (s *Scanner) Record(schema *adapter.Schema, rows *sql.Rows) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	for i, a := range s.indexes {
		s.Cells[i].Value = &r.Values[a]
	}
	if err := rows.Scan(s.dest...); err != nil {
		return adapter.Record{}, err
	}
	if len(s.dest) == len(s.Cells) {
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
