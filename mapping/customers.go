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

// customerKey reads the id of the path. A Customer must give the own id in exactly
// its digits; an Admin's may be anything that begins with the number
// (customers 1.1).
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

// listCustomers handles GET /customers. Where a Customer is let in, the list
// holds the own record alone.
func (s *Service) listCustomers(ctx context.Context, c *Call) (*Reply, error) {
	return s.customers.answerList(ctx, c, keyedByID, ownerID(c.Principal), s.limits)
}

// createdIn is where a customer registered whom an administrator created.
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
	_, _ = rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

// hashPassword puts the hash of the password sent, if any, into the change, at a
// bcrypt cost. It takes its time, which no transaction has to wait for.
func (f *parsedForm) hashPassword(cost int) error {
	if f.password == "" {
		return nil
	}
	hash, err := adapter.HashPassword(f.password, cost)
	if err != nil {
		return err
	}
	f.change.Set("password_hash", adapter.TextValue(hash))
	return nil
}

// isTaken reports whether a write failed because another customer of the website
// has the e-mail address.
func isEmailTaken(err error) bool { return isStoreError(err, adapter.Conflict, "email") }

// unsaved returns the refusal of a save: its fault, and where the original goes on
// all the same, what comes of that.
func (s *Service) saveFailure(key, next contract.FaultKey) contract.Faults {
	faults := contract.Faults{s.dialect.Fault(key)}
	if s.dialect.GoesOnUnsaved {
		faults = append(faults, s.dialect.Fault(next))
	}
	return faults
}

// updateCustomer handles PUT /customers/:id. The record is looked up before its
// fields are checked; a body of fields that are known and never changed saves
// nothing (customers 5).
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

// deleteCustomer handles DELETE /customers/:id. The customer's tokens go with the
// record, so what is remembered of them goes too.
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
