package auth

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Roles looks up the REST roles. An error means that the store failed.
type Roles interface {
	AccessRoles(ctx context.Context) (adapter.AccessRoles, error)
}

// Rights are the calls that the REST roles of a store allow (configurations 8). They are immutable
// and safe for concurrent use.
type Rights struct {
	guest, customer *contract.Grants
	admins          map[int64]adminRights // those who have an assignment
}

type adminRights struct {
	grants *contract.Grants
	noRole bool
}

// NewRights returns the rights that roles give. An administrator whose role is missing has none.
func NewRights(roles *adapter.AccessRoles) *Rights {
	r := &Rights{admins: map[int64]adminRights{}}
	byID := map[int64]*contract.Grants{}
	for _, role := range roles.Roles {
		byID[role.ID] = grantsOf(role)
	}
	r.guest, r.customer = systemGrants(roles, adapter.GuestRole), systemGrants(roles, adapter.CustomerRole)
	for _, a := range roles.Assigned {
		grants, known := byID[a.RoleID]
		if a.Everything {
			grants, known = nil, true
		}
		r.admins[a.AdminID] = adminRights{grants: grants, noRole: !known}
	}
	return r
}

// systemGrants returns the grants of Guests or Customers: nil, for all calls, if their role is
// missing or allows everything.
func systemGrants(roles *adapter.AccessRoles, id int64) *contract.Grants {
	if role, ok := roles.Role(id); ok && !role.Everything {
		return grantsOf(role)
	}
	return nil
}

// grantsOf returns the grants of a role for an administrator. The role of Guests or Customers gives
// an administrator no more than these have.
func grantsOf(role adapter.AccessRole) *contract.Grants {
	switch {
	case role.Everything && role.ID == adapter.GuestRole:
		return contract.NewGrants(contract.OfferedRules(contract.Guest))
	case role.Everything && role.ID == adapter.CustomerRole:
		return contract.NewGrants(contract.OfferedRules(contract.Customer))
	case role.Everything:
		return nil
	}
	rules := make([]contract.RoleRule, len(role.Rules))
	for i, rule := range role.Rules {
		rules[i] = contract.RoleRule{Resource: string(rule.Resource), Privileges: []contract.Privilege{contract.Privilege(rule.Privilege)}}
	}
	return contract.NewGrants(rules)
}

// Of returns what a principal may call: nil grants stand for all calls of its kind of user. noRole
// reports an administrator without a role, every call of whom fails.
func (r *Rights) Of(p Principal) (grants *contract.Grants, noRole bool) {
	switch p.Role {
	case contract.Guest:
		return r.guest, false
	case contract.Customer:
		return r.customer, false
	default:
		its := r.admins[p.AdminID]
		return its.grants, its.noRole
	}
}

// Beyond describes, for people, the calls that p may make and q, with the rights there, may not.
// It returns "" if there are none.
func (r *Rights) Beyond(p Principal, there *Rights, q Principal) string {
	grants, none := r.Of(p)
	limit, nothing := there.Of(q)
	switch {
	case none, limit == nil && !nothing:
		return ""
	case grants == nil:
		if nothing {
			return "everything"
		}
		rules := contract.OfferedRules(p.Role)
		if p.Role == contract.Admin { // who creates customers with every right alone
			rules = append(rules, contract.RoleRule{Resource: "customers", Privileges: []contract.Privilege{contract.Create}})
		}
		grants = contract.NewGrants(rules)
	}
	var beyond []string
	for _, rule := range grants.Rules() {
		for m, privilege := range contract.Privileges() {
			if method := contract.Methods()[m]; grants.Allow(rule.Resource, method) && (nothing || !limit.Allow(rule.Resource, method)) {
				beyond = append(beyond, rule.Resource+" "+string(privilege))
			}
		}
	}
	return strings.Join(beyond, ", ")
}

const (
	// rightsTTL is how long the roles are cached, as credentials are.
	rightsTTL = credentialTTL
	// rightsRetry is how long the roles of before are used after a failed lookup.
	rightsRetry = time.Second
	// rightsKept is how long they are used since the last lookup that did not fail, but for Guests:
	// a role may have been narrowed in the meantime. What Guests read comes from caches that have
	// their own limits while the store is away.
	rightsKept = time.Minute
)

// rightsCache caches the rights. While the store fails, those of before stay.
type rightsCache struct {
	roles   Roles // nil: everybody may make all calls of their kind
	now     func() time.Time
	current atomic.Pointer[datedRights]
	flight  singleflight.Group
}

type datedRights struct {
	*Rights
	read  time.Time // when the lookup of the rights began
	until time.Time // not looked up again before
	err   error     // of the last lookup, if that failed
}

// get returns the rights, those of before if the store fails. An error means that there are none.
func (c *rightsCache) get(ctx context.Context) (*datedRights, error) {
	if r := c.current.Load(); r != nil && c.now().Before(r.until) {
		return r, nil
	}
	r, err, _ := c.flight.Do("", func() (any, error) { return c.fetch(ctx) })
	if err != nil {
		return nil, err
	}
	return r.(*datedRights), nil
}

func (c *rightsCache) fetch(ctx context.Context) (*datedRights, error) {
	before := c.current.Load()
	if before != nil && c.now().Before(before.until) {
		return before, nil // a lookup in flight has finished since the caller missed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	at := c.now()
	roles, err := c.roles.AccessRoles(ctx)
	switch {
	case err == nil:
		before = &datedRights{NewRights(&roles), at, at.Add(rightsTTL), nil}
	case before == nil:
		return nil, err
	default:
		before = &datedRights{before.Rights, before.read, c.now().Add(rightsRetry), err}
	}
	c.current.Store(before)
	return before, nil
}

// GuestsUnlimited reports, without a lookup, that Guests may make all calls that the contract lets
// them make. It is false if that is not known.
func (a *Authenticator) GuestsUnlimited() bool {
	if a.rights.roles == nil {
		return true
	}
	r := a.rights.current.Load()
	return r != nil && r.guest == nil && a.now().Before(r.until)
}

// withRights returns a principal with the rights of its role.
func (a *Authenticator) withRights(ctx context.Context, p Principal, err error) (Principal, error) {
	if err != nil || a.rights.roles == nil {
		return p, err
	}
	r, err := a.rights.get(ctx)
	if err == nil && p.Role != contract.Guest && !a.now().Before(r.read.Add(rightsKept)) {
		err = r.err
	}
	if err != nil {
		return Principal{}, err
	}
	p.Grants, p.NoRole = r.Of(p)
	return p, nil
}
