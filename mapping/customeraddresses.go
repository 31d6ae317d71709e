package mapping

import (
	"context"
	"errors"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// customerAddresses is the resource behind /customers/addresses and
// /customers/:customer_id/addresses.
type customerAddresses struct {
	resource
	form formParser
}

func newCustomerAddresses(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas) (*customerAddresses, error) {
	base, err := newResource(d, fields.CustomerAddresses, backend, schemas, adapter.CustomerAddresses)
	if err != nil {
		return nil, err
	}
	directory, err := newCountryDirectory(backend, schemas)
	if err != nil {
		return nil, err
	}
	addresses := &customerAddresses{resource: base}
	addresses.form = formParser{resource: &addresses.resource, form: contract.CustomerAddressForm(addresses.addedFields()...), directory: directory}
	street := addresses.attribute("street")
	addresses.compute = map[string]func(*Call, adapter.Record) (codec.Node, bool){
		"street": func(_ *Call, rec adapter.Record) (codec.Node, bool) {
			return streetLines(d, rec.Values[street].Texts()), true
		},
	}
	return addresses, nil
}

// streetLines returns the wire form of an address's street, which is always a list.
func streetLines(d *contract.Dialect, lines []string) codec.Node {
	if d.TwoStreetLines && len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], "; ")}
	}
	return codec.TextsNode(lines)
}

// getCustomerAddress handles GET /customers/addresses/:id.
func (s *Service) getCustomerAddress(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	rec, err := s.addresses.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID(c.Principal)})
	if err != nil {
		return nil, err
	}
	return s.addresses.singleReply(c, rec)
}

// addressOwner returns the key of the customer in the path. Only an Admin may name a
// customer other than the caller.
func (s *Service) addressOwner(c *Call) (adapter.Key, error) {
	customer, err := s.parseKey(c.Param("customer_id"))
	if err != nil {
		return 0, err
	}
	if own := ownerID(c.Principal); own != 0 && own != int64(customer) {
		return 0, s.dialect.Fault(contract.NotFound)
	}
	return customer, nil
}

// listCustomerAddresses handles GET /customers/:customer_id/addresses. It validates the
// list modifiers only after it has found the customer, and does not apply them (wire 10).
func (s *Service) listCustomerAddresses(ctx context.Context, c *Call) (*Reply, error) {
	customer, err := s.addressOwner(c)
	if err != nil {
		return nil, err
	}
	newestFirst := adapter.Query{OrderBy: s.addresses.schema.Key, Desc: true}
	records, err := s.addresses.allRows(ctx, adapter.ListParams{Query: newestFirst, OwnerID: int64(customer)}, s.limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	if len(records.batch) == 0 { // no addresses, or no such customer
		if _, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: customer}); err != nil {
			return nil, err
		}
	}
	reader := s.addresses.listReader(c.Principal.Role)
	reader.Unapplied = c.Route.Modifiers == contract.CheckedModifiers
	if _, err := reader.Parse(s.addresses.schema, &c.Query); err != nil {
		return nil, err
	}
	return s.addresses.listReply(c, records)
}

// createCustomerAddress handles POST /customers/:customer_id/addresses. It looks up the
// customer before it checks the fields.
func (s *Service) createCustomerAddress(ctx context.Context, c *Call) (*Reply, error) {
	customer, err := s.addressOwner(c)
	if err != nil {
		return nil, err
	}
	if _, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: customer}); err != nil {
		return nil, err
	}
	parsed, err := s.addresses.form.parse(ctx, c, "")
	if err != nil {
		return nil, err
	}
	r := parsed.change
	r.Set("customer_id", adapter.IntegerValue(int64(customer)))
	for _, name := range defaultFlags() {
		if r.Get(name).Kind() == adapter.Absent {
			r.Set(name, adapter.IntegerValue(0))
		}
	}
	key, err := s.addresses.store.Create(ctx, &adapter.CreateParams{Record: r})
	switch {
	case isStoreError(err, adapter.Invalid, "customer_id"): // deleted in the meantime
		return nil, s.dialect.Fault(contract.NotFound)
	case err != nil:
		return nil, err
	}
	return createdReply("/customers/addresses/", key), nil
}

// defaultFlags lists the fields that mark an address as a default.
func defaultFlags() []string { return []string{"is_default_billing", "is_default_shipping"} }

// errCountryChanged reports that another write changed the country of an address after
// its fields had been checked.
var errCountryChanged = errors.New("the country of the address has changed in the meantime")

// updateCustomerAddress handles PUT /customers/addresses/:id. It looks up the address
// before it checks the fields. The region depends on the stored country, so it checks the
// fields again if another write has changed that country.
func (s *Service) updateCustomerAddress(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	own := ownerID(c.Principal)
	for {
		before, err := s.addresses.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: own})
		if err != nil {
			return nil, err
		}
		parsed, err := s.addresses.form.parse(ctx, c, before.Get("country_id").Text())
		if err != nil {
			return nil, err
		}
		err = s.addresses.store.Update(ctx, &adapter.UpdateParams{Key: key, OwnerID: own, Change: func(current adapter.Record) (adapter.Record, error) {
			if current.Get("country_id").Text() != before.Get("country_id").Text() {
				return adapter.Record{}, errCountryChanged
			}
			return parsed.change, nil
		}})
		switch {
		case err == nil:
			return &Reply{}, nil
		case !errors.Is(err, errCountryChanged):
			return nil, err
		}
	}
}

// deleteCustomerAddress handles DELETE /customers/addresses/:id.
func (s *Service) deleteCustomerAddress(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	err = s.addresses.store.Delete(ctx, &adapter.DeleteParams{Key: key, OwnerID: ownerID(c.Principal), Check: func(current adapter.Record) error {
		for _, name := range defaultFlags() {
			if current.Get(name).Int() != 0 {
				return s.dialect.Fault(contract.AddressIsDefault)
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return &Reply{}, nil
}
