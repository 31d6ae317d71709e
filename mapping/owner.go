package mapping

import (
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// noOwner is the id of no customer.
const noOwner = -1

// ownerID returns the customer whose records alone the caller sees: 0, which is
// everybody, for an Admin, and no customer for a Guest.
func ownerID(p auth.Principal) int64 {
	switch p.Role {
	case contract.Admin:
		return 0
	case contract.Customer:
		return p.CustomerID
	default:
		return noOwner
	}
}
