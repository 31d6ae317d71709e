package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

// orderComments is the store of order comments. A new comment changes its order, which
// is locked first, so that comments on one order are added one after the other.
type orderComments struct {
	*store
	orders *store
	status int // schema index of the comment's status
	// Statements that set updated_at of an order and of its items, and the order's status.
	touchOrderSQL, touchItemsSQL, setStatusSQL string
}

func newOrderComments(db *DB) orderComments {
	s := orderComments{store: newStore(db, db.table(adapter.OrderComments)), orders: newStore(db, db.table(adapter.Orders))}
	s.status, _ = s.table.schema.Index("status")
	update := func(table, key string, columns ...string) string {
		ub := db.engine.flavor.NewUpdateBuilder().Update(table)
		for _, column := range columns {
			ub.SetMore(ub.Assign(column, nil))
		}
		text, _ := ub.Where(ub.Equal(key, nil)).Build()
		return text
	}
	orderKey := unqualified(s.orders.table.keyColumn())
	s.touchOrderSQL = update(s.orders.table.name, orderKey, "updated_at")
	s.touchItemsSQL = update(db.table(adapter.OrderItems).name, "order_id", "updated_at")
	s.setStatusSQL = update(s.orders.table.name, orderKey, "status", "status_folded")
	return s
}

var errNoOrder = errors.New("no such order")

// Create stores a new comment and updates its order.
func (s orderComments) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.table.schema.Resource)
	for _, text := range []string{s.insertSQL, s.orders.lockSQL, s.touchOrderSQL, s.touchItemsSQL, s.setStatusSQL} {
		if _, err := s.db.writeStatements.prepare(ctx, text); err != nil {
			return 0, s.db.wrapError(ctx, op, err)
		}
	}
	var key adapter.Key
	err := s.transact(ctx, op, func(tx *sql.Tx) error {
		if err := runCheck(p.Check); err != nil {
			return err
		}
		order, err := s.orders.lockRecord(ctx, tx, adapter.Key(p.Record.Get("parent_id").Int()))
		if errors.Is(err, sql.ErrNoRows) {
			err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "parent_id", Err: errNoOrder}
		}
		if err != nil {
			return err
		}
		key, err = s.comment(ctx, tx, op, order, p.Record)
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

// comment stores a comment on a locked order.
func (s orderComments) comment(ctx context.Context, tx *sql.Tx, op string, order, r adapter.Record) (adapter.Key, error) {
	r = r.Clone()
	status := r.Values[s.status]
	changes := status.Kind() != adapter.Absent
	if !changes {
		r.Values[s.status] = order.Get("status")
	}
	key, err := s.create(ctx, tx, op, r)
	if err != nil {
		return 0, err
	}
	id := int64(keyOf(order))
	if changes {
		text, err := s.db.engine.bind(&s.table.schema.Attributes[s.status], status)
		if err != nil {
			return 0, err
		}
		if _, err := s.db.writeStatements.execTx(ctx, tx, s.setStatusSQL, text, fold(status), id); err != nil {
			return 0, err
		}
	}
	moment := now()
	for _, touch := range []string{s.touchOrderSQL, s.touchItemsSQL} {
		if _, err := s.db.writeStatements.execTx(ctx, tx, touch, moment, id); err != nil {
			return 0, err
		}
	}
	return key, nil
}
