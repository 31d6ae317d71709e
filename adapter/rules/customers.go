package rules

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// DefaultFlags names the flags that at most one address of a customer has.
func DefaultFlags() []string { return []string{"is_default_billing", "is_default_shipping"} }

// finishAddress clears the flags that a change sets on the customer's other addresses. A
// default address counts as part of the customer, so its writes also set the customer's
// updated_at unless they say otherwise.
func (w records) finishAddress(ctx context.Context, tx Tx, key adapter.Key, address, change adapter.Record, mirror *mirroredWrite) error {
	if mirror != nil {
		others, err := tx.Find(ctx, adapter.CustomerAddresses, w.schema.Owner, []adapter.Value{address.Get(w.schema.Owner)})
		if err != nil {
			return err
		}
		mirror.losesDefaults(key, others, change)
	}
	if err := ClearOtherDefaults(ctx, tx, key, address, change); err != nil {
		return err
	}
	if change.Get("leaves_customer").Int() == 1 || !slices.ContainsFunc(DefaultFlags(), func(name string) bool { return address.Get(name).Int() == 1 }) {
		return nil
	}
	return w.touch(ctx, tx, adapter.Customers, "entity_id", address.Get("customer_id"))
}

// losesDefaults notes that the customer's other addresses lose the flags that a change of
// the address with key sets.
func (m *mirroredWrite) losesDefaults(key adapter.Key, addresses []adapter.Record, change adapter.Record) {
	for _, other := range addresses {
		if other.Key() == key {
			continue
		}
		cleared := adapter.NewRecord(other.Schema)
		for _, name := range DefaultFlags() {
			if change.Get(name).Int() == 1 {
				cleared.Set(name, adapter.IntegerValue(0))
			}
		}
		m.changed(other, other, cleared, 0)
	}
}

// ClearOtherDefaults clears the flags that a change sets on the customer's other addresses.
func ClearOtherDefaults(ctx context.Context, tx Tx, key adapter.Key, address, change adapter.Record) error {
	for _, name := range DefaultFlags() {
		if change.Get(name).Int() != 1 {
			continue
		}
		where, cleared := adapter.NewRecord(address.Schema), adapter.NewRecord(address.Schema)
		where.Set("customer_id", address.Get("customer_id"))
		where.Set(name, adapter.IntegerValue(1))
		cleared.Set(name, adapter.IntegerValue(0))
		if err := tx.UpdateWhere(ctx, where, cleared, key); err != nil {
			return err
		}
	}
	return nil
}
