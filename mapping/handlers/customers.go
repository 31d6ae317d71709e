package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// CustomerSettings are the shop's settings of customers' accounts (configurations 6).
type CustomerSettings struct {
	// PasswordCost is the bcrypt cost for new passwords, or 0 for bcrypt.DefaultCost.
	PasswordCost int
	// NoConfirmation: a new customer gets no confirmation key, whatever the dialect.
	NoConfirmation bool
	// SharedAccounts: no two customers of the shop may have the same e-mail address. Customers who
	// share one already are refused when they are saved.
	SharedAccounts bool
}

// unique names the attributes whose values a saved customer must not share with any other one, in
// addition to those that are unique anyway.
func (s *CustomerSettings) unique() []string {
	if s.SharedAccounts {
		return []string{"email"}
	}
	return nil
}

// Customers is the resource behind /customers.
type Customers struct {
	resource.Resource
	form     formParser
	settings CustomerSettings
	// purgeCredentials drops the cached credentials.
	purgeCredentials func()
}

// NewCustomers returns the handler of customers. purgeCredentials drops the cached credentials.
func NewCustomers(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, shops *resource.ShopCache, settings CustomerSettings, purgeCredentials func()) (*Customers, error) {
	base, err := resource.NewResource(d, fields.Customers, backend, adapter.Customers)
	if err != nil {
		return nil, err
	}
	customers := &Customers{Resource: base, settings: settings, purgeCredentials: purgeCredentials}
	customers.form = newFormParser(&customers.Resource, shops, countryDirectory{})
	return customers, nil
}

// customerKey parses the id in the path. A Customer must send exactly the digits of their
// own id; an Admin may send anything that begins with the number (customers 1.1).
func (h *Customers) customerKey(c *resource.Call) (adapter.Key, error) {
	id, own := c.Param("id"), c.OwnerID()
	if own != 0 && id != strconv.FormatInt(own, 10) {
		return 0, h.Dialect.Fault(contract.NotFound)
	}
	return resource.ParseKey(h.Dialect, id)
}

// GetCustomer handles GET /customers/:id.
func (h *Customers) GetCustomer(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := h.customerKey(c)
	if err != nil {
		return nil, err
	}
	rec, err := h.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: c.OwnerID()})
	if err != nil {
		return nil, err
	}
	return h.SingleReply(c, rec)
}

// ListCustomers handles GET /customers. Where the dialect lets a Customer call it, the
// list holds only their own record.
func (h *Customers) ListCustomers(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	return h.AnswerList(ctx, c, c.OwnerID())
}

// createdIn is the value of created_in for customers that an administrator created.
const createdIn = "Admin"

// CreateCustomer handles POST /customers.
func (h *Customers) CreateCustomer(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	parsed, err := h.form.parse(ctx, c, "")
	if err != nil {
		return nil, err
	}
	if parsed.saveFault != 0 {
		return nil, h.saveFailure(parsed.saveFault, contract.RecordUnsaved)
	}
	r := parsed.change
	r.Set("store_id", adapter.IntegerValue(0))
	r.Set("created_in", adapter.TextValue(createdIn))
	if r.Get("disable_auto_group_change").Kind() == adapter.Absent {
		r.Set("disable_auto_group_change", adapter.IntegerValue(0))
	}
	if h.Dialect.ConfirmationKeys && !h.settings.NoConfirmation {
		r.Set("confirmation", adapter.TextValue(newConfirmationKey()))
	}
	if err := parsed.hashPassword(h.settings.PasswordCost); err != nil {
		return nil, err
	}
	key, err := h.Store.Create(ctx, &adapter.CreateParams{Record: r, Unique: h.settings.unique()})
	if isEmailTaken(err) {
		return nil, h.saveFailure(contract.EmailTaken, contract.RecordUnsaved)
	}
	if err != nil {
		return nil, err
	}
	return resource.Created("/customers/", key), nil
}

// newConfirmationKey returns 32 random hexadecimal digits.
func newConfirmationKey() string {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never returns an error
	return hex.EncodeToString(key[:])
}

// hashPassword adds the password that was sent, if any, and its hash to the change. The
// password itself is only for systems that the store forwards the write to. Hashing is slow
// at a high bcrypt cost, so it must run outside a transaction.
func (f *parsedForm) hashPassword(cost int) error {
	if f.password == "" {
		return nil
	}
	hash, err := adapter.HashPassword(f.password, cost)
	if err != nil {
		return err
	}
	f.change.Set("password_hash", adapter.TextValue(hash))
	f.change.Set("password", adapter.TextValue(f.password))
	return nil
}

// isEmailTaken reports whether a write failed because another customer of the website, or with shared
// accounts any other, has the same e-mail address.
func isEmailTaken(err error) bool { return resource.IsStoreError(err, adapter.Conflict, "email") }

// saveFailure returns the faults of a failed save: key, followed by next in the dialects
// where the original carries on after the failure.
func (h *Customers) saveFailure(key, next contract.FaultKey) contract.Faults {
	faults := contract.Faults{h.Dialect.Fault(key)}
	if h.Dialect.ContinuesAfterSaveError {
		faults = append(faults, h.Dialect.Fault(next))
	}
	return faults
}

// UpdateCustomer handles PUT /customers/:id. It looks up the customer before it checks
// the fields. A body that holds only known but unchangeable fields saves nothing
// (customers 5).
func (h *Customers) UpdateCustomer(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := h.customerKey(c)
	if err != nil {
		return nil, err
	}
	own := c.OwnerID()
	if _, err := h.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: own}); err != nil {
		return nil, err
	}
	parsed, err := h.form.parse(ctx, c, "")
	switch {
	case err != nil:
		return nil, err
	case parsed.saveFault != 0:
		return nil, h.saveFailure(parsed.saveFault, contract.UpdateUnsaved)
	case !parsed.hasChanges:
		return &resource.Reply{}, nil
	}
	if err := parsed.hashPassword(h.settings.PasswordCost); err != nil {
		return nil, err
	}
	err = h.Store.Update(ctx, &adapter.UpdateParams{Key: key, OwnerID: own, Unique: h.settings.unique(), Change: func(adapter.Record) (adapter.Record, error) {
		return parsed.change, nil
	}})
	if isEmailTaken(err) {
		return nil, h.saveFailure(contract.EmailTaken, contract.UpdateUnsaved)
	}
	if err != nil {
		return nil, err
	}
	return &resource.Reply{}, nil
}

// DeleteCustomer handles DELETE /customers/:id. The backend deletes the customer's tokens
// with the record, so the service also drops its cached tokens.
func (h *Customers) DeleteCustomer(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := h.customerKey(c)
	if err != nil {
		return nil, err
	}
	if err := h.Store.Delete(ctx, &adapter.DeleteParams{Key: key, OwnerID: c.OwnerID()}); err != nil {
		return nil, err
	}
	h.purgeCredentials()
	return &resource.Reply{}, nil
}
