package magento1

import (
	"context"
	"database/sql"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A FieldList lists the fields of a resource that a kind of user may read and write in the legacy
// store. Some of them may be fields that the contract does not have, or does not give to the kind
// of user.
type FieldList struct {
	Resource adapter.Resource
	Name     string // of the resource in the legacy store
	Role     string // admin, customer or guest
	// Read and Write name the fields; nil stands for all.
	Read, Write []string
}

// fieldName matches the names of fields in lists.
var fieldName = regexp.MustCompile(`^_?[a-z][a-z0-9_]{0,62}$`)

// aclResources maps the resource names of REST roles to resources of Portico.
func aclResources() map[string]adapter.Resource {
	return map[string]adapter.Resource{
		"customer": adapter.Customers, "customer_address": adapter.CustomerAddresses, "product": adapter.Products, "product_category": adapter.ProductCategories,
		"product_image": adapter.ProductImages, "product_website": adapter.ProductWebsites, "stock_item": adapter.StockItems, "order": adapter.Orders,
		"order_item": adapter.OrderItems, "order_address": adapter.OrderAddresses, "order_comment": adapter.OrderComments,
	}
}

// listedResources returns the keys of aclResources whose fields the legacy store limits by lists. Lists
// have no effect on the others, product_website and order_comment.
func listedResources() []string {
	return []string{"customer", "customer_address", "product", "product_category", "product_image", "stock_item", "order", "order_item", "order_address"}
}

// fieldsOf returns the fields that a name in a list of orders stands for: the contract's own names
// of these mean nothing there.
func fieldsOf(resource, name string) []string {
	if resource != "order" {
		return []string{name}
	}
	switch name {
	case "_payment_method", "_order_comments", "_tax_name", "_tax_rate":
		return []string{strings.TrimPrefix(name, "_")}
	case "_gift_message":
		return []string{"gift_message_from", "gift_message_to", "gift_message_body"}
	case "payment_method", "order_comments", "tax_name", "tax_rate", "gift_message_from", "gift_message_to", "gift_message_body", "addresses", "order_items":
		return nil
	}
	return []string{name}
}

// resourcesOf returns the resources that a kind of user can call.
func resourcesOf(kind string) []string {
	switch kind {
	case "guest":
		return slices.Sorted(maps.Keys(guestPrivileges()))
	case "customer":
		return slices.Sorted(maps.Keys(customerPrivileges()))
	}
	return slices.Sorted(maps.Keys(aclResources()))
}

// roleOf returns the role of all users of a kind; 0 for administrators, who have roles of their own.
func roleOf(kind string) int64 {
	return map[string]int64{"customer": customerRole, "guest": guestRole}[kind]
}

// fieldLists are the lists of fields of a shop.
type fieldLists struct {
	roles     *Roles
	absent    bool            // the shop's version has no lists
	unlimited map[string]bool // the kinds of users without limits
	lists     map[fieldListID][]string
}

type fieldListID struct{ kind, resource, operation string }

// readFieldLists reads the lists of fields, and the roles that decide besides.
func readFieldLists(ctx context.Context, conn *conn, tx *sql.Tx) (*fieldLists, error) {
	l := &fieldLists{unlimited: map[string]bool{}, lists: map[fieldListID][]string{}}
	there, err := conn.ColumnsOf(ctx, tx, "api2_acl_attribute")
	if l.absent = there == nil; err != nil || l.absent {
		return l, err
	}
	if l.roles, err = readRoles(ctx, conn, tx); err != nil {
		return nil, err
	}
	return l, conn.Each(ctx, tx, "SELECT user_type, resource_id, operation, allowed_attributes FROM "+conn.Table("api2_acl_attribute"), func(r row) error {
		id := fieldListID{conn.TextOf(r[0]), conn.TextOf(r[1]), conn.TextOf(r[2])}
		if id.resource == everyResource {
			l.unlimited[id.kind] = true
			return nil
		}
		for name := range strings.SplitSeq(conn.TextOf(r[3]), ",") {
			if name = strings.TrimSpace(name); fieldName.MatchString(name) {
				l.lists[id] = append(l.lists[id], name)
			}
		}
		return nil
	})
}

// allowed returns the fields of a resource that a kind of user may read, or with the operation
// write may write. limited: it may not do so with all.
func (l *fieldLists) allowed(kind, resource, operation string) (names []string, limited bool) {
	switch {
	case l.absent:
		return nil, false
	case !l.mayCall(kind, resource, operation):
		return []string{}, true
	case l.unlimited[kind] || !slices.Contains(listedResources(), resource):
		return nil, false
	}
	names = []string{}
	for _, name := range l.lists[fieldListID{kind, resource, operation}] {
		names = append(names, fieldsOf(resource, name)...)
	}
	if operation == "read" {
		names = append(names, l.embedded(kind, resource, names)...)
	}
	return names, true
}

// mayCall reports whether a kind of user may read or write a resource at all.
func (l *fieldLists) mayCall(kind, resource, operation string) bool {
	privileges := map[string][]string{"read": {"retrieve"}, "write": {"create", "update"}}[operation]
	its := l.roles.byID[roleOf(kind)]
	return roleOf(kind) == 0 || its != nil && slices.ContainsFunc(privileges, func(p string) bool { return its.allows(resource, p) })
}

// embedded returns the fields of a resource that are shown whether or not its list has them: the
// id of stock items, and of orders the lists of parts of which anything is shown.
func (l *fieldLists) embedded(kind, resource string, listed []string) (names []string) {
	switch resource {
	case "stock_item":
		if !slices.Contains(listed, "item_id") {
			names = append(names, "item_id")
		}
	case "order":
		for field, part := range map[string]string{"addresses": "order_address", "order_items": "order_item"} {
			if shown, limited := l.allowed(kind, part, "read"); !limited || len(shown) > 0 {
				names = append(names, field)
			}
		}
		slices.Sort(names)
	}
	return names
}

// Allows reports whether a kind of user may read a field of a resource, or with the operation write
// may write it.
func (l *fieldLists) Allows(kind string, r adapter.Resource, operation, field string) bool {
	for resource, its := range aclResources() {
		if names, limited := l.allowed(kind, resource, operation); its == r && limited {
			return slices.Contains(names, field)
		}
	}
	return true
}

// All returns the lists that leave out fields of a resource that the kind of user can call: by kind,
// then by resource.
func (l *fieldLists) All() (all []FieldList) {
	resources := aclResources()
	for _, kind := range []string{"admin", "customer", "guest"} {
		for _, resource := range resourcesOf(kind) {
			read, noRead := l.allowed(kind, resource, "read")
			write, noWrite := l.allowed(kind, resource, "write")
			if noRead || noWrite {
				all = append(all, FieldList{Resource: resources[resource], Name: resource, Role: kind, Read: read, Write: write})
			}
		}
	}
	return all
}

// Unknown returns the names of the resources with lists that the contract does not have.
func (l *fieldLists) Unknown() []string {
	unknown := map[string]bool{}
	for id := range l.lists {
		if _, known := aclResources()[id.resource]; !known {
			unknown[id.resource] = true
		}
	}
	return slices.Sorted(maps.Keys(unknown))
}
