package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// defaultFlags lists the flags that at most one address of a customer may have.
func defaultFlags() []string { return []string{"is_default_billing", "is_default_shipping"} }

// addressHooks are the hooks of the store of addresses. Every write locks the customer
// first, so that writes to the addresses of one customer run one after the other and
// cannot deadlock.
type addressHooks struct {
	*store
	customers *store
	touchSQL  string // sets the customer's updated_at
}

func newCustomerAddresses(db *DB, customers *store) *store {
	s := addressHooks{store: newStore(db, db.table(adapter.CustomerAddresses)), customers: customers}
	ub := db.engine.flavor.NewUpdateBuilder().Update(customers.table.name)
	s.touchSQL, _ = ub.Set(ub.Assign("updated_at", nil)).Where(ub.Equal(unqualified(customers.table.keyColumn()), nil)).Build()
	s.hooks = hooks{beforeCreate: s.beforeCreate, beforeLock: s.beforeLock, afterWrite: s.afterWrite}
	return s.store
}

var errNoCustomer = errors.New("no such customer")

// beforeCreate locks the customer of a new address.
func (s addressHooks) beforeCreate(ctx context.Context, tx *sql.Tx, r adapter.Record) error {
	_, err := s.customers.lockRecord(ctx, tx, adapter.Key(r.Get("customer_id").Int()))
	if errors.Is(err, sql.ErrNoRows) {
		return &adapter.Error{Kind: adapter.Invalid, Op: "create customer_addresses", Field: "customer_id", Err: errNoCustomer}
	}
	return err
}

// beforeLock locks the customer of an existing address.
func (s addressHooks) beforeLock(ctx context.Context, tx *sql.Tx, key adapter.Key) error {
	r, err := s.readTx(ctx, tx, s.getSQL, key)
	if err != nil {
		return err
	}
	_, err = s.customers.lockRecord(ctx, tx, adapter.Key(r.Get("customer_id").Int()))
	return err
}

// afterWrite clears the flags that a change sets on the customer's other addresses. A
// default address counts as part of the customer, so its writes also set the customer's
// updated_at.
func (s addressHooks) afterWrite(ctx context.Context, tx *sql.Tx, key adapter.Key, r, change adapter.Record) error {
	customer := r.Get("customer_id").Int()
	for _, name := range defaultFlags() {
		if change.Get(name).Int() != 1 {
			continue
		}
		ub := s.db.engine.flavor.NewUpdateBuilder().Update(s.table.name)
		ub.Set(ub.Assign(name, 0)).Where(ub.Equal("customer_id", customer), ub.NotEqual(unqualified(s.table.keyColumn()), int64(key)), ub.Equal(name, 1))
		text, arguments := ub.Build()
		if _, err := s.db.writeStatements.execTx(ctx, tx, text, arguments...); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(defaultFlags(), func(name string) bool { return r.Get(name).Int() == 1 }) {
		return nil
	}
	_, err := s.db.writeStatements.execTx(ctx, tx, s.touchSQL, now(), customer)
	return err
}
