package auth

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// failingRoles are roles whose lookup fails while err is set.
type failingRoles struct{ err error }

func (f *failingRoles) AccessRoles(context.Context) (adapter.AccessRoles, error) {
	return adapter.AccessRoles{}, f.err
}

// TestRightsOfBefore lets the lookup of the roles fail for longer and longer. Guests keep their rights.
func TestRightsOfBefore(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now, roles := start, &failingRoles{}
	a := &Authenticator{now: func() time.Time { return now }}
	a.rights.roles, a.rights.now = roles, a.now
	check := func(after time.Duration, known bool) {
		t.Helper()
		now = start.Add(after)
		if _, err := a.withRights(t.Context(), Principal{Role: contract.Admin}, nil); (err == nil) != known {
			t.Errorf("after %s: %v for an administrator; want known: %t", after, err, known)
		}
		if _, err := a.withRights(t.Context(), Principal{Role: contract.Guest}, nil); err != nil || !a.GuestsUnlimited() {
			t.Errorf("after %s: %v for a Guest, unlimited: %t", after, err, a.GuestsUnlimited())
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
