package contract

// A Role is the kind of caller that a request acts as ("What the service does").
type Role uint8

// The roles of the contract (wire 4).
const (
	Guest Role = iota
	Customer
	Admin
	roleCount
)

// Roles returns all roles.
func Roles() []Role { return []Role{Admin, Customer, Guest} }

// String returns the role's name in lower case, for use as a label.
func (r Role) String() string {
	switch r {
	case Admin:
		return "admin"
	case Customer:
		return "customer"
	default:
		return "guest"
	}
}
