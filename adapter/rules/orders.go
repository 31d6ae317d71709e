package rules

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
)

// orderComments writes the comments of orders. A new comment changes its order, which is
// locked first, so that comments on one order are added one after the other.
type orderComments struct{ records }

var errNoOrder = errors.New("no such order")

// Create stores a new comment. It sets the order's status, if it has one, and updated_at
// of the order and of its items.
func (w orderComments) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create order_comments"
	return w.writeNew(ctx, op, func(tx Tx) (adapter.Key, error) {
		if err := p.RunCheck(); err != nil {
			return 0, err
		}
		order, err := tx.Lock(ctx, adapter.Orders, adapter.Key(p.Record.Get("parent_id").Int()))
		if isNotFound(err) {
			err = Invalid(op, "parent_id", errNoOrder)
		}
		if err != nil {
			return 0, err
		}
		return w.comment(ctx, tx, op, order, p.Record)
	})
}

// comment stores a comment on a locked order.
func (w orderComments) comment(ctx context.Context, tx Tx, op string, order, r adapter.Record) (adapter.Key, error) {
	r = r.Clone()
	change := adapter.NewRecord(order.Schema)
	change.Set("updated_at", Now())
	if r.Get("status").Kind() == adapter.Absent {
		r.Set("status", order.Get("status"))
	} else {
		change.Set("status", r.Get("status"))
	}
	key, err := insert(ctx, tx, op, r)
	if err == nil {
		err = tx.Update(ctx, order, change)
	}
	if err == nil {
		err = w.touch(ctx, tx, adapter.OrderItems, "order_id", order.Get(order.Schema.Key))
	}
	return key, err
}
