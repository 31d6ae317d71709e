package magento1

import (
	"context"
	"database/sql"
	"iter"

	"github.com/portico-commerce/portico/adapter"
)

// Orders yields the orders by ascending id, each with its lines, addresses and
// comments. One whose customer the shop no longer has belongs to nobody.
func (d *Database) Orders(ctx context.Context) iter.Seq2[adapter.Aggregate, error] {
	return stream[adapter.Aggregate](ctx, d, &orders{d: d})
}

// orders reads orders.
type orders struct {
	d     *Database
	rows  *selection
	parts []*selection
	notes bool // orders have gift messages
}

func (o *orders) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if o.rows, err = o.d.selection(ctx, tx, orderTable()); err != nil {
		return err
	}
	for _, f := range orderParts() {
		part, err := o.d.selection(ctx, tx, f)
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
		o.notes = o.notes || name == "gift_message_id"
	}
	return err
}

func (o *orders) next(ctx context.Context, tx *sql.Tx, after int64) ([]adapter.Aggregate, int64, error) {
	records, last, err := o.rows.roots(ctx, tx, after)
	if err != nil || len(records) == 0 {
		return nil, last, err
	}
	b := &orderBatch{orders: o, tx: tx, records: records, at: places(records), first: records[0].Get("entity_id").Int(), last: last}
	for _, step := range []func(context.Context) error{b.gone, b.payments, b.taxes, b.messages} {
		if err := step(ctx); err != nil {
			return nil, after, err
		}
	}
	for _, r := range records {
		dateLike(r, "created_at", r.Get("updated_at"))
		dateLike(r, "updated_at", r.Get("created_at"))
	}
	all := alone(records)
	for _, part := range o.parts {
		if err := b.addParts(ctx, part, all); err != nil {
			return nil, after, err
		}
	}
	return all, last, nil
}

// dateLike gives a record a time that it has not.
func dateLike(r adapter.Record, name string, other adapter.Value) {
	if _, ok := r.Schema.Index(name); ok && r.Get(name).Empty() {
		r.Set(name, other)
	}
}

// An orderBatch is a batch of orders, in the transaction that reads it.
type orderBatch struct {
	*orders
	tx          *sql.Tx
	records     []adapter.Record
	at          map[int64]int // place of an order by its id
	first, last int64         // ids
}

// each calls f on the order of every row, whose first column is its id and whose other
// columns are texts.
func (b *orderBatch) each(ctx context.Context, columns int, f func(order adapter.Record, columns []sql.NullString), text string) error {
	values := make([]sql.NullString, columns)
	var id int64
	into := []any{&id}
	for i := range values {
		into = append(into, &values[i])
	}
	return eachIfAny(ctx, b.tx, func(rows *sql.Rows) error {
		err := rows.Scan(into...)
		if i, ok := b.at[id]; ok && err == nil {
			f(b.records[i], values)
		}
		return err
	}, text, b.first, b.last)
}

// gone takes orders from customers who are no longer there.
func (b *orderBatch) gone(ctx context.Context) error {
	orders, customers := b.d.table(b.rows.table), b.d.table("customer_entity")
	return b.each(ctx, 0, func(order adapter.Record, _ []sql.NullString) { order.Set("customer_id", adapter.NullValue()) },
		"SELECT o.entity_id FROM "+orders+" o LEFT JOIN "+customers+" c ON c.entity_id = o.customer_id"+
			" WHERE o.entity_id BETWEEN ? AND ? AND o.customer_id IS NOT NULL AND c.entity_id IS NULL")
}

// payments sets the method of the first payment.
func (b *orderBatch) payments(ctx context.Context) error {
	return b.each(ctx, 1, func(order adapter.Record, columns []sql.NullString) { setFirst(order, "payment_method", columns[0]) },
		"SELECT parent_id, method FROM "+b.d.table("sales_flat_order_payment")+" WHERE parent_id BETWEEN ? AND ? ORDER BY entity_id")
}

// taxes sets title and rate of the first tax.
func (b *orderBatch) taxes(ctx context.Context) error {
	return b.each(ctx, 2, func(order adapter.Record, columns []sql.NullString) {
		if order.Get("tax_name").Kind() == adapter.Absent {
			setFirst(order, "tax_name", columns[0])
			setFirst(order, "tax_rate", columns[1])
		}
	}, "SELECT order_id, title, percent FROM "+b.d.table("sales_order_tax")+" WHERE order_id BETWEEN ? AND ? ORDER BY tax_id")
}

// messages sets the gift messages.
func (b *orderBatch) messages(ctx context.Context) error {
	if !b.notes {
		return nil
	}
	return b.each(ctx, 3, func(order adapter.Record, columns []sql.NullString) {
		for i, name := range []string{"gift_message_from", "gift_message_to", "gift_message_body"} {
			setFirst(order, name, columns[i])
		}
	}, "SELECT o.entity_id, m.sender, m.recipient, m.message FROM "+b.d.table(b.rows.table)+" o JOIN "+b.d.table("gift_message")+
		" m ON m.gift_message_id = o.gift_message_id WHERE o.entity_id BETWEEN ? AND ?")
}

// setFirst sets an attribute that has no value yet.
func setFirst(r adapter.Record, name string, column sql.NullString) {
	at, _ := r.Schema.Index(name)
	if r.Values[at].Kind() == adapter.Absent {
		r.Values[at] = value(r.Schema.Attributes[at].Kind, column)
	}
}

// addParts adds the records of a table to the orders they are part of.
func (b *orderBatch) addParts(ctx context.Context, part *selection, all []adapter.Aggregate) error {
	records, err := part.records(ctx, b.tx, "`"+part.owner+"` BETWEEN ? AND ? ORDER BY `"+part.key+"`", b.first, b.last)
	if err != nil {
		return err
	}
	for _, r := range records {
		i, ok := b.at[r.Get(part.owner).Int()]
		if !ok {
			continue // there is no order of that id
		}
		dateLike(r, "created_at", all[i].Record.Get("created_at"))
		dateLike(r, "updated_at", r.Get("created_at"))
		all[i].Parts = append(all[i].Parts, r)
	}
	return nil
}
