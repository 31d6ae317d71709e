package mapping

import (
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// noOwner matches no customer.
const noOwner = -1

// ownerID returns the id of the customer whose records the caller may see: 0, which means
// all, for an Admin, and noOwner for a Guest.
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
