package contract

// A Role is what a caller may act as ("What the service does").
type Role uint8

const (
	Guest Role = iota
	Customer
	Admin
	roleCount
)

// Roles lists every role.
func Roles() []Role { return []Role{Admin, Customer, Guest} }

// String returns the role's name in lower case, fit for a label.
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
