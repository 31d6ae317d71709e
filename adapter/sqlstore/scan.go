package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A cell receives one column of a row. It is a sql.Scanner, so that a value goes from
// the driver into the record without an intermediate variable.
type cell struct {
	kind  adapter.Kind
	value *adapter.Value // destination
}

// Scan stores a value of the driver.
func (c *cell) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.value = adapter.NullValue()
		return nil
	case string:
		return c.text(v)
	case []byte: // the driver reuses it for the next row
		return c.text(string(v))
	case int64:
		switch c.kind {
		case adapter.KindInteger:
			*c.value = adapter.IntegerValue(v)
			return nil
		case adapter.KindDecimal:
			return c.decimal(decimalFromInteger(v))
		}
	case float64:
		if c.kind == adapter.KindDecimal {
			return c.decimal(decimalFromFloat(v))
		}
	case time.Time:
		if c.kind == adapter.KindTime {
			*c.value = adapter.TextValue(v.UTC().Format(time.DateTime))
			return nil
		}
	}
	return fmt.Errorf("unexpected type %T in a column", src)
}

func (c *cell) text(s string) error {
	switch c.kind {
	case adapter.KindText, adapter.KindTime:
		*c.value = adapter.TextValue(s)
	case adapter.KindTexts:
		*c.value = adapter.TextsValue(strings.Split(s, "\n"))
	case adapter.KindDecimal:
		if hasFourPlaces(s) {
			*c.value = adapter.TextValue(s)
			return nil
		}
		units, ok := adapter.ParseDecimal(s)
		if !ok {
			return errDecimal
		}
		return c.decimal(units, nil)
	default:
		return errors.New("unexpected text in a column")
	}
	return nil
}

func (c *cell) decimal(tenThousandths int64, err error) error {
	*c.value = adapter.TextValue(adapter.FormatDecimal(tenThousandths))
	return err
}

// A scanner reads rows of one table into records. Attributes that were not selected
// stay absent.
type scanner struct {
	cells   []cell
	dest    []any  // pointers to cells, and to nulls if the table has such a column
	indexes []int  // schema indexes of the attributes in cells
	nulls   string // the column nulls
}

// newScannerPool returns a pool of scanners. Callers must call setColumns before they
// use one.
func newScannerPool() *sync.Pool { return &sync.Pool{New: func() any { return &scanner{} }} }

// setColumns makes s read the attributes of t at the given schema indexes, in that
// order, and then the list of nulls if t has one.
func (s *scanner) setColumns(t *table, indexes []int) {
	if cap(s.cells) < len(indexes) {
		s.cells = make([]cell, len(t.columns))
	}
	s.cells, s.dest, s.indexes = s.cells[:len(indexes)], s.dest[:0], indexes
	for i, a := range indexes {
		s.cells[i] = cell{kind: t.schema.Attributes[a].Kind}
		s.dest = append(s.dest, &s.cells[i])
	}
	if t.nulls {
		s.dest = append(s.dest, &s.nulls)
	}
}

// requestedIndexes narrows a list of attributes, given as their indexes in the schema, to
// those that a statement has to read: the key, the attributes that the list only names,
// and those that q filters or orders by. A nil list asks for all attributes.
func (t *table) requestedIndexes(indexes []int, only []string, q *adapter.Query) []int {
	if only == nil {
		return indexes
	}
	wanted := make([]bool, len(t.columns))
	for _, names := range [][]string{{t.schema.Key}, only, queriedAttributes(q)} {
		for _, name := range names {
			if place, ok := t.schema.Index(name); ok {
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

// record reads the current row.
func (s *scanner) record(schema *adapter.Schema, rows *sql.Rows) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	for i, a := range s.indexes {
		s.cells[i].value = &r.Values[a]
	}
	if err := rows.Scan(s.dest...); err != nil {
		return adapter.Record{}, err
	}
	if len(s.dest) == len(s.cells) {
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

// putScanner returns a scanner to the pool. It clears the references to records, so
// that the pool does not keep them alive.
func (s *store) putScanner(sc *scanner) {
	clear(sc.cells)
	s.scannerPool.Put(sc)
}
