package handlers

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A buyer is the customer group, the website and the taxes for which prices are computed.
type buyer struct {
	group int64
	// groupGone: there is no such group any more.
	GroupGone          bool
	resource.PriceSite // of the store view that is read
	Taxes              *resource.Taxes
	now                string // the current time at the website, in the format of stored times
	// Expiry is when a price that was computed changes next.
	resource.Expiry
}

// buyers find the buyers for whom prices are computed.
type buyers struct {
	shops                *resource.ShopCache
	customers, addresses resource.Source
	now                  func() time.Time
}

// newBuyers returns the buyers of a shop.
func newBuyers(backend *resource.Backend, shops *resource.ShopCache, now func() time.Time) (b *buyers, err error) {
	b = &buyers{shops: shops, now: now}
	if b.customers, err = backend.Source(adapter.Customers); err != nil {
		return nil, err
	}
	b.addresses, err = backend.Source(adapter.CustomerAddresses)
	return b, err
}

// Guest returns a buyer in a scope, without taxes, who is a Guest.
func (s *buyers) Guest(at *resource.PriceScope) *buyer {
	return &buyer{group: resource.GuestsID, PriceSite: at.PriceSite, now: s.now().In(at.Zone).Format(time.DateTime), Expiry: resource.Expiry{Zone: at.Zone}}
}

// Find determines the caller's customer group and taxes (configurations 3.1). A Customer without the
// address that decides pays taxes where a Guest does.
func (s *buyers) Find(ctx context.Context, c *resource.Call, view resource.StoreView) (*buyer, error) {
	shop, err := s.shops.Current(ctx)
	if err != nil {
		return nil, err
	}
	at := shop.PriceScope(view)
	b := s.Guest(at)
	if c.Principal.Role != contract.Customer {
		b.Taxes = at.GuestTaxes()
		return b, nil
	}
	group, address, err := s.customerTaxAddress(ctx, c.Principal.CustomerID, at)
	if err != nil {
		return nil, err
	}
	class, known := shop.TaxClass(group)
	b.group, b.GroupGone = group, !known
	if known {
		b.Taxes = at.Taxes(address, class)
	} else {
		b.Taxes = at.NoTaxes()
	}
	return b, nil
}

// customerTaxAddress returns a customer's group and the address that decides the customer's taxes. It
// reads both in one query if the customer has such an address.
func (s *buyers) customerTaxAddress(ctx context.Context, id int64, scope *resource.PriceScope) (group int64, at resource.TaxAddress, err error) {
	if decidedBy := scope.DecidedBy(); decidedBy != resource.ByOrigin {
		found, err := s.addresses.All(ctx, &adapter.ListParams{
			Query:   adapter.Query{Where: []adapter.Condition{resource.IntegerEquals("is_default_"+decidedBy, 1)}, Limit: 1},
			OwnerID: id,
			With:    []string{"customer_group_id"},
		})
		if err != nil {
			return 0, at, err
		}
		if len(found) > 0 && found[0].Get("country_id").Text() != "" {
			address := found[0]
			at = resource.TaxAddress{Country: adapter.Fold(address.Get("country_id").Text()), Postcode: resource.FoldPostcode(address.Get("postcode").Text())}
			if id := address.Get("region_id"); id.Empty() {
				at.Region = adapter.Fold(address.Get("region").Text())
			} else {
				at.RegionID = id.Int()
			}
			return address.Get("customer_group_id").Int(), at, nil
		}
	}
	customer, err := s.customers.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
	if err != nil {
		return 0, at, err
	}
	return customer.Get("group_id").Int(), scope.Fallback(), nil
}
