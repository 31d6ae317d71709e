package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// defaults lists the flags of an address that one address of a customer has.
func defaults() []string { return []string{"is_default_billing", "is_default_shipping"} }

// addresses are the hooks of the store of addresses. Every write locks the
// customer first, so that those of one customer's addresses come one after the
// other, and never wait for each other's records.
type addresses struct {
	*store
	customers *store
	touch     string // statement that sets the customer's time of the last change
}

func newCustomerAddresses(db *DB, customers *store) *store {
	s := addresses{store: newStore(db, db.table(adapter.CustomerAddresses)), customers: customers}
	ub := db.engine.flavor.NewUpdateBuilder().Update(customers.table.name)
	s.touch, _ = ub.Set(ub.Assign("updated_at", nil)).Where(ub.Equal(bare(customers.table.key()), nil)).Build()
	s.hooks = hooks{beforeCreate: s.beforeCreate, beforeLock: s.beforeLock, afterWrite: s.afterWrite}
	return s.store
}

var errNoCustomer = errors.New("no such customer")

func (s addresses) beforeCreate(ctx context.Context, tx *sql.Tx, r adapter.Record) error {
	_, err := s.customers.locked(ctx, tx, adapter.Key(r.Get("customer_id").Int()))
	if errors.Is(err, sql.ErrNoRows) {
		return &adapter.Error{Kind: adapter.Invalid, Op: "create customer_addresses", Field: "customer_id", Err: errNoCustomer}
	}
	return err
}

func (s addresses) beforeLock(ctx context.Context, tx *sql.Tx, key adapter.Key) error {
	r, err := s.readIn(ctx, tx, s.get, key)
	if err != nil {
		return err
	}
	_, err = s.customers.locked(ctx, tx, adapter.Key(r.Get("customer_id").Int()))
	return err
}

// afterWrite takes the flags a change sets from the customer's other addresses.
// A default address is part of what the customer is, so its writes are changes of
// the customer, too.
func (s addresses) afterWrite(ctx context.Context, tx *sql.Tx, key adapter.Key, r, change adapter.Record) error {
	customer := r.Get("customer_id").Int()
	for _, name := range defaults() {
		if change.Get(name).Int() != 1 {
			continue
		}
		ub := s.db.engine.flavor.NewUpdateBuilder().Update(s.table.name)
		ub.Set(ub.Assign(name, 0)).Where(ub.Equal("customer_id", customer), ub.NotEqual(bare(s.table.key()), int64(key)), ub.Equal(name, 1))
		text, arguments := ub.Build()
		if _, err := s.db.writing.execIn(ctx, tx, text, arguments...); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(defaults(), func(name string) bool { return r.Get(name).Int() == 1 }) {
		return nil
	}
	_, err := s.db.writing.execIn(ctx, tx, s.touch, now(), customer)
	return err
}
