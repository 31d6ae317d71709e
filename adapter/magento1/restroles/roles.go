package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter/magento1/server"
)

// The roles of Guests and Customers have fixed ids. Those of administrators have others.
const guestRole, customerRole = 1, 2

// everyResource is the resource of a rule that allows all calls, and everyPrivilege stands for the
// privilege of one that names none, and so allows all calls of its resource.
const everyResource, everyPrivilege = "all", "every call"

// maxListed bounds what is listed of the rules of one role, for people.
const maxListed = 12

// customerPrivileges returns the calls that the REST interface offers to Customers.
func customerPrivileges() map[string][]string {
	return map[string][]string{
		"product": {"retrieve"}, "product_category": {"retrieve"}, "product_image": {"retrieve"}, "customer": {"retrieve", "update"},
		"customer_address": {"create", "delete", "retrieve", "update"},
		"order":            {"retrieve"}, "order_item": {"retrieve"}, "order_address": {"retrieve"}, "order_comment": {"retrieve"},
	}
}

// restRoles are the REST roles of a shop.
type restRoles struct {
	byID    map[int64]*restRole
	ofAdmin map[int64]int64 // the id of the role, by administrator
	// absent: the shop's version has no REST interface, so that nobody has a token of it.
	absent bool
}

// A restRole says which calls of the REST interface a kind of user may make.
type restRole struct {
	id   int64
	name string
	// everything: the role has the rule that allows all calls. privileges has the other rules.
	everything bool
	privileges map[string][]string // by resource
}

// readRoles reads the REST roles.
func readRoles(ctx context.Context, conn *connection, tx *sql.Tx) (*restRoles, error) {
	roles := &restRoles{byID: map[int64]*restRole{}, ofAdmin: map[int64]int64{}}
	tokens, err := conn.ColumnsOf(ctx, tx, "oauth_token")
	if err != nil {
		return nil, err
	}
	there, err := conn.ColumnsOf(ctx, tx, "api2_acl_role")
	if err != nil || there == nil {
		roles.absent = tokens == nil
		return roles, err
	}
	err = conn.Each(ctx, tx, "SELECT entity_id, role_name FROM "+conn.Table("api2_acl_role"), func(r server.Row) error {
		roles.byID[r.ID(0)] = &restRole{id: r.ID(0), name: conn.TextOf(r[1]), privileges: map[string][]string{}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The original compares resources byte by byte, which the database does not.
	err = conn.eachIfTable(ctx, tx, "api2_acl_rule", "SELECT role_id, resource_id, privilege FROM "+conn.Table("api2_acl_rule"), func(r server.Row) error {
		role, resource := roles.byID[r.ID(0)], conn.TextOf(r[1])
		switch {
		case role == nil:
		case resource == everyResource:
			role.everything = true
		case r[2] == nil:
			role.privileges[resource] = append(role.privileges[resource], everyPrivilege)
		default:
			role.privileges[resource] = append(role.privileges[resource], conn.TextOf(r[2]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return roles, conn.eachIfTable(ctx, tx, "api2_acl_user", "SELECT admin_id, role_id FROM "+conn.Table("api2_acl_user"), func(r server.Row) error {
		if roles.byID[r.ID(1)] != nil {
			roles.ofAdmin[r.ID(0)] = r.ID(1)
		}
		return nil
	})
}

// adminLimits says what an administrator may do if that is less than everything, and returns ""
// otherwise.
func (roles *restRoles) adminLimits(admin int64) string {
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

// customerLimits is adminLimits for Customers.
func (roles *restRoles) customerLimits() string {
	role := roles.byID[customerRole]
	switch {
	case roles.absent:
		return ""
	case role == nil:
		return "no REST role: every call fails"
	}
	for resource, privileges := range customerPrivileges() {
		for _, privilege := range privileges {
			if !role.allows(resource, privilege) {
				return role.describe()
			}
		}
	}
	return ""
}

// allows reports whether a role has a privilege of a resource.
func (r *restRole) allows(resource, privilege string) bool {
	return r.everything || slices.Contains(r.privileges[resource], privilege) || slices.Contains(r.privileges[resource], everyPrivilege)
}

// describe says what the role allows, in one line of bounded length.
func (r *restRole) describe() string {
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
