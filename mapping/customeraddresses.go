package mapping

import (
	"context"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// customerAddresses is the resource behind /customers/addresses and
// /customers/:customer_id/addresses.
type customerAddresses struct{ resource }

func newCustomerAddresses(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas) (*customerAddresses, error) {
	bound, err := newResource(d, contract.CustomerAddressFields(), upstream, schemas, adapter.CustomerAddresses)
	if err != nil {
		return nil, err
	}
	addresses := &customerAddresses{bound}
	street := addresses.attribute("street")
	addresses.compute = map[string]func(*Call, adapter.Record) (codec.Node, bool){
		"street": func(_ *Call, rec adapter.Record) (codec.Node, bool) {
			return streetLines(d, rec.Values[street].Texts()), true
		},
	}
	return addresses, nil
}

// streetLines returns the wire form of an address's street, a list whatever is
// stored.
func streetLines(d *contract.Dialect, lines []string) codec.Node {
	if d.TwoStreetLines && len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], "; ")}
	}
	return textList(lines)
}

// getCustomerAddress handles GET /customers/addresses/:id.
func (s *Service) getCustomerAddress(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.key(c.Param("id"))
	if err != nil {
		return nil, err
	}
	rec, err := s.addresses.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID(c.Principal)})
	if err != nil {
		return nil, err
	}
	return s.addresses.one(c, rec)
}

// listCustomerAddresses handles GET /customers/:customer_id/addresses. The list
// modifiers are checked, but not before the customer is found, and have no
// effect (wire 10).
func (s *Service) listCustomerAddresses(ctx context.Context, c *Call) (*Reply, error) {
	customer, err := s.key(c.Param("customer_id"))
	if err != nil {
		return nil, err
	}
	own := ownerID(c.Principal)
	if own != 0 && own != int64(customer) {
		return nil, s.dialect.Fault(contract.NotFound)
	}
	newestFirst := adapter.Query{OrderBy: s.addresses.schema.Key, Desc: true, Limit: s.settings.MaxRows}
	records, err := s.addresses.all(ctx, &adapter.ListParams{Query: newestFirst, OwnerID: int64(customer)})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 { // none, or no such customer
		if _, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: customer, OwnerID: own}); err != nil {
			return nil, err
		}
	}
	reader := s.addresses.reader(c.Principal.Role)
	reader.Unapplied = true
	if _, err := reader.Parse(s.addresses.schema, &c.Query); err != nil {
		return nil, err
	}
	return s.addresses.many(c, arrayOfRecords, records)
}
