package auth

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// failingRoles are roles whose lookup fails while err is set.
type failingRoles struct{ err error }

func (f *failingRoles) AccessRoles(context.Context) (adapter.AccessRoles, error) {
	return adapter.AccessRoles{}, f.err
}

// TestRightsOfBefore lets the lookup of the roles fail for longer and longer.
func TestRightsOfBefore(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now, roles := start, &failingRoles{}
	a := &Authenticator{now: func() time.Time { return now }}
	a.rights.roles, a.rights.now = roles, a.now
	check := func(after time.Duration, known bool) {
		t.Helper()
		now = start.Add(after)
		if _, err := a.rights.get(t.Context()); (err == nil) != known || a.GuestsUnlimited() != known {
			t.Errorf("after %s: %v, Guests unlimited: %t; want known: %t", after, err, a.GuestsUnlimited(), known)
		}
	}
	check(0, true)
	roles.err = errors.New("the database is down")
	for after := rightsTTL; after < rightsKept; after += rightsRetry / 2 {
		check(after, true)
	}
	check(rightsKept, false)
	check(2*rightsKept, false)
	roles.err = nil
	check(3*rightsKept, true)
}
