package credentials

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// addLimited reports a user with fewer rights in the other system.
func (in *credentialImport) addLimited(u LimitedUser) {
	if len(in.result.Limited) < maxNotes {
		in.result.Limited = append(in.result.Limited, u)
	}
}

// isWidened reports whether the options name an administrator.
func (in *credentialImport) isWidened(username string) bool {
	return slices.ContainsFunc(in.Widened, func(name string) bool { return adapter.Fold(name) == adapter.Fold(username) })
}

// limitAdmin reports whether an administrator gets no rights here, because the other system
// limits their rights. isHere means that they have rights here already.
func (in *credentialImport) limitAdmin(a adapter.LegacyAdmin, isHere bool) bool {
	if a.Limits == "" || a.Disabled {
		return false
	}
	u := LimitedUser{ID: a.ID, Username: a.Username, Limits: a.Limits, State: LimitedOut}
	isWidened := in.isWidened(a.Username)
	switch {
	case isWidened:
		u.State = LimitedWidened
	case isHere:
		u.State = LimitedHere
	}
	in.addLimited(u)
	in.limitedAdmins[a.ID] = !isWidened
	return !isWidened
}

// reportCustomers reports that Customers have fewer rights in the other system, after all
// tokens.
func (in *credentialImport) reportCustomers(limits string) {
	switch {
	case limits == "":
	case !in.customersLimited:
		in.addLimited(LimitedUser{Limits: limits, State: LimitedWidened})
	case in.customersHere:
		in.addLimited(LimitedUser{Limits: limits, State: LimitedHere})
	default:
		in.addLimited(LimitedUser{Limits: limits, State: LimitedOut})
	}
}

// isLimited reports whether the owner of a token gets no further rights here.
func (in *credentialImport) isLimited(t adapter.LegacyToken) bool {
	if t.AdminID != 0 {
		return in.limitedAdmins[t.AdminID]
	}
	return in.customersLimited
}
