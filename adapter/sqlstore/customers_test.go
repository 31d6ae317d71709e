package sqlstore_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// newAddress returns an address of customer 1.
func newAddress(billing int) adapter.Record {
	return attrs{"customer_id": 1, "city": "Bath", "street": []string{"1 High St"}, "is_default_billing": billing, "is_default_shipping": 0}.Record(adapter.NewSchemas().Of(adapter.CustomerAddresses))
}

// TestKeysAfterRestart checks that a key is never used again, even by the next process.
func TestKeysAfterRestart(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := sqlstore.NewDemo(t, e)
		db := open(t, dsn)
		addresses := adaptertest.StoreOf(t, db.Adapter(), adapter.CustomerAddresses)
		key, err := addresses.Create(t.Context(), &adapter.CreateParams{Record: newAddress(0)})
		if err != nil {
			t.Fatal(err)
		}
		adaptertest.MustDelete(t, addresses, adapter.DeleteParams{Key: key})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := adaptertest.StoreOf(t, open(t, dsn).Adapter(), adapter.CustomerAddresses).Create(t.Context(), &adapter.CreateParams{Record: newAddress(0)})
		if err != nil || again <= key {
			t.Errorf("key %d after %d, %v", again, key, err)
		}
	})
}

// TestConcurrentAddressWrites creates, updates and deletes addresses of one customer
// from many goroutines, and then deletes the customer.
func TestConcurrentAddressWrites(t *testing.T) {
	const writers = 20
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		a := openDemo(t, e).Adapter()
		customers, addresses := adaptertest.StoreOf(t, a, adapter.Customers), adaptertest.StoreOf(t, a, adapter.CustomerAddresses)
		fresh := newAddress(1)
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				key, err := addresses.Create(t.Context(), &adapter.CreateParams{Record: fresh.Clone()})
				if err != nil {
					t.Errorf("Create: %v", err)
					return
				}
				if err := adaptertest.Update(t, addresses, key, 0, attrs{"is_default_shipping": 1}); err != nil {
					t.Errorf("Update: %v", err)
				}
			})
			all.Go(func() {
				if err := adaptertest.Update(t, customers, 1, 0, attrs{"firstname": "Zed"}); err != nil {
					t.Errorf("Update of the customer: %v", err)
				}
			})
		}
		all.Wait()
		found := adaptertest.MustList(t, addresses, adapter.ListParams{OwnerID: 1})
		for _, name := range []string{"is_default_billing", "is_default_shipping"} {
			defaults := slices.DeleteFunc(slices.Clone(found.Records), func(r adapter.Record) bool { return r.Get(name).Int() == 0 })
			if len(defaults) != 1 {
				t.Errorf("%s is set for %d addresses", name, len(defaults))
			}
		}
		var removed sync.WaitGroup
		for range writers {
			removed.Go(func() {
				_, err := addresses.Create(t.Context(), &adapter.CreateParams{Record: fresh.Clone()})
				if err != nil && adapter.KindOf(err) != adapter.Invalid {
					t.Errorf("Create while the customer goes: %v", err)
				}
			})
		}
		removed.Go(func() {
			if err := customers.Delete(t.Context(), &adapter.DeleteParams{Key: 1}); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
		removed.Wait()
		if left, err := addresses.List(t.Context(), &adapter.ListParams{OwnerID: 1}); err != nil || len(left.Records) != 0 {
			t.Errorf("%d addresses are left, %v", len(left.Records), err)
		}
	})
}
