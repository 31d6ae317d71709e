package mapping

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// customers is the resource behind /customers.
type customers struct {
	resource
	form formParser
}

func newCustomers(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas, shops *shopConfigCache) (*customers, error) {
	base, err := newResource(d, fields.Customers, backend, schemas, adapter.Customers)
	if err != nil {
		return nil, err
	}
	customers := &customers{resource: base}
	customers.form = formParser{resource: &customers.resource, form: contract.CustomerForm(customers.addedFields()...), shops: shops}
	return customers, nil
}

// customerKey parses the id in the path. A Customer must send exactly the digits of their
// own id; an Admin may send anything that begins with the number (customers 1.1).
func (s *Service) customerKey(c *Call) (adapter.Key, error) {
	id, own := c.Param("id"), ownerID(c.Principal)
	if own != 0 && id != strconv.FormatInt(own, 10) {
		return 0, s.dialect.Fault(contract.NotFound)
	}
	return s.parseKey(id)
}

// getCustomer handles GET /customers/:id.
func (s *Service) getCustomer(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.customerKey(c)
	if err != nil {
		return nil, err
	}
	rec, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID(c.Principal)})
	if err != nil {
		return nil, err
	}
	return s.customers.singleReply(c, rec)
}

// listCustomers handles GET /customers. Where the dialect lets a Customer call it, the
// list holds only their own record.
func (s *Service) listCustomers(ctx context.Context, c *Call) (*Reply, error) {
	return s.customers.answerList(ctx, c, ownerID(c.Principal), s.limits)
}

// createdIn is the value of created_in for customers that an administrator created.
const createdIn = "Admin"

// createCustomer handles POST /customers.
func (s *Service) createCustomer(ctx context.Context, c *Call) (*Reply, error) {
	parsed, err := s.customers.form.parse(ctx, c, "")
	if err != nil {
		return nil, err
	}
	if parsed.saveFault != 0 {
		return nil, s.saveFailure(parsed.saveFault, contract.RecordUnsaved)
	}
	r := parsed.change
	r.Set("store_id", adapter.IntegerValue(0))
	r.Set("created_in", adapter.TextValue(createdIn))
	if r.Get("disable_auto_group_change").Kind() == adapter.Absent {
		r.Set("disable_auto_group_change", adapter.IntegerValue(0))
	}
	if s.dialect.ConfirmationKeys {
		r.Set("confirmation", adapter.TextValue(newConfirmationKey()))
	}
	if err := parsed.hashPassword(s.settings.PasswordCost); err != nil {
		return nil, err
	}
	key, err := s.customers.store.Create(ctx, &adapter.CreateParams{Record: r})
	if isEmailTaken(err) {
		return nil, s.saveFailure(contract.EmailTaken, contract.RecordUnsaved)
	}
	if err != nil {
		return nil, err
	}
	return createdReply("/customers/", key), nil
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

// isEmailTaken reports whether a write failed because another customer of the website has
// the same e-mail address.
func isEmailTaken(err error) bool { return isStoreError(err, adapter.Conflict, "email") }

// saveFailure returns the faults of a failed save: key, followed by next in the dialects
// where the original carries on after the failure.
func (s *Service) saveFailure(key, next contract.FaultKey) contract.Faults {
	faults := contract.Faults{s.dialect.Fault(key)}
	if s.dialect.ContinuesAfterSaveError {
		faults = append(faults, s.dialect.Fault(next))
	}
	return faults
}

// updateCustomer handles PUT /customers/:id. It looks up the customer before it checks
// the fields. A body that holds only known but unchangeable fields saves nothing
// (customers 5).
func (s *Service) updateCustomer(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.customerKey(c)
	if err != nil {
		return nil, err
	}
	own := ownerID(c.Principal)
	if _, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: own}); err != nil {
		return nil, err
	}
	parsed, err := s.customers.form.parse(ctx, c, "")
	switch {
	case err != nil:
		return nil, err
	case parsed.saveFault != 0:
		return nil, s.saveFailure(parsed.saveFault, contract.UpdateUnsaved)
	case !parsed.hasChanges:
		return &Reply{}, nil
	}
	if err := parsed.hashPassword(s.settings.PasswordCost); err != nil {
		return nil, err
	}
	err = s.customers.store.Update(ctx, &adapter.UpdateParams{Key: key, OwnerID: own, Change: func(adapter.Record) (adapter.Record, error) {
		return parsed.change, nil
	}})
	if isEmailTaken(err) {
		return nil, s.saveFailure(contract.EmailTaken, contract.UpdateUnsaved)
	}
	if err != nil {
		return nil, err
	}
	return &Reply{}, nil
}

// deleteCustomer handles DELETE /customers/:id. The backend deletes the customer's tokens
// with the record, so the service also drops its cached tokens.
func (s *Service) deleteCustomer(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.customerKey(c)
	if err != nil {
		return nil, err
	}
	if err := s.customers.store.Delete(ctx, &adapter.DeleteParams{Key: key, OwnerID: ownerID(c.Principal)}); err != nil {
		return nil, err
	}
	s.auth.PurgeCredentials()
	return &Reply{}, nil
}
