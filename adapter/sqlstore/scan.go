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

// A cell takes one column of a row. It is a sql.Scanner, so that a value goes
// from the driver into the record without a variable of the column's type.
type cell struct {
	kind  adapter.Kind
	value adapter.Value
}

// Scan takes a value of the driver.
func (c *cell) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		c.value = adapter.NullValue()
		return nil
	case string:
		return c.text(v)
	case []byte: // the driver's, until the next row
		return c.text(string(v))
	case int64:
		switch c.kind {
		case adapter.KindInteger:
			c.value = adapter.IntegerValue(v)
			return nil
		case adapter.KindDecimal:
			return c.decimal(decimalOfInteger(v))
		}
	case float64:
		if c.kind == adapter.KindDecimal {
			return c.decimal(decimalOfFloat(v))
		}
	case time.Time:
		if c.kind == adapter.KindTime {
			c.value = adapter.TextValue(v.UTC().Format(time.DateTime))
			return nil
		}
	}
	return fmt.Errorf("unexpected %T in a column", src)
}

func (c *cell) text(s string) error {
	switch c.kind {
	case adapter.KindText, adapter.KindTime:
		c.value = adapter.TextValue(s)
	case adapter.KindTexts:
		c.value = adapter.TextsValue(strings.Split(s, "\n"))
	case adapter.KindDecimal:
		if fourPlaces(s) {
			c.value = adapter.TextValue(s)
			return nil
		}
		return c.decimal(parseDecimal(s))
	default:
		return errors.New("unexpected text in a column")
	}
	return nil
}

func (c *cell) decimal(tenThousandths int64, err error) error {
	c.value = adapter.TextValue(formatDecimal(tenThousandths))
	return err
}

// A scanner reads rows of one table, attribute by attribute in the schema's
// order, those that were not selected staying absent.
type scanner struct {
	cells []cell
	into  []any  // pointers to cells, and to nulls if the table has such a column
	at    []int  // the attributes they are
	nulls string // the attributes stored as null
}

// newScanners returns a pool of scanners for the attributes at the given places
// of the table.
func newScanners(t *table, at []int) *sync.Pool {
	schema := t.schema
	return &sync.Pool{New: func() any {
		s := &scanner{cells: make([]cell, len(at)), into: make([]any, len(at)), at: at}
		if t.nulls {
			s.into = append(s.into, &s.nulls)
		}
		for i, a := range at {
			s.cells[i].kind = schema.Attributes[a].Kind
			s.into[i] = &s.cells[i]
		}
		return s
	}}
}

// record reads the current row.
func (s *scanner) record(schema *adapter.Schema, rows *sql.Rows) (adapter.Record, error) {
	if err := rows.Scan(s.into...); err != nil {
		return adapter.Record{}, err
	}
	r := adapter.NewRecord(schema)
	withNulls := len(s.into) > len(s.cells)
	for i, a := range s.at {
		r.Values[a] = s.cells[i].value
		if withNulls && r.Values[a].Kind() == adapter.Null && !strings.Contains(s.nulls, ","+schema.Attributes[a].Name+",") {
			r.Values[a] = adapter.Value{} // never stored
		}
		s.cells[i].value = adapter.Value{} // keep no text alive in the pool
	}
	return r, nil
}
