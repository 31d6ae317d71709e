package magento1

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

// An orderReader reads orders.
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
	for _, f := range orderParts() {
		part, err := o.d.newTableReader(ctx, tx, f)
		if err != nil {
			return err
		}
		o.parts = append(o.parts, part)
	}
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+o.d.table(o.rows.table)+" LIMIT 0")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	for _, name := range names {
		o.hasGiftMessages = o.hasGiftMessages || name == "gift_message_id"
	}
	return err
}

func (o *orderReader) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := o.rows.nextBatch(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	b := &orderBatch{orderReader: o, tx: tx, records: records, index: indexByKey(records), first: records[0].Get("entity_id").Int(), last: last}
	for _, step := range []func(context.Context) error{b.clearDeletedCustomers, b.setPayments, b.setTaxes, b.setGiftMessages} {
		if err := step(ctx); err != nil {
			return nil, after, err
		}
	}
	for _, r := range records {
		setTimeIfEmpty(r, "created_at", r.Get("updated_at"))
		setTimeIfEmpty(r, "updated_at", r.Get("created_at"))
	}
	all := aggregates(records)
	for _, part := range o.parts {
		if err := b.addParts(ctx, part, all); err != nil {
			return nil, after, err
		}
	}
	return all, last, nil
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
	tx          *sql.Tx
	records     []adapter.Record
	index       map[int64]int // index of an order by its id
	first, last int64         // ids
}

// eachOrderRow calls f for every row with its order. The first column of a row is the
// order's id, the others are texts.
func (b *orderBatch) eachOrderRow(ctx context.Context, columns int, f func(order adapter.Record, columns []sql.NullString), text string) error {
	values := make([]sql.NullString, columns)
	var id int64
	into := []any{&id}
	for i := range values {
		into = append(into, &values[i])
	}
	return eachRowIfTable(ctx, b.tx, func(rows *sql.Rows) error {
		err := rows.Scan(into...)
		if i, ok := b.index[id]; ok && err == nil {
			f(b.records[i], values)
		}
		return err
	}, text, b.first, b.last)
}

// clearDeletedCustomers clears the customer of orders whose customer was deleted.
func (b *orderBatch) clearDeletedCustomers(ctx context.Context) error {
	orders, customers := b.d.table(b.rows.table), b.d.table("customer_entity")
	return b.eachOrderRow(ctx, 0, func(order adapter.Record, _ []sql.NullString) { order.Set("customer_id", adapter.NullValue()) },
		"SELECT o.entity_id FROM "+orders+" o LEFT JOIN "+customers+" c ON c.entity_id = o.customer_id"+
			" WHERE o.entity_id BETWEEN ? AND ? AND o.customer_id IS NOT NULL AND c.entity_id IS NULL")
}

// setPayments sets the method of the first payment.
func (b *orderBatch) setPayments(ctx context.Context) error {
	return b.eachOrderRow(ctx, 1, func(order adapter.Record, columns []sql.NullString) { setIfAbsent(order, "payment_method", columns[0]) },
		"SELECT parent_id, method FROM "+b.d.table("sales_flat_order_payment")+" WHERE parent_id BETWEEN ? AND ? ORDER BY entity_id")
}

// setTaxes sets the title and the rate of the first tax.
func (b *orderBatch) setTaxes(ctx context.Context) error {
	return b.eachOrderRow(ctx, 2, func(order adapter.Record, columns []sql.NullString) {
		if order.Get("tax_name").Kind() == adapter.Absent {
			setIfAbsent(order, "tax_name", columns[0])
			setIfAbsent(order, "tax_rate", columns[1])
		}
	}, "SELECT order_id, title, percent FROM "+b.d.table("sales_order_tax")+" WHERE order_id BETWEEN ? AND ? ORDER BY tax_id")
}

// setGiftMessages sets the gift messages.
func (b *orderBatch) setGiftMessages(ctx context.Context) error {
	if !b.hasGiftMessages {
		return nil
	}
	return b.eachOrderRow(ctx, 3, func(order adapter.Record, columns []sql.NullString) {
		for i, name := range []string{"gift_message_from", "gift_message_to", "gift_message_body"} {
			setIfAbsent(order, name, columns[i])
		}
	}, "SELECT o.entity_id, m.sender, m.recipient, m.message FROM "+b.d.table(b.rows.table)+" o JOIN "+b.d.table("gift_message")+
		" m ON m.gift_message_id = o.gift_message_id WHERE o.entity_id BETWEEN ? AND ?")
}

// setIfAbsent sets an attribute that is absent.
func setIfAbsent(r adapter.Record, name string, text sql.NullString) {
	at, _ := r.Schema.Index(name)
	if r.Values[at].Kind() == adapter.Absent {
		r.Values[at] = valueOf(r.Schema.Attributes[at].Kind, text)
	}
}

// addParts adds the records of a table to the orders that they belong to.
func (b *orderBatch) addParts(ctx context.Context, part *tableReader, all []adapter.Aggregate) error {
	records, err := part.records(ctx, b.tx, "`"+part.ownerColumn+"` BETWEEN ? AND ? ORDER BY `"+part.keyColumn+"`", b.first, b.last)
	if err != nil {
		return err
	}
	for _, r := range records {
		i, ok := b.index[r.Get(part.ownerColumn).Int()]
		if !ok {
			continue // the part's order does not exist
		}
		setTimeIfEmpty(r, "created_at", all[i].Record.Get("created_at"))
		setTimeIfEmpty(r, "updated_at", r.Get("created_at"))
		all[i].Parts = append(all[i].Parts, r)
	}
	return nil
}
