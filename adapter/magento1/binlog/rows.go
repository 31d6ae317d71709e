package binlog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

const (
	// maxLayouts bounds the tables whose layouts are known, and maxText the bytes of a value.
	maxLayouts, maxText = 1000, 512
	// metadataTimeout bounds asking the server for the columns of a table.
	metadataTimeout = 30 * time.Second
)

// A layout gives the places of the relevant columns in the rows of the log.
type layout struct {
	table *Table // nil if nothing depends on its rows
	// places are the places of table.Columns(); nil if the columns differ from the server's current
	// columns, so that any row may have changed.
	places []int
	types  []byte // of all columns
}

// layoutOf returns the layout of a table. Each version of a table has an id of its own in the
// log.
func (r *Reader) layoutOf(e *replication.TableMapEvent) (*layout, error) {
	if known, ok := r.layouts[e.TableID]; ok {
		return known, nil
	}
	l := &layout{types: slices.Clone(e.ColumnType)}
	if name, ok := strings.CutPrefix(strings.ToLower(string(e.Table)), r.prefix); ok && strings.EqualFold(string(e.Schema), r.database) {
		l.table = TableOf(name)
	}
	if l.table != nil {
		names, err := r.columnNames(e, l.table)
		if err != nil {
			return nil, err
		}
		if len(names) == len(e.ColumnType) {
			l.places = placesOf(names, l.table.Columns())
		}
	}
	if len(r.layouts) >= maxLayouts {
		clear(r.layouts)
	}
	r.layouts[e.TableID] = l
	return l, nil
}

// columnNames returns the names of a table's columns: from the log, where a server need not write
// them, or else the table's current ones.
func (r *Reader) columnNames(e *replication.TableMapEvent, t *Table) (names []string, err error) {
	if len(e.ColumnName) > 0 {
		for _, name := range e.ColumnName {
			names = append(names, strings.ToLower(string(name)))
		}
		return names, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), metadataTimeout)
	defer cancel()
	r.metadata.Lock()
	defer r.metadata.Unlock()
	return r.tables.ColumnNames(ctx, t.Name())
}

// placesOf returns the places of wanted names, or nil if one is not there.
func placesOf(names, wanted []string) []int {
	places := make([]int, len(wanted))
	for i, name := range wanted {
		if places[i] = slices.Index(names, name); places[i] < 0 {
			return nil
		}
	}
	return places
}

// decodeRows decodes an event with rows if its table counts. Values that cannot be decoded are
// no error: it is known which table they are of.
func (r *Reader) decodeRows(e *replication.RowsEvent, data []byte) (err error) {
	defer func() {
		if recover() != nil { // the library trusts the lengths in data
			err = &streamError{fmt.Errorf("%w: an event with rows cannot be decoded", ErrGap)}
		}
	}()
	r.undecoded = false
	start, err := e.DecodeHeader(data)
	if err != nil {
		return err
	}
	l, err := r.layoutOf(e.Table)
	if err != nil {
		r.lookupErr = &streamError{err}
		return r.lookupErr
	}
	if l.table == nil || len(l.places) == 0 || l.isPartial(e) {
		return nil
	}
	// The library would not end with rows without columns.
	r.undecoded = e.ColumnCount != e.Table.ColumnCount || e.DecodeData(start, data) != nil || len(e.Rows) == 0
	return nil
}

// addRows marks everything that depends on the rows of an event as changed.
func (r *Reader) addRows(e *replication.RowsEvent) {
	l := r.layouts[e.Table.TableID]
	if l == nil { // a transaction in one compressed event is decoded by the library
		var err error
		if l, err = r.layoutOf(e.Table); err != nil {
			l = &layout{}
			r.open.AddAll()
		}
	}
	switch {
	case l.table == nil:
		return
	case l.places == nil:
		r.schema = true
		r.addTable(l, findLayout)
		return
	case r.undecoded:
		r.undecoded = false
		r.addTable(l, findUndecoded)
		return
	case l.isPartial(e):
		r.addTable(l, findRowImage)
		return
	}
	rows := e.Rows
	if len(l.places) == 0 { // each row means the same
		rows = [][]any{nil}
	}
	first, second := imageOf(l, e.ColumnBitmap1), imageOf(l, e.ColumnBitmap2)
	switch e.Type() {
	case replication.EnumRowsEventTypeInsert:
		for _, row := range rows {
			r.open.AddRow(l.table, nil, valuesOf(l, first, row, nil))
		}
	case replication.EnumRowsEventTypeDelete:
		for _, row := range rows {
			r.open.AddRow(l.table, valuesOf(l, first, row, nil), nil)
		}
	default:
		for pair := range slices.Chunk(rows, 2) {
			before := valuesOf(l, first, pair[0], nil)
			r.open.AddRow(l.table, before, valuesOf(l, second, pair[len(pair)-1], before))
		}
	}
}

// isPartial reports whether the first, or only, image of the rows of an event lacks relevant
// columns. The image after an update may lack unchanged columns.
func (l *layout) isPartial(e *replication.RowsEvent) bool {
	return slices.Contains(imageOf(l, e.ColumnBitmap1), -1)
}

// imageOf returns the places of an image that has only the columns in bitmap; -1 for a column
// that it does not have.
func imageOf(l *layout, bitmap []byte) []int {
	places := slices.Clone(l.places)
	for i, at := range places {
		if at/8 >= len(bitmap) || bitmap[at/8]&(1<<(at%8)) == 0 {
			places[i] = -1
		}
	}
	return places
}

// valuesOf returns the values of an image as texts. A column that it does not have is as
// before.
func valuesOf(l *layout, places []int, row []any, before []string) []string {
	values := make([]string, len(places))
	for i, at := range places {
		switch {
		case at >= 0 && at < len(row):
			values[i] = text(row[at], l.types[at])
		case before != nil:
			values[i] = before[i]
		}
	}
	return values
}

// text returns a value as a text, "" for NULL. The library returns all integers with a sign;
// ids have none.
func text(v any, kind byte) string {
	switch v := v.(type) {
	case int8:
		return strconv.FormatUint(uint64(uint8(v)), 10)
	case int16:
		return strconv.FormatUint(uint64(uint16(v)), 10)
	case int32:
		if kind == gomysql.MYSQL_TYPE_INT24 {
			return strconv.FormatUint(uint64(uint32(v)&0xffffff), 10)
		}
		return strconv.FormatUint(uint64(uint32(v)), 10)
	case int64:
		return strconv.FormatUint(uint64(v), 10)
	case string:
		return v[:min(len(v), maxText)]
	case []byte:
		return string(v[:min(len(v), maxText)])
	case nil:
		return ""
	default:
		s := fmt.Sprint(v)
		return s[:min(len(s), maxText)]
	}
}

// addTable adds that any row of a table may have changed, and why more is not known.
func (r *Reader) addTable(l *layout, why func(table string) Finding) {
	r.open.AddTable(l.table)
	r.find(why(l.table.Name()))
}
