package magento1

import (
	"context"
	"database/sql"
	"fmt"
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

// defaultStock is the stock of the contract. Legacy stores have one.
const defaultStock = 1

// A stockReader reads stock items.
type stockReader struct {
	d    *Database
	rows *tableReader
}

func (s *stockReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	f := flatTable{
		part: Stock, resource: adapter.StockItems, table: "cataloginventory_stock_item", keyColumn: "item_id",
		oldNames: map[string]string{
			"use_config_enable_qty_inc": "use_config_enable_qty_increments", "stock_status_changed_auto": "stock_status_changed_automatically",
		},
		fallbacks: map[string]adapter.Value{}, flat: true,
	}
	// Columns that earlier versions lack are off, and set by the store where there is
	// a setting.
	for _, a := range s.d.schemas.Of(adapter.StockItems).Attributes {
		switch {
		case !a.Required || a.Name == "product_id":
		case a.Kind == adapter.KindDecimal:
			f.fallbacks[a.Name] = adapter.TextValue("0.0000")
		case a.Name == "use_config_enable_qty_inc" || a.Name == "use_config_qty_increments":
			f.fallbacks[a.Name] = adapter.IntegerValue(1)
		default:
			f.fallbacks[a.Name] = zero()
		}
	}
	s.rows, err = s.d.newTableReader(ctx, tx, f)
	return err
}

func (s *stockReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	records, last, err := s.rows.nextBatch(ctx, tx, w)
	if err != nil || last == w.after {
		return nil, w.after, err
	}
	lost := map[int64]bool{}
	err = s.d.conn.Each(ctx, tx, "SELECT i.item_id FROM "+s.d.conn.Table("cataloginventory_stock_item")+" i LEFT JOIN "+s.d.conn.Table("catalog_product_entity")+
		" e ON e.entity_id = i.product_id WHERE "+w.until(last).has("i.item_id")+" AND e.entity_id IS NULL", func(r row) error {
		lost[r.ID(0)] = true
		return nil
	})
	var kept []adapter.Record
	for _, r := range records {
		key := fmt.Sprintf("stock item %d, product %d", keyOf(r), r.Get("product_id").Int())
		switch {
		case lost[keyOf(r)]:
			s.d.conn.skip(Stock, s.rows.table, key, ReasonNoRecord)
		case r.Get("stock_id").Int() != defaultStock:
			s.d.conn.skip(Stock, s.rows.table, key, ReasonStock)
		default:
			kept = append(kept, r)
		}
	}
	return aggregates(kept), last, err
}

func orderTable() flatTable {
	return flatTable{
		part: Orders, resource: adapter.Orders, table: "sales_flat_order", keyColumn: "entity_id",
		fallbacks: map[string]adapter.Value{"store_id": zero()}, // the store view was deleted
		flat:      true,
		elsewhere: []string{"payment_method", "tax_name", "tax_rate", "gift_message_from", "gift_message_to", "gift_message_body"},
	}
}

// orderParts returns the tables of an order's parts.
func orderParts() []flatTable {
	return []flatTable{
		{part: Orders, resource: adapter.OrderItems, table: "sales_flat_order_item", keyColumn: "item_id", ownerColumn: "order_id", flat: true},
		{part: Orders, resource: adapter.OrderAddresses, table: "sales_flat_order_address", keyColumn: "entity_id", ownerColumn: "parent_id", flat: true},
		{part: Orders, resource: adapter.OrderComments, table: "sales_flat_order_status_history", keyColumn: "entity_id", ownerColumn: "parent_id", flat: true,
			// 2 means "not applicable".
			fallbacks: map[string]adapter.Value{"is_customer_notified": adapter.IntegerValue(2), "is_visible_on_front": zero()}},
	}
}

// An orderReader reads orders with their lines, addresses and comments. The customer_id of
// an order whose customer was deleted is null.
type orderReader struct {
	d               *Database
	rows            *tableReader
	parts           []*tableReader
	hasGiftMessages bool // the orders table has gift_message_id
}

func (o *orderReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if o.rows, err = o.d.newTableReader(ctx, tx, orderTable()); err != nil {
		return err
	}
	o.parts = nil
	for _, f := range orderParts() {
		part, err := o.d.newTableReader(ctx, tx, f)
		if err != nil {
			return err
		}
		o.parts = append(o.parts, part)
	}
	columns, err := o.d.conn.ColumnsOf(ctx, tx, o.rows.table)
	if o.hasGiftMessages = columns["gift_message_id"]; !o.hasGiftMessages {
		o.d.conn.missing(o.rows.table, "gift_message_id")
	}
	return err
}

func (o *orderReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	records, last, err := o.rows.nextBatch(ctx, tx, w)
	if err != nil {
		return nil, w.after, err
	}
	if last == w.after {
		return nil, w.after, o.skipOrphans(ctx, tx, w.after, w.through)
	}
	b := &orderBatch{orderReader: o, tx: tx, records: records, index: indexByKey(records), window: w.until(last)}
	for _, step := range []func(context.Context) error{b.clearDeletedCustomers, b.setPayments, b.setTaxes, b.setGiftMessages} {
		if err := step(ctx); err != nil {
			return nil, w.after, err
		}
	}
	for _, r := range records {
		o.rows.completeTimes("order", r)
	}
	all := aggregates(records)
	for _, part := range o.parts {
		if err := b.addParts(ctx, part, all); err != nil {
			return nil, w.after, err
		}
	}
	return all, last, nil
}

// skipOrphans reports the parts of orders with ids in (after, through], none of which exists.
func (o *orderReader) skipOrphans(ctx context.Context, tx *sql.Tx, after, through int64) error {
	for _, part := range o.parts {
		err := o.d.conn.Each(ctx, tx, "SELECT "+part.keyColumn+", "+part.ownerColumn+" FROM "+o.d.conn.Table(part.table)+" WHERE "+between(part.ownerColumn, after, through)+
			" ORDER BY "+part.ownerColumn+", "+part.keyColumn+" LIMIT "+formatID(maxOrphans), func(r row) error {
			part.skipOrphan(r.ID(0), r.ID(1))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// skipOrphan reports a part of an order that does not exist.
func (s *tableReader) skipOrphan(key, order int64) {
	s.conn.skip(s.part, s.table, fmt.Sprintf("%s %d, order %d", s.keyColumn, key, order), ReasonNoRecord)
}

// unknownTime replaces the times of a record that has none in the legacy store, so that an import
// is the same each time.
const unknownTime = "1970-01-01 00:00:00"

// completeTimes sets created_at and updated_at where the legacy store has none, which is the case
// for dates of zeros: to the other one, or to unknownTime.
func (s *tableReader) completeTimes(noun string, r adapter.Record) {
	if r.Get("created_at").Empty() && r.Get("updated_at").Empty() {
		s.conn.skip(s.part, s.table, fmt.Sprintf("%s %d", noun, keyOf(r)), ReasonNoTime)
		r.Set("created_at", adapter.TextValue(unknownTime))
	}
	setTimeIfEmpty(r, "created_at", r.Get("updated_at"))
	setTimeIfEmpty(r, "updated_at", r.Get("created_at"))
}

// setTimeIfEmpty sets a time that a record lacks to another one.
func setTimeIfEmpty(r adapter.Record, name string, other adapter.Value) {
	if _, ok := r.Schema.Index(name); ok && r.Get(name).Empty() {
		r.Set(name, other)
	}
}

// An orderBatch is a batch of orders and the transaction that reads it.
type orderBatch struct {
	*orderReader
	tx      *sql.Tx
	records []adapter.Record
	index   map[int64]int // index of an order by its id
	window                // of the orders
}

// eachOrderRow calls f for every row of a statement with its order, whose id is the first
// column. table is one that may be missing.
func (b *orderBatch) eachOrderRow(ctx context.Context, table, text string, f func(order adapter.Record, r row)) error {
	return b.d.conn.eachIfTable(ctx, b.tx, table, text, func(r row) error {
		if i, ok := b.index[r.ID(0)]; ok {
			f(b.records[i], r)
		}
		return nil
	})
}

// clearDeletedCustomers clears the customer of orders whose customer was deleted.
func (b *orderBatch) clearDeletedCustomers(ctx context.Context) error {
	return b.eachOrderRow(ctx, "customer_entity", "SELECT o.entity_id FROM "+b.d.conn.Table("sales_flat_order")+" o LEFT JOIN "+b.d.conn.Table("customer_entity")+
		" c ON c.entity_id = o.customer_id WHERE "+b.has("o.entity_id")+" AND o.customer_id IS NOT NULL AND c.entity_id IS NULL",
		func(order adapter.Record, _ row) { order.Set("customer_id", adapter.NullValue()) })
}

// setPayments sets the method of the first payment.
func (b *orderBatch) setPayments(ctx context.Context) error {
	return b.eachOrderRow(ctx, "sales_flat_order_payment", "SELECT parent_id, method FROM "+b.d.conn.Table("sales_flat_order_payment")+
		" WHERE "+b.has("parent_id")+" ORDER BY entity_id", func(order adapter.Record, r row) {
		b.setIfAbsent(order, "payment_method", r[1])
	})
}

// setTaxes sets the title and the rate of the first tax.
func (b *orderBatch) setTaxes(ctx context.Context) error {
	return b.eachOrderRow(ctx, "sales_order_tax", "SELECT order_id, title, percent FROM "+b.d.conn.Table("sales_order_tax")+
		" WHERE "+b.has("order_id")+" ORDER BY tax_id", func(order adapter.Record, r row) {
		if order.Get("tax_name").Kind() == adapter.Absent {
			b.setIfAbsent(order, "tax_name", r[1])
			b.setIfAbsent(order, "tax_rate", r[2])
		}
	})
}

// setGiftMessages sets the gift messages.
func (b *orderBatch) setGiftMessages(ctx context.Context) error {
	if !b.hasGiftMessages {
		return nil
	}
	return b.eachOrderRow(ctx, "gift_message", "SELECT o.entity_id, m.sender, m.recipient, m.message FROM "+b.d.conn.Table("sales_flat_order")+" o JOIN "+
		b.d.conn.Table("gift_message")+" m ON m.gift_message_id = o.gift_message_id WHERE "+b.has("o.entity_id"), func(order adapter.Record, r row) {
		for i, name := range []string{"gift_message_from", "gift_message_to", "gift_message_body"} {
			b.setIfAbsent(order, name, r[i+1])
		}
	})
}

// setIfAbsent sets an attribute that is absent.
func (b *orderBatch) setIfAbsent(r adapter.Record, name string, column sql.RawBytes) {
	at, _ := r.Schema.Index(name)
	if r.Values[at].Kind() != adapter.Absent {
		return
	}
	v, problem := b.d.conn.valueOf(r.Schema.Attributes[at].Kind, column)
	if problem != "" {
		b.d.conn.skip(Orders, "sales_flat_order", fmt.Sprintf("order %d, %s", keyOf(r), name), problem)
	}
	r.Values[at] = v
}

// addParts adds the records of a table to the orders that they belong to.
func (b *orderBatch) addParts(ctx context.Context, part *tableReader, all []adapter.Aggregate) error {
	records, err := part.records(ctx, b.tx, b.has(quoteName(part.ownerColumn))+" ORDER BY "+quoteName(part.keyColumn))
	if err != nil {
		return err
	}
	for _, r := range records {
		order := r.Get(part.ownerColumn).Int()
		i, ok := b.index[order]
		if !ok {
			part.skipOrphan(keyOf(r), order)
			continue
		}
		setTimeIfEmpty(r, "created_at", all[i].Record.Get("created_at"))
		setTimeIfEmpty(r, "updated_at", r.Get("created_at"))
		all[i].Parts = append(all[i].Parts, r)
	}
	return nil
}
