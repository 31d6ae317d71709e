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
	// WithoutComputed: the role has all attributes of products and no list of them, so that OpenMage
	// leaves out computed fields (openmage 2). Read and Write are nil.
	WithoutComputed bool
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

// forcedFields returns the fields of a resource that a kind of user reads and writes whether or not
// its list names them (configurations 8).
func forcedFields(kind, resource string) []string {
	switch {
	case resource == "stock_item" && kind == "admin":
		return []string{"item_id"}
	case resource == "product_website" && kind == "admin":
		return []string{"website_id"}
	case resource == "order_comment" && kind == "admin":
		return []string{"created_at", "comment", "is_customer_notified", "is_visible_on_front", "status"}
	case resource == "order_comment" && kind == "customer":
		return []string{"created_at", "comment"}
	}
	return nil
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
		return []string{"product", "product_category", "product_image"}
	case "customer":
		return []string{"customer", "customer_address", "order", "order_address", "order_comment", "order_item", "product", "product_category", "product_image"}
	}
	return slices.Sorted(maps.Keys(aclResources()))
}

// fieldLists are the lists of fields of a shop.
type fieldLists struct {
	absent    bool            // the shop's version has no lists
	unlimited map[string]bool // the kinds of users without limits
	lists     map[fieldListID][]string
}

type fieldListID struct{ kind, resource, operation string }

// readFieldLists reads the lists of fields.
func readFieldLists(ctx context.Context, conn *conn, tx *sql.Tx) (*fieldLists, error) {
	l := &fieldLists{unlimited: map[string]bool{}, lists: map[fieldListID][]string{}}
	there, err := conn.ColumnsOf(ctx, tx, "api2_acl_attribute")
	if l.absent = there == nil; err != nil || l.absent {
		return l, err
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
	if l.absent || l.unlimited[kind] {
		return nil, false
	}
	names = []string{}
	for _, name := range l.lists[fieldListID{kind, resource, operation}] {
		names = append(names, fieldsOf(resource, name)...)
	}
	forced := forcedFields(kind, resource)
	if resource == "order" && operation == "read" {
		forced = []string{"addresses", "order_items"} // which the role and their own lists decide
	}
	for _, name := range forced {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, true
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

// All returns the lists that leave out fields of a resource that the kind of user can call, in some
// version of the original: by kind, then by resource.
func (l *fieldLists) All() (all []FieldList) {
	resources := aclResources()
	for _, kind := range []string{"admin", "customer", "guest"} {
		for _, resource := range resourcesOf(kind) {
			read, noRead := l.allowed(kind, resource, "read")
			write, noWrite := l.allowed(kind, resource, "write")
			list := FieldList{Resource: resources[resource], Name: resource, Role: kind, Read: read, Write: write}
			list.WithoutComputed = l.unlimited[kind] && kind != "admin" && resource == "product" && l.lists[fieldListID{kind, resource, "read"}] == nil
			if noRead || noWrite || list.WithoutComputed {
				all = append(all, list)
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
