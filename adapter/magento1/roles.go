package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The roles of Guests and Customers have fixed ids. Those of administrators have others.
const guestRole, customerRole = 1, 2

// everyResource is the resource of a rule that allows all calls, and everyPrivilege stands for the
// privilege of one that names none, and so allows all calls of its resource.
const everyResource, everyPrivilege = "all", "every call"

// maxListed bounds the number of rules of one role that are listed for people.
const maxListed = 12

// guestPrivileges returns the calls that the REST interface offers to Guests.
func guestPrivileges() map[string][]string {
	return map[string][]string{"product": {"retrieve"}, "product_category": {"retrieve"}, "product_image": {"retrieve"}}
}

// customerPrivileges returns the calls that it offers to Customers.
func customerPrivileges() map[string][]string {
	return map[string][]string{
		"product": {"retrieve"}, "product_category": {"retrieve"}, "product_image": {"retrieve"}, "customer": {"retrieve", "update"},
		"customer_address": {"create", "delete", "retrieve", "update"},
		"order":            {"retrieve"}, "order_item": {"retrieve"}, "order_address": {"retrieve"}, "order_comment": {"retrieve"},
	}
}

// Roles are the REST roles of a shop.
type Roles struct {
	byID    map[int64]*role
	ofAdmin map[int64]int64 // the id of the role, by administrator
	// absent: the shop's version has no REST interface, so that no user has a token of it.
	absent bool
}

// A role lists the calls of the REST interface that a kind of user may make.
type role struct {
	id   int64
	name string
	// everything: the role has the rule that allows all calls. privileges has the other rules.
	everything bool
	privileges map[string][]string // by resource
}

// readRoles reads the REST roles.
func readRoles(ctx context.Context, conn *conn, tx *sql.Tx) (*Roles, error) {
	roles := &Roles{byID: map[int64]*role{}, ofAdmin: map[int64]int64{}}
	tokens, err := conn.ColumnsOf(ctx, tx, "oauth_token")
	if err != nil {
		return nil, err
	}
	there, err := conn.ColumnsOf(ctx, tx, "api2_acl_role")
	if err != nil || there == nil {
		roles.absent = tokens == nil
		return roles, err
	}
	err = conn.Each(ctx, tx, "SELECT entity_id, role_name FROM "+conn.Table("api2_acl_role"), func(r row) error {
		roles.byID[r.ID(0)] = &role{id: r.ID(0), name: conn.TextOf(r[1]), privileges: map[string][]string{}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The original compares resources byte by byte, which the database does not.
	err = eachIfTable(ctx, conn, tx, "api2_acl_rule", "SELECT role_id, resource_id, privilege FROM "+conn.Table("api2_acl_rule"), func(r row) error {
		its, resource := roles.byID[r.ID(0)], conn.TextOf(r[1])
		switch {
		case its == nil:
		case resource == everyResource:
			its.everything = true
		case r[2] == nil:
			its.privileges[resource] = append(its.privileges[resource], everyPrivilege)
		default:
			its.privileges[resource] = append(its.privileges[resource], conn.TextOf(r[2]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return roles, eachIfTable(ctx, conn, tx, "api2_acl_user", "SELECT admin_id, role_id FROM "+conn.Table("api2_acl_user"), func(r row) error {
		if roles.byID[r.ID(1)] != nil {
			roles.ofAdmin[r.ID(0)] = r.ID(1)
		}
		return nil
	})
}

// eachIfTable calls f for each row of a statement that reads a table, if there is the table.
func eachIfTable(ctx context.Context, conn *conn, tx *sql.Tx, table, text string, f func(row) error) error {
	there, err := conn.ColumnsOf(ctx, tx, table)
	if err != nil || there == nil {
		return err
	}
	return conn.Each(ctx, tx, text, f)
}

// AdminLimits describes the rights of an administrator in one line, or returns "" for one who has all
// rights.
func (roles *Roles) AdminLimits(admin int64) string {
	role := roles.byID[roles.ofAdmin[admin]]
	switch {
	case roles.absent:
		return ""
	case role == nil:
		return "no REST role: every call fails"
	case role.everything && role.id != guestRole && role.id != customerRole: // whose rule gives the rights of these
		return ""
	}
	return role.describe()
}

// CustomerLimits is AdminLimits for Customers.
func (roles *Roles) CustomerLimits() string {
	role := roles.byID[customerRole]
	switch {
	case roles.absent:
		return ""
	case role == nil:
		return "no REST role: every call fails"
	}
	if role.allowsAll(customerPrivileges()) {
		return ""
	}
	return role.describe()
}

// allowsAll reports whether a role has all of some privileges.
func (r *role) allowsAll(wanted map[string][]string) bool {
	for resource, privileges := range wanted {
		if slices.ContainsFunc(privileges, func(privilege string) bool { return !r.allows(resource, privilege) }) {
			return false
		}
	}
	return true
}

// allows reports whether a role has a privilege of a resource.
func (r *role) allows(resource, privilege string) bool {
	return r.everything || slices.Contains(r.privileges[resource], privilege) || slices.Contains(r.privileges[resource], everyPrivilege)
}

// describe returns the rights of the role as one line of bounded length.
func (r *role) describe() string {
	var rules []string
	for resource, privileges := range r.privileges {
		slices.Sort(privileges)
		rule := resource + " " + strings.Join(slices.Compact(privileges), ", ")
		if !plainRule.MatchString(rule) {
			rule = fmt.Sprintf("%.64q", rule)
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	switch {
	case r.everything:
		rules = []string{"everything that a Customer or Guest may do"}
	case len(rules) == 0:
		rules = []string{"nothing"}
	case len(rules) > maxListed:
		rules = append(rules[:maxListed], "…")
	}
	return fmt.Sprintf("role %.64q: %s", r.name, strings.Join(rules, "; "))
}

// plainRule matches rules that can be shown as they are.
var plainRule = regexp.MustCompile(`^[a-z0-9_, ]{1,128}$`)

// Limited returns the roles that do not allow every call that their kind of user can make, with a
// description for people, by ascending id.
func (roles *Roles) Limited() (limited []limitedRole) {
	for _, id := range slices.Sorted(maps.Keys(roles.byID)) {
		its := roles.byID[id]
		switch {
		case its.everything, id == guestRole && its.allowsAll(guestPrivileges()), id == customerRole && its.allowsAll(customerPrivileges()):
		default:
			limited = append(limited, limitedRole{ID: id, Allows: its.describe(), OfAdmins: id != guestRole && id != customerRole})
		}
	}
	return limited
}

// A limitedRole is a role that does not allow everything.
type limitedRole struct {
	ID       int64
	Allows   string // the allowed calls, for people
	OfAdmins bool   // it is neither the role of Guests nor the role of Customers
}
