package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Addresses is the resource behind /customers/addresses and
// /customers/:customer_id/addresses.
type Addresses struct {
	resource.Resource
	form      formParser
	customers resource.Source
}

// NewAddresses returns the handler of addresses.
func NewAddresses(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, shops *resource.ShopCache) (*Addresses, error) {
	base, err := resource.NewResource(d, fields.CustomerAddresses, backend, adapter.CustomerAddresses)
	if err != nil {
		return nil, err
	}
	directory, err := newCountryDirectory(backend)
	if err != nil {
		return nil, err
	}
	addresses := &Addresses{Resource: base}
	if addresses.customers, err = backend.Source(adapter.Customers); err != nil {
		return nil, err
	}
	addresses.form = newFormParser(&addresses.Resource, shops, directory)
	street := addresses.Attribute("street")
	at, _ := addresses.Fields.Index("street")
	addresses.Attributes[at] = -1
	addresses.Compute = func(_ *resource.Call, _ *contract.Field, rec adapter.Record) (codec.Node, bool) {
		return streetLines(d, rec.Values[street].Texts()), true
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

// GetCustomerAddress handles GET /customers/addresses/:id.
func (h *Addresses) GetCustomerAddress(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseKey(h.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	rec, err := h.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: c.OwnerID()})
	if err != nil {
		return nil, err
	}
	return h.SingleReply(c, rec)
}

// addressOwner returns the key of the customer in the path. Only an Admin may name a
// customer other than the caller.
func (h *Addresses) addressOwner(c *resource.Call) (adapter.Key, error) {
	customer, err := resource.ParseKey(h.Dialect, c.Param("customer_id"))
	if err != nil {
		return 0, err
	}
	if own := c.OwnerID(); own != 0 && own != int64(customer) {
		return 0, h.Dialect.Fault(contract.NotFound)
	}
	return customer, nil
}

// ListCustomerAddresses handles GET /customers/:customer_id/addresses. It validates the
// list modifiers only after it has found the customer, and does not apply them (wire 10).
func (h *Addresses) ListCustomerAddresses(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	customer, err := h.addressOwner(c)
	if err != nil {
		return nil, err
	}
	newestFirst := adapter.Query{OrderBy: h.Schema.Key, Desc: true}
	records, err := h.AllRows(ctx, adapter.ListParams{Query: newestFirst, OwnerID: int64(customer)}, c.Limits, resource.NoHook)
	if err != nil {
		return nil, err
	}
	if len(records.Batch) == 0 { // no addresses, or no such customer
		if _, err := h.customers.Store.Get(ctx, &adapter.GetParams{Key: customer}); err != nil {
			return nil, err
		}
	}
	reader := h.ListReader(c.Principal.Role)
	reader.Unapplied = c.Route.Modifiers == contract.CheckedModifiers
	if _, err := reader.Parse(h.Schema, &c.Query); err != nil {
		return nil, err
	}
	return h.ListReply(c, records)
}

// CreateCustomerAddress handles POST /customers/:customer_id/addresses. It looks up the
// customer before it checks the fields.
func (h *Addresses) CreateCustomerAddress(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	customer, err := h.addressOwner(c)
	if err != nil {
		return nil, err
	}
	if _, err := h.customers.Store.Get(ctx, &adapter.GetParams{Key: customer}); err != nil {
		return nil, err
	}
	parsed, err := h.form.parse(ctx, c, "")
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
	key, err := h.Store.Create(ctx, &adapter.CreateParams{Record: r})
	switch {
	case resource.IsStoreError(err, adapter.Invalid, "customer_id"): // deleted in the meantime
		return nil, h.Dialect.Fault(contract.NotFound)
	case err != nil:
		return nil, err
	}
	return resource.Created("/customers/addresses/", key), nil
}

// defaultFlags lists the fields that mark an address as a default.
func defaultFlags() []string { return []string{"is_default_billing", "is_default_shipping"} }

// errCountryChanged reports that another write changed the country of an address after
// its fields had been checked.
var errCountryChanged = errors.New("the country of the address has changed in the meantime")

// UpdateCustomerAddress handles PUT /customers/addresses/:id. It looks up the address
// before it checks the fields. The region depends on the stored country, so it checks the
// fields again if another write has changed that country.
func (h *Addresses) UpdateCustomerAddress(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseKey(h.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	own := c.OwnerID()
	for {
		before, err := h.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: own})
		if err != nil {
			return nil, err
		}
		parsed, err := h.form.parse(ctx, c, before.Get("country_id").Text())
		if err != nil {
			return nil, err
		}
		err = h.Store.Update(ctx, &adapter.UpdateParams{Key: key, OwnerID: own, Change: func(current adapter.Record) (adapter.Record, error) {
			if current.Get("country_id").Text() != before.Get("country_id").Text() {
				return adapter.Record{}, errCountryChanged
			}
			change := parsed.change.Clone()
			if releasesDefaults(c, current) {
				change.Set("leaves_customer", adapter.IntegerValue(1))
			}
			return change, nil
		}})
		switch {
		case err == nil:
			return &resource.Reply{}, nil
		case !errors.Is(err, errCountryChanged):
			return nil, err
		}
	}
}

// releasesDefaults reports whether the body of c sends 0 for each default flag that an address
// holds, and makes it no other default. The flags stay, but the original then does not save the
// customer with the address (customers 6.3).
func releasesDefaults(c *resource.Call, address adapter.Record) bool {
	return !slices.ContainsFunc(defaultFlags(), func(name string) bool {
		value, sent := c.Body.Get(name)
		return sent && input.Truthy(value) || !sent && address.Get(name).Int() != 0
	})
}

// DeleteCustomerAddress handles DELETE /customers/addresses/:id.
func (h *Addresses) DeleteCustomerAddress(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseKey(h.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	err = h.Store.Delete(ctx, &adapter.DeleteParams{Key: key, OwnerID: c.OwnerID(), Check: func(current adapter.Record) error {
		if slices.ContainsFunc(defaultFlags(), func(name string) bool { return current.Get(name).Int() != 0 }) {
			return h.Dialect.Fault(contract.AddressIsDefault)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return &resource.Reply{}, nil
}
