package contract

import "slices"

// A Privilege is what a rule of a REST role allows on a resource (configurations 8).
type Privilege string

// The privileges, one for each method of the contract.
const (
	Retrieve Privilege = "retrieve"
	Create   Privilege = "create"
	Update   Privilege = "update"
	Delete   Privilege = "delete"
)

// Privileges returns all privileges, in the order of [Methods].
func Privileges() []Privilege { return []Privilege{Retrieve, Create, Update, Delete} }

// A Rule of a REST role allows privileges on a resource, named as in Route.Resource
// (configurations 8).
type RoleRule struct {
	Resource   string
	Privileges []Privilege
}

// OfferedRules returns the privileges that the original offers to a role for each resource, in the
// order of the route table. Only a role with every right may also create customers as an Admin
// (configurations 8).
func OfferedRules(role Role) []RoleRule {
	read, all := []Privilege{Retrieve}, Privileges()
	switch role {
	case Admin:
		return []RoleRule{
			{"customers", []Privilege{Retrieve, Update, Delete}}, {"customer_addresses", all},
			{"products", all}, {"product_categories", []Privilege{Retrieve, Create, Delete}}, {"product_images", all},
			{"product_websites", []Privilege{Retrieve, Create, Delete}}, {"stock_items", []Privilege{Retrieve, Update}},
			{"orders", read}, {"order_items", read}, {"order_addresses", read}, {"order_comments", []Privilege{Retrieve, Create}},
		}
	case Customer:
		return []RoleRule{
			{"customers", []Privilege{Retrieve, Update}}, {"customer_addresses", all},
			{"products", read}, {"product_categories", read}, {"product_images", read},
			{"orders", read}, {"order_items", read}, {"order_addresses", read}, {"order_comments", read},
		}
	default:
		return []RoleRule{{"products", read}, {"product_categories", read}, {"product_images", read}}
	}
}

// Grants are the calls that a REST role allows. A nil *Grants allows all calls that the kind of
// user may make. It is immutable and safe for concurrent use.
type Grants struct {
	rules   []RoleRule
	methods map[string][methodCount]bool // by resource
}

// NewGrants returns the grants of a role with these rules. Without a rule it allows nothing. Rules
// for unknown resources or privileges allow nothing.
func NewGrants(rules []RoleRule) *Grants {
	g := &Grants{methods: map[string][methodCount]bool{}}
	for _, rule := range rules {
		methods := g.methods[rule.Resource]
		for m, p := range Privileges() {
			methods[m] = methods[m] || slices.Contains(rule.Privileges, p)
		}
		g.methods[rule.Resource] = methods
	}
	for _, resource := range new(Fields).Resources(false) { // the names do not depend on the tables
		rule := RoleRule{Resource: resource}
		for m, p := range Privileges() {
			if g.methods[resource][m] {
				rule.Privileges = append(rule.Privileges, p)
			}
		}
		if rule.Privileges != nil {
			g.rules = append(g.rules, rule)
		}
	}
	return g
}

// Allow reports whether the role has the privilege of method m on a resource: for GET retrieve, for
// POST create, for PUT update, also of a list, and for DELETE delete.
func (g *Grants) Allow(resource string, m Method) bool {
	return g == nil || m < methodCount && g.methods[resource][m]
}

// Within returns the permissions in all, the rights of a kind of user, that the role leaves. Resources
// without a permission are left out.
func (g *Grants) Within(all []Permission) []Permission {
	var left []Permission
	for _, p := range all {
		p.Methods = slices.DeleteFunc(slices.Clone(p.Methods), func(m Method) bool { return !g.Allow(p.Resource, m) })
		if len(p.Methods) > 0 {
			left = append(left, p)
		}
	}
	return left
}

// Rules returns the rules for the resources of the contract, each resource once.
func (g *Grants) Rules() []RoleRule { return g.rules }
