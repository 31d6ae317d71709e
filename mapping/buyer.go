package mapping

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A buyer is the customer group, the website and the taxes for which prices are computed.
type buyer struct {
	group int64
	// groupGone: there is no such group any more.
	groupGone bool
	website   int64 // of the store view that is read, 0 in the default scope
	taxes     []classTax
	zone      *time.Location
	now       string // the current time at the website, in the format of stored times
	// nextChange is the time, in the same format, at which a price that was computed
	// changes next; "" if none does.
	nextChange string
}

// guestsID is the customer group of Guests.
const guestsID = 0

// newBuyer returns a buyer at a website, without taxes, who is a Guest.
func (s *Service) newBuyer(at *website) *buyer {
	return &buyer{group: guestsID, website: at.id, zone: at.zone, now: s.settings.Now().In(at.zone).Format(time.DateTime)}
}

// findBuyer determines the caller's customer group and taxes (products 3.5). A Customer
// without a default shipping address pays taxes where a Guest does.
func (s *Service) findBuyer(ctx context.Context, c *Call, view storeView) (*buyer, error) {
	shop, err := s.shops.current(ctx)
	if err != nil {
		return nil, err
	}
	at := shop.site(view.websiteID)
	b := s.newBuyer(at)
	if c.Principal.Role != contract.Customer {
		b.taxes = at.guestTaxes()
		return b, nil
	}
	group, address, err := s.customerTaxAddress(ctx, c.Principal.CustomerID, at.taxAddress)
	if err != nil {
		return nil, err
	}
	class, known := shop.taxClass(group)
	b.group, b.groupGone = group, !known
	if known {
		b.taxes = taxesAt(shop.rates, address, class)
	}
	return b, nil
}

// customerTaxAddress returns a customer's group and the place of their default shipping
// address, or fallback without one. It reads both in one query if there is such an
// address.
func (s *Service) customerTaxAddress(ctx context.Context, id int64, fallback taxAddress) (group int64, at taxAddress, err error) {
	found, err := s.addresses.all(ctx, &adapter.ListParams{
		Query:   adapter.Query{Where: []adapter.Condition{integerEquals("is_default_shipping", 1)}, Limit: 1},
		OwnerID: id,
		With:    []string{"customer_group_id"},
	})
	if err != nil {
		return 0, fallback, err
	}
	if len(found) > 0 {
		address := found[0]
		return address.Get("customer_group_id").Int(), taxAddress{
			country:  adapter.Fold(address.Get("country_id").Text()),
			region:   adapter.Fold(address.Get("region").Text()),
			regionID: address.Get("region_id").Int(),
			postcode: foldPostcode(address.Get("postcode").Text()),
		}, nil
	}
	customer, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
	if err != nil {
		return 0, fallback, err
	}
	return customer.Get("group_id").Int(), fallback, nil
}

// tax returns the tax on products of a tax class.
func (b *buyer) tax(class int64) taxFactor {
	for i := range b.taxes {
		if b.taxes[i].class == class {
			return b.taxes[i].factor
		}
	}
	return noTax
}
