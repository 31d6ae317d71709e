package magento1

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A flatTable describes a table with one column for each attribute and one row for each
// record.
type flatTable struct {
	part        Part
	resource    adapter.Resource
	table       string // without the prefix
	keyColumn   string // the column of the record's id
	ownerColumn string // the column of the owner's id; "" for records without an owner
	// columnNames are the columns of attributes with other names, and oldNames their names in
	// earlier versions.
	columnNames, oldNames map[string]string
	// flat: every attribute has a column, at least in later versions, except those elsewhere.
	flat      bool
	elsewhere []string
	// fallbacks are the values of attributes whose column is missing or NULL.
	fallbacks map[string]adapter.Value
}

func zero() adapter.Value { return adapter.IntegerValue(0) }

// A tableReader reads records from a flatTable.
type tableReader struct {
	flatTable
	conn       *connection
	schema     *adapter.Schema
	attributes []int    // indexes of the attributes, in the order of the columns
	columns    []string // quoted
	key        int      // index of the column of the key
}

// newTableReader returns a reader of the columns that the table has in this database.
// static names further attributes, added by the configuration, that are columns.
func (d *Database) newTableReader(ctx context.Context, tx *sql.Tx, f flatTable, static ...string) (*tableReader, error) {
	there, err := d.conn.ColumnsOf(ctx, tx, f.table)
	if err != nil {
		return nil, err
	}
	s := &tableReader{flatTable: f, conn: d.conn, schema: d.schemas.Of(f.resource), key: -1}
	for at, a := range s.schema.Attributes {
		column := a.Name
		if other, ok := f.columnNames[a.Name]; ok {
			column = other
		}
		if old := f.oldNames[a.Name]; old != "" && !there[column] {
			column = old
		}
		if f.flat && there != nil && !there[column] && !a.OnDemand && !a.Added && !slices.Contains(f.elsewhere, a.Name) {
			d.conn.missing(f.table, column)
		}
		if !there[column] || a.OnDemand || a.Kind == adapter.KindRecords || a.Added && !slices.Contains(static, a.Name) {
			continue
		}
		if a.Name == s.schema.Key {
			s.key = len(s.columns)
		}
		s.attributes, s.columns = append(s.attributes, at), append(s.columns, quoteName(column))
	}
	if s.key < 0 { // the statement fails, and its error names the missing table or column
		s.key, s.attributes, s.columns = 0, []int{0}, []string{quoteName(f.keyColumn)}
	}
	return s, nil
}

// records returns the records selected by a WHERE condition and the clauses that follow it.
func (s *tableReader) records(ctx context.Context, tx *sql.Tx, where string) (records []adapter.Record, err error) {
	text := "SELECT " + strings.Join(s.columns, ", ") + " FROM " + s.conn.Table(s.table) + " WHERE " + where
	err = s.conn.Each(ctx, tx, text, func(r row) error {
		records = append(records, s.record(r))
		return nil
	})
	return records, err
}

func (s *tableReader) record(columns row) adapter.Record {
	r := adapter.NewRecord(s.schema)
	for i, at := range s.attributes {
		v, problem := s.conn.valueOf(s.schema.Attributes[at].Kind, columns[i])
		if problem != "" {
			s.conn.skip(s.part, s.table, s.keyColumn+" "+string(columns[s.key])+", "+s.schema.Attributes[at].Name, problem)
		}
		r.Values[at] = v
	}
	for name, fallback := range s.fallbacks {
		if r.Get(name).Empty() {
			r.Set(name, fallback)
		}
	}
	return r
}

// nextBatch returns the next batch of a window, and up to which id it has looked, which is
// after itself if there are no more rows.
func (s *tableReader) nextBatch(ctx context.Context, tx *sql.Tx, w window) (records []adapter.Record, last int64, err error) {
	key := quoteName(s.keyColumn)
	records, err = s.records(ctx, tx, w.has(key)+" ORDER BY "+key+" LIMIT "+formatID(int64(w.limit)))
	if err != nil {
		return nil, w.after, err
	}
	if last = w.after; len(records) > 0 {
		last = keyOf(records[len(records)-1])
	}
	return records, w.looked(len(records), last), nil
}

// keyOf returns the key of a record.
func keyOf(r adapter.Record) int64 { return r.Get(r.Schema.Key).Int() }

// indexByKey returns the index of each record by its key.
func indexByKey(records []adapter.Record) map[int64]int {
	at := make(map[int64]int, len(records))
	for i, r := range records {
		at[keyOf(r)] = i
	}
	return at
}

// aggregates returns records as aggregates without parts.
func aggregates(records []adapter.Record) []adapter.Aggregate {
	all := make([]adapter.Aggregate, len(records))
	for i, r := range records {
		all[i].Record = r
	}
	return all
}
