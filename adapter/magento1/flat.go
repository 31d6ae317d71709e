package magento1

import (
	"context"
	"database/sql"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A flat table has a column for each attribute and a row for each record.
type flat struct {
	resource adapter.Resource
	table    string // without its prefix
	key      string // the column of the record's id
	owner    string // the column of its owner's id; "" for records of their own
	// renamed are the columns of attributes that are called otherwise.
	renamed map[string]string
	// instead is what attributes have where the column is missing or NULL.
	instead map[string]adapter.Value
}

func zero() adapter.Value { return adapter.IntegerValue(0) }

func customerTable() flat {
	return flat{
		resource: adapter.Customers, table: "customer_entity", key: "entity_id",
		instead: map[string]adapter.Value{
			"website_id": zero(), "store_id": zero(), "group_id": zero(), "disable_auto_group_change": zero(),
			// The store dates what has no date.
			"created_at": {}, "updated_at": {},
		},
	}
}

func addressTable() flat {
	return flat{
		resource: adapter.CustomerAddresses, table: "customer_address_entity", key: "entity_id",
		renamed: map[string]string{"customer_id": "parent_id"},
		instead: map[string]adapter.Value{"created_at": {}, "updated_at": {}},
	}
}

func orderTable() flat {
	return flat{
		resource: adapter.Orders, table: "sales_flat_order", key: "entity_id",
		instead: map[string]adapter.Value{"store_id": zero()}, // its store view is gone
	}
}

// orderParts are the tables of an order's parts.
func orderParts() []flat {
	return []flat{
		{resource: adapter.OrderItems, table: "sales_flat_order_item", key: "item_id", owner: "order_id"},
		{resource: adapter.OrderAddresses, table: "sales_flat_order_address", key: "entity_id", owner: "parent_id"},
		{resource: adapter.OrderComments, table: "sales_flat_order_status_history", key: "entity_id", owner: "parent_id",
			// 2 is "does not apply".
			instead: map[string]adapter.Value{"is_customer_notified": adapter.IntegerValue(2), "is_visible_on_front": zero()}},
	}
}

// A selection is what to read of a flat table.
type selection struct {
	flat
	schema *adapter.Schema
	at     []int // the attributes, as their columns come
	text   string
}

// selection returns what to read of f: the columns that the attributes have, in the
// shop that this is.
func (d *Database) selection(ctx context.Context, tx *sql.Tx, f flat) (*selection, error) {
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
	s := &selection{flat: f, schema: d.schemas.Of(f.resource)}
	var columns []string
	for at, a := range s.schema.Attributes {
		column := a.Name
		if other, ok := f.renamed[a.Name]; ok {
			column = other
		}
		if there[column] && !a.Added && !a.OnDemand && a.Kind != adapter.KindRecords {
			s.at, columns = append(s.at, at), append(columns, "`"+column+"`")
		}
	}
	s.text = "SELECT " + strings.Join(columns, ", ") + " FROM " + d.table(f.table)
	return s, nil
}

// records returns the records that a condition, and what comes behind it, selects.
func (s *selection) records(ctx context.Context, tx *sql.Tx, where string, arguments ...any) (records []adapter.Record, err error) {
	columns := make([]sql.NullString, len(s.at))
	into := make([]any, len(s.at))
	for i := range columns {
		into[i] = &columns[i]
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		records = append(records, s.record(columns))
		return nil
	}, s.text+" WHERE "+where, arguments...)
	return records, err
}

func (s *selection) record(columns []sql.NullString) adapter.Record {
	r := adapter.NewRecord(s.schema)
	for i, at := range s.at {
		r.Values[at] = value(s.schema.Attributes[at].Kind, columns[i])
	}
	for name, instead := range s.instead {
		if r.Get(name).Empty() {
			r.Set(name, instead)
		}
	}
	return r
}

// roots returns the batch of records that come after an id.
func (s *selection) roots(ctx context.Context, tx *sql.Tx, after int64) (records []adapter.Record, last int64, err error) {
	records, err = s.records(ctx, tx, "`"+s.key+"` > ? ORDER BY `"+s.key+"` LIMIT ?", after, batchSize)
	if err != nil || len(records) == 0 {
		return nil, after, err
	}
	return records, records[len(records)-1].Get(s.schema.Key).Int(), nil
}
