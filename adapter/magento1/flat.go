package magento1

import (
	"context"
	"database/sql"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A flatTable describes a table with one column for each attribute and one row for each
// record.
type flatTable struct {
	resource    adapter.Resource
	table       string // without the prefix
	keyColumn   string // the column of the record's id
	ownerColumn string // the column of the owner's id; "" for records without an owner
	// columnNames are the columns of attributes with other names.
	columnNames map[string]string
	// fallbacks are the values of attributes whose column is missing or NULL.
	fallbacks map[string]adapter.Value
}

func zero() adapter.Value { return adapter.IntegerValue(0) }

func customerTable() flatTable {
	return flatTable{
		resource: adapter.Customers, table: "customer_entity", keyColumn: "entity_id",
		fallbacks: map[string]adapter.Value{
			"website_id": zero(), "store_id": zero(), "group_id": zero(), "disable_auto_group_change": zero(),
			// Absent times are set when the record is stored.
			"created_at": {}, "updated_at": {},
		},
	}
}

func addressTable() flatTable {
	return flatTable{
		resource: adapter.CustomerAddresses, table: "customer_address_entity", keyColumn: "entity_id",
		columnNames: map[string]string{"customer_id": "parent_id"},
		fallbacks:   map[string]adapter.Value{"created_at": {}, "updated_at": {}},
	}
}

func orderTable() flatTable {
	return flatTable{
		resource: adapter.Orders, table: "sales_flat_order", keyColumn: "entity_id",
		fallbacks: map[string]adapter.Value{"store_id": zero()}, // the store view was deleted
	}
}

// orderParts returns the tables of an order's parts.
func orderParts() []flatTable {
	return []flatTable{
		{resource: adapter.OrderItems, table: "sales_flat_order_item", keyColumn: "item_id", ownerColumn: "order_id"},
		{resource: adapter.OrderAddresses, table: "sales_flat_order_address", keyColumn: "entity_id", ownerColumn: "parent_id"},
		{resource: adapter.OrderComments, table: "sales_flat_order_status_history", keyColumn: "entity_id", ownerColumn: "parent_id",
			// 2 means "not applicable".
			fallbacks: map[string]adapter.Value{"is_customer_notified": adapter.IntegerValue(2), "is_visible_on_front": zero()}},
	}
}

// A tableReader reads records from a flatTable.
type tableReader struct {
	flatTable
	schema     *adapter.Schema
	attributes []int // indexes of the attributes, in the order of the columns
	statement  string
}

// newTableReader returns a reader of the columns that the table has in this database.
func (d *Database) newTableReader(ctx context.Context, tx *sql.Tx, f flatTable) (*tableReader, error) {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+d.table(f.table)+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	names, err := rows.Columns()
	_ = rows.Close() // there are no rows
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, name := range names {
		there[strings.ToLower(name)] = true
	}
	s := &tableReader{flatTable: f, schema: d.schemas.Of(f.resource)}
	var columns []string
	for at, a := range s.schema.Attributes {
		column := a.Name
		if other, ok := f.columnNames[a.Name]; ok {
			column = other
		}
		if there[column] && !a.Added && !a.OnDemand && a.Kind != adapter.KindRecords {
			s.attributes, columns = append(s.attributes, at), append(columns, "`"+column+"`")
		}
	}
	s.statement = "SELECT " + strings.Join(columns, ", ") + " FROM " + d.table(f.table)
	return s, nil
}

// records returns the records selected by a WHERE condition and the clauses that follow it.
func (s *tableReader) records(ctx context.Context, tx *sql.Tx, where string, arguments ...any) (records []adapter.Record, err error) {
	columns := make([]sql.NullString, len(s.attributes))
	into := make([]any, len(s.attributes))
	for i := range columns {
		into[i] = &columns[i]
	}
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		records = append(records, s.record(columns))
		return nil
	}, s.statement+" WHERE "+where, arguments...)
	return records, err
}

func (s *tableReader) record(columns []sql.NullString) adapter.Record {
	r := adapter.NewRecord(s.schema)
	for i, at := range s.attributes {
		r.Values[at] = valueOf(s.schema.Attributes[at].Kind, columns[i])
	}
	for name, fallback := range s.fallbacks {
		if r.Get(name).Empty() {
			r.Set(name, fallback)
		}
	}
	return r
}

// nextBatch returns the batch of records that follow an id, and the greatest id in it, which
// is after itself if the batch is empty.
func (s *tableReader) nextBatch(ctx context.Context, tx *sql.Tx, after int64) (records []adapter.Record, last int64, err error) {
	records, err = s.records(ctx, tx, "`"+s.keyColumn+"` > ? ORDER BY `"+s.keyColumn+"` LIMIT ?", after, batchSize)
	if err != nil || len(records) == 0 {
		return nil, after, err
	}
	return records, records[len(records)-1].Get(s.schema.Key).Int(), nil
}
