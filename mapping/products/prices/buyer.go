package prices

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/calls"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/records"
	"github.com/portico-commerce/portico/mapping/shopconfig"
)

// A Buyer is the customer group, the website and the taxes for which prices are computed.
type Buyer struct {
	group int64
	// groupGone: there is no such group any more.
	GroupGone bool
	website   int64 // of the store view that is read, 0 in the default scope
	Taxes     shopconfig.ClassTaxes
	now       string // the current time at the website, in the format of stored times
	// Expiry is when a price that was computed changes next.
	calls.Expiry
}

// Buyers find the buyers for whom prices are computed.
type Buyers struct {
	shops                *shopconfig.Cache
	customers, addresses records.Source
	now                  func() time.Time
}

// NewBuyers returns the buyers of a shop.
func NewBuyers(backend *records.Backend, shops *shopconfig.Cache, now func() time.Time) (b *Buyers, err error) {
	b = &Buyers{shops: shops, now: now}
	if b.customers, err = backend.Source(adapter.Customers); err != nil {
		return nil, err
	}
	b.addresses, err = backend.Source(adapter.CustomerAddresses)
	return b, err
}

// Guest returns a buyer at a website, without taxes, who is a Guest.
func (s *Buyers) Guest(at *shopconfig.Website) *Buyer {
	return &Buyer{group: shopconfig.GuestsID, website: at.Id, now: s.now().In(at.Zone).Format(time.DateTime), Expiry: calls.Expiry{Zone: at.Zone}}
}

// Find determines the caller's customer group and taxes (products 3.5). A Customer
// without a default shipping address pays taxes where a Guest does.
func (s *Buyers) Find(ctx context.Context, c *calls.Call, view shopconfig.StoreView) (*Buyer, error) {
	shop, err := s.shops.Current(ctx)
	if err != nil {
		return nil, err
	}
	at := shop.Site(view.WebsiteID)
	b := s.Guest(at)
	if c.Principal.Role != contract.Customer {
		b.Taxes = at.GuestTaxes()
		return b, nil
	}
	group, address, err := s.customerTaxAddress(ctx, c.Principal.CustomerID, at.TaxAddress)
	if err != nil {
		return nil, err
	}
	class, known := shop.TaxClass(group)
	b.group, b.GroupGone = group, !known
	if known {
		b.Taxes = shopconfig.TaxesAt(shop.Rates, address, class)
	}
	return b, nil
}

// customerTaxAddress returns a customer's group and the place of their default shipping
// address, or fallback without one. It reads both in one query if there is such an
// address.
func (s *Buyers) customerTaxAddress(ctx context.Context, id int64, fallback shopconfig.TaxAddress) (group int64, at shopconfig.TaxAddress, err error) {
	found, err := s.addresses.All(ctx, &adapter.ListParams{
		Query:   adapter.Query{Where: []adapter.Condition{records.IntegerEquals("is_default_shipping", 1)}, Limit: 1},
		OwnerID: id,
		With:    []string{"customer_group_id"},
	})
	if err != nil {
		return 0, fallback, err
	}
	if len(found) > 0 {
		address := found[0]
		return address.Get("customer_group_id").Int(), shopconfig.TaxAddress{
			Country:  adapter.Fold(address.Get("country_id").Text()),
			Region:   adapter.Fold(address.Get("region").Text()),
			RegionID: address.Get("region_id").Int(),
			Postcode: shopconfig.FoldPostcode(address.Get("postcode").Text()),
		}, nil
	}
	customer, err := s.customers.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
	if err != nil {
		return 0, fallback, err
	}
	return customer.Get("group_id").Int(), fallback, nil
}
