package sqlstore_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// customerStores are the stores of customers and of the records that belong to them.
type customerStores struct{ customers, addresses, orders adapter.Store }

func openCustomerStores(tb testing.TB, db *sqlstore.DB) customerStores {
	tb.Helper()
	var p customerStores
	for r, into := range map[adapter.Resource]*adapter.Store{
		adapter.Customers: &p.customers, adapter.CustomerAddresses: &p.addresses, adapter.Orders: &p.orders,
	} {
		var err error
		if *into, err = db.Adapter().Store(r); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

func get(tb testing.TB, s adapter.Store, key adapter.Key) adapter.Record {
	tb.Helper()
	r, err := s.Get(tb.Context(), &adapter.GetParams{Key: key})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// change sets attributes of a record.
func change(tb testing.TB, s adapter.Store, key adapter.Key, values map[string]adapter.Value) error {
	tb.Helper()
	return s.Update(tb.Context(), &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		next := adapter.NewRecord(current.Schema)
		for name, v := range values {
			next.Set(name, v)
		}
		return next, nil
	}})
}

// newAddress returns an address of a customer with the required attributes of like.
func newAddress(like adapter.Record, customer int64) adapter.Record {
	r := adapter.NewRecord(like.Schema)
	r.Set("customer_id", adapter.IntegerValue(customer))
	r.Set("city", adapter.TextValue("Bath"))
	r.Set("street", adapter.TextsValue([]string{"1 High St"}))
	r.Set("is_default_billing", adapter.IntegerValue(0))
	r.Set("is_default_shipping", adapter.IntegerValue(0))
	return r
}

func TestDeletedCustomer(t *testing.T) {
	sqlstore.EachEngine(t, func(t *testing.T, e sqlstore.Engine) {
		db := openDemo(t, e)
		p := openCustomerStores(t, db)
		isHis := &adapter.ListParams{OwnerID: 1}
		orders, err := p.orders.List(t.Context(), isHis)
		if err != nil || len(orders.Records) == 0 {
			t.Fatalf("%d orders, %v", len(orders.Records), err)
		}
		if err := p.customers.Delete(t.Context(), &adapter.DeleteParams{Key: 1}); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]adapter.Store{"addresses": p.addresses, "orders": p.orders} {
			if left, err := s.List(t.Context(), isHis); err != nil || len(left.Records) != 0 {
				t.Errorf("%d %s of the customer, %v", len(left.Records), name, err)
			}
		}
		for _, before := range orders.Records {
			after := get(t, p.orders, adapter.Key(before.Get("entity_id").Int()))
			if !after.Get("customer_id").Empty() {
				t.Errorf("order %s is that of customer %s", after.Get("entity_id").Text(), after.Get("customer_id").Text())
			}
		}
		for _, token := range data(t).Tokens {
			_, err := db.Credentials().Token(t.Context(), token.Token)
			if gone := adapter.KindOf(err) == adapter.NotFound; gone != (token.CustomerID == 1) {
				t.Errorf("token of customer %d: %v", token.CustomerID, err)
			}
		}
	})
}

// TestKeysAfterRestart checks that a key is never used again, even by the next process.
func TestKeysAfterRestart(t *testing.T) {
	sqlstore.EachEngine(t, func(t *testing.T, e sqlstore.Engine) {
		dsn := e.NewDemo(t)
		db := open(t, dsn)
		p := openCustomerStores(t, db)
		like := get(t, p.addresses, 1)
		key, err := p.addresses.Create(t.Context(), &adapter.CreateParams{Record: newAddress(like, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.addresses.Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := openCustomerStores(t, open(t, dsn)).addresses.Create(t.Context(), &adapter.CreateParams{Record: newAddress(like, 1)})
		if err != nil || again <= key {
			t.Errorf("key %d after %d, %v", again, key, err)
		}
	})
}

// TestConcurrentAddressWrites creates, updates and deletes addresses of one customer
// from many goroutines, and then deletes the customer.
func TestConcurrentAddressWrites(t *testing.T) {
	const writers = 20
	sqlstore.EachEngine(t, func(t *testing.T, e sqlstore.Engine) {
		p := openCustomerStores(t, openDemo(t, e))
		like := get(t, p.addresses, 1)
		fresh := newAddress(like, 1)
		fresh.Set("is_default_billing", adapter.IntegerValue(1))
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				key, err := p.addresses.Create(t.Context(), &adapter.CreateParams{Record: fresh.Clone()})
				if err != nil {
					t.Errorf("Create: %v", err)
					return
				}
				if err := change(t, p.addresses, key, map[string]adapter.Value{"is_default_shipping": adapter.IntegerValue(1)}); err != nil {
					t.Errorf("Update: %v", err)
				}
			})
			all.Go(func() {
				if err := change(t, p.customers, 1, map[string]adapter.Value{"firstname": adapter.TextValue("Zed")}); err != nil {
					t.Errorf("Update of the customer: %v", err)
				}
			})
		}
		all.Wait()
		found, err := p.addresses.List(t.Context(), &adapter.ListParams{OwnerID: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"is_default_billing", "is_default_shipping"} {
			defaults := slices.DeleteFunc(slices.Clone(found.Records), func(r adapter.Record) bool { return r.Get(name).Int() == 0 })
			if len(defaults) != 1 {
				t.Errorf("%s is set for %d addresses", name, len(defaults))
			}
		}
		var removed sync.WaitGroup
		for range writers {
			removed.Go(func() {
				_, err := p.addresses.Create(t.Context(), &adapter.CreateParams{Record: fresh.Clone()})
				if err != nil && adapter.KindOf(err) != adapter.Invalid {
					t.Errorf("Create while the customer goes: %v", err)
				}
			})
		}
		removed.Go(func() {
			if err := p.customers.Delete(t.Context(), &adapter.DeleteParams{Key: 1}); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
		removed.Wait()
		if left, err := p.addresses.List(t.Context(), &adapter.ListParams{OwnerID: 1}); err != nil || len(left.Records) != 0 {
			t.Errorf("%d addresses are left, %v", len(left.Records), err)
		}
	})
}
