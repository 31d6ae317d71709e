package adapter

// The ids of the roles of all Guests and of all Customers. Other roles are administrators'.
const (
	GuestRole    int64 = 1
	CustomerRole int64 = 2
)

// FirstOwnRole is the lowest id of a role that a legacy store does not have, or has under another
// id: legacy stores have lower ids.
const FirstOwnRole int64 = 1_000_001

// An AccessRole is a REST role: the calls that Guests, Customers or some administrators may make
// (configurations 8).
type AccessRole struct {
	ID   int64
	Name string
	// Imported: the role is a copy of the legacy store's, and imports replace it.
	Imported bool
	// Everything allows all calls that the kind of user may make. Rules have no effect then.
	Everything bool
	Rules      []AccessRule
}

// An AccessRule allows a privilege, such as retrieve, on a resource.
type AccessRule struct {
	Resource  Resource
	Privilege string
}

// A RoleAssignment gives an administrator a role.
type RoleAssignment struct {
	AdminID int64
	// RoleID is the id of the role; 0: none, so that every call fails.
	RoleID int64
	// Everything: an operator has given the administrator every right, without a role.
	Everything bool
	// Imported: it is a copy of the legacy store's, and imports replace it.
	Imported bool
}

// AccessRoles are the REST roles of a store. Guests and Customers whose role is missing, and
// administrators without an assignment, may make all calls that their kind of user may make.
type AccessRoles struct {
	Roles    []AccessRole     // by ascending id
	Assigned []RoleAssignment // by ascending administrator
}

// Role returns the role with an id, and whether there is one.
func (r *AccessRoles) Role(id int64) (AccessRole, bool) {
	for _, role := range r.Roles {
		if role.ID == id {
			return role, true
		}
	}
	return AccessRole{}, false
}

// Of returns the assignment of an administrator, and whether there is one.
func (r *AccessRoles) Of(admin int64) (RoleAssignment, bool) {
	for _, a := range r.Assigned {
		if a.AdminID == admin {
			return a, true
		}
	}
	return RoleAssignment{}, false
}

// LegacyRoles are the REST roles of a legacy store, with the administrators' ids there. Unlike those
// of a store, they have a role for Guests and for Customers, and an assignment for each administrator.
type LegacyRoles struct {
	AccessRoles
	// Absent: the legacy store's version has no REST interface, and so no roles.
	Absent bool
	// Faults name the rows that cannot be carried over, for people. They allow nothing.
	Faults []string
}
