package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// attributeNamePattern matches the codes that attributes of Portico can have.
var attributeNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// hiddenAttributes returns the attributes of a new shop that are in no answer.
func hiddenAttributes(r adapter.Resource) []string {
	if r != adapter.Products {
		return []string{"default_billing", "default_shipping", "rp_token", "rp_token_created_at", "rp_customer_id", "password_created_at",
			"vat_is_valid", "vat_request_id", "vat_request_date", "vat_request_success", "store_id", "website_id", "increment_id"}
	}
	return []string{
		"image", "small_image", "thumbnail", "media_gallery", "gallery", "image_label", "small_image_label", "thumbnail_label", "old_id", "url_path",
		"minimal_price", "is_recurring", "recurring_profile", "sku_type", "weight_type", "shipment_type", "links_purchased_separately",
		"links_title", "links_exist", "samples_title", "category_ids", "has_options", "required_options", "enable_googlecheckout", "giftcard_amounts",
	}
}

// An ownAttribute is an attribute that the legacy store has in addition to the contract's
// attributes.
type ownAttribute struct {
	id int64
	Attribute
	valid  bool   // its code can be the name of an attribute of Portico
	source string // the model that its options come from, if Portico does not know them; "" otherwise
}

// ownAttributesOf returns the attributes of an entity that a new shop does not have: of products only
// the visible ones.
func ownAttributesOf(ctx context.Context, conn *connection, tx *sql.Tx, e entity, r adapter.Resource) (all []ownAttribute, err error) {
	flags, global, front, visible := "customer_eav_attribute", "1", "f.is_visible = 1", ""
	if r == adapter.Products {
		flags, global, front, visible = "catalog_eav_attribute", "f.is_global", "a.is_user_defined = 1 AND f.is_visible_on_front = 1", " AND f.is_visible = 1"
	}
	there, err := conn.ColumnsOf(ctx, tx, flags)
	if err != nil || there == nil {
		return nil, err // the version has no own attributes of the entity
	}
	contract, hidden := adapter.NewSchemas().Of(r), hiddenAttributes(r)
	err = conn.Each(ctx, tx, "SELECT a.attribute_id, a.attribute_code, a.backend_type, "+global+", "+front+", COALESCE(a.frontend_input, ''), COALESCE(a.source_model, '') FROM "+
		conn.Table("eav_attribute")+" a JOIN "+conn.Table("eav_entity_type")+" t ON t.entity_type_id = a.entity_type_id JOIN "+conn.Table(flags)+
		" f ON f.attribute_id = a.attribute_id WHERE t.entity_type_code = '"+e.code+"'"+visible+" ORDER BY a.attribute_id", func(row row) error {
		code := conn.TextOf(row[1])
		if _, known := contract.Index(code); known || slices.Contains(hidden, code) {
			return nil
		}
		a := ownAttribute{id: row.ID(0), valid: attributeNamePattern.MatchString(code)}
		kind := map[string]adapter.Kind{"int": adapter.KindInteger, "decimal": adapter.KindDecimal, "datetime": adapter.KindTime}[string(row[2])]
		a.AddedAttribute = adapter.AddedAttribute{Resource: r, Name: code, Kind: kind, Scope: scopeOf(row.ID(3))}
		a.setInput(string(row[2]), string(row[5]), conn.TextOf(row[6]))
		a.Roles = []string{"admin"}
		if row.ID(4) != 0 {
			a.Roles = append(a.Roles, "customer")
			if r == adapter.Products {
				a.Roles = append(a.Roles, "guest")
			}
		}
		all = append(all, a)
		return nil
	})
	return all, err
}

const (
	// inputFixedTax is the frontend_input of attributes of fixed product taxes.
	inputFixedTax = "weee"
	// sourceBoolean and sourceTable are the models of options that an attribute may name: yes and no, and
	// the rows of eav_attribute_option.
	sourceBoolean = "eav/entity_attribute_source_boolean"
	sourceTable   = "eav/entity_attribute_source_table"
)

// setInput sets how values are entered, from columns of eav_attribute: backend_type, frontend_input and
// source_model.
func (a *ownAttribute) setInput(backend, input, source string) {
	ofProducts := a.Resource == adapter.Products
	switch {
	case input == inputFixedTax && ofProducts:
		a.Input, a.Kind = adapter.InputFixedTax, adapter.KindText
	case backend == "int" && (input == "boolean" || source == sourceBoolean):
		a.Input = adapter.InputBoolean
	case (input == "select" || input == "multiselect") && source != "" && source != sourceTable:
		a.source = source
	case input == "select" && backend == "int":
		a.Input = adapter.InputSelect
	case input == "multiselect" && a.Kind == adapter.KindText:
		a.Input = adapter.InputMultiselect
	case input == "price" && backend == "decimal" && ofProducts:
		a.Input = adapter.InputPrice
	case input == "media_image" && ofProducts:
		a.Input = adapter.InputImage
	case backend == "text":
		a.Input = adapter.InputTextarea
	}
}

// scopeOf returns the scope that catalog_eav_attribute.is_global stands for.
func scopeOf(isGlobal int64) adapter.Scope {
	return map[int64]adapter.Scope{0: adapter.ScopeStore, 2: adapter.ScopeWebsite}[isGlobal]
}

// scopeName returns the name of a scope in settings.
func scopeName(s adapter.Scope) string {
	return [...]string{adapter.ScopeGlobal: "global", adapter.ScopeWebsite: "website", adapter.ScopeStore: "store"}[s]
}

// changedScopes warns of attributes of the contract that are of another scope in the legacy store.
func (d settingsReader) changedScopes(ctx context.Context, tx *sql.Tx) (all []Setting, err error) {
	if there, err := d.conn.ColumnsOf(ctx, tx, "catalog_eav_attribute"); err != nil || there == nil {
		return nil, err // the version has no flags of attributes
	}
	here, byWebsite := adapter.NewSchemas().Of(adapter.Products), adapter.NewSchemas().WithPricesByWebsite().Of(adapter.Products)
	return all, d.conn.Each(ctx, tx, "SELECT a.attribute_id, a.attribute_code, f.is_global FROM "+d.conn.Table("eav_attribute")+" a JOIN "+d.conn.Table("catalog_eav_attribute")+
		" f ON f.attribute_id = a.attribute_id JOIN "+d.conn.Table("eav_entity_type")+" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = '"+productEntity().code+"' ORDER BY a.attribute_id", func(r row) error {
		at, known := here.Index(d.conn.TextOf(r[1]))
		if a, scope := here.Attributes[at], scopeOf(r.ID(2)); known && !a.ReadOnly && a.Kind != adapter.KindRecords && scope != a.Scope && scope != byWebsite.Attributes[at].Scope {
			all = append(all, Setting{From: fmt.Sprintf("eav_attribute %d", r.ID(0)), Warning: fmt.Sprintf("the scope of %s, an attribute of products, is %s in the legacy store and %s in Portico: its values are imported as they are, and a write at a store view changes other store views than there",
				a.Name, scopeName(scope), scopeName(a.Scope))})
		}
		return nil
	})
}

// skipUnconfigured notes the own attributes of an entity that the schema does not have.
func (r *entityReader) skipUnconfigured(ctx context.Context, tx *sql.Tx, e entity, schema *adapter.Schema) error {
	if schema.Resource == adapter.Categories {
		return nil // Portico adds no attributes to them
	}
	all, err := ownAttributesOf(ctx, r.d.conn, tx, e, schema.Resource)
	for _, a := range all {
		if _, ok := schema.Index(a.Name); !ok {
			r.d.conn.skip(e.part, "eav_attribute", "attribute "+a.Name, ReasonNoSetting)
		}
	}
	return err
}

// ownAttributes returns the entries of the table attributes.
func (d settingsReader) ownAttributes(ctx context.Context, tx *sql.Tx) (all []Setting, err error) {
	lists, err := readFieldLists(ctx, d.conn.conn, tx)
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		entity
		adapter.Resource
	}{{customerEntity(), adapter.Customers}, {addressEntity(), adapter.CustomerAddresses}, {productEntity(), adapter.Products}} {
		own, err := ownAttributesOf(ctx, d.conn, tx, of.entity, of.Resource)
		if err != nil {
			return nil, err
		}
		for _, a := range own {
			all = append(all, a.setting(lists))
		}
	}
	return all, nil
}

// setting returns the entry of the table attributes. lists are the shop's lists of fields.
func (a *ownAttribute) setting(lists *fieldLists) Setting {
	s := Setting{Name: "attributes", From: fmt.Sprintf("eav_attribute %d", a.id)}
	if !a.valid {
		s.Name, s.Warning = "", fmt.Sprintf("the attribute %.64q of %s has a code that Portico's attributes cannot have, so its values are not imported", a.Name, a.Resource)
		return s
	}
	writers := slices.DeleteFunc([]string{"admin", "customer"}, func(kind string) bool {
		return kind == "customer" && (a.Resource == adapter.Products || !slices.Contains(a.Roles, kind)) || !lists.Allows(kind, a.Resource, "write", a.Name)
	})
	a.Roles = slices.DeleteFunc(a.Roles, func(kind string) bool { return !lists.Allows(kind, a.Resource, "read", a.Name) })
	views := ""
	if a.Input == adapter.InputFixedTax {
		writers, views = nil, ", views: [single]"
		if a.Scope == adapter.ScopeStore {
			a.Scope = adapter.ScopeWebsite // the original reads no store views of it
		}
	}
	s.Attribute = &a.Attribute
	s.Value = fmt.Sprintf("{resource: %s, name: %s, kind: %s", a.Resource, a.Name, a.KindName())
	if a.Resource == adapter.Products {
		s.Value += ", scope: " + scopeName(a.Scope)
	}
	s.Value += ", roles: [" + strings.Join(a.Roles, ", ") + "]"
	if !slices.Equal(writers, []string{"admin"}) {
		s.Value += ", writers: [" + strings.Join(writers, ", ") + "]"
	}
	s.Value += views + "}"
	if a.source != "" {
		s.Warning = fmt.Sprintf("the options of %s, an attribute of %s, come from %.64q, which Portico does not know: its values are imported, but neither checked nor ordered by their labels", a.Name, a.Resource, a.source)
	}
	return s
}

// fieldLists returns the entries of the table fields.
func (d settingsReader) fieldLists(ctx context.Context, tx *sql.Tx) (all []Setting, err error) {
	lists, err := readFieldLists(ctx, d.conn.conn, tx)
	if err != nil {
		return nil, err
	}
	for _, l := range lists.All() {
		all = append(all, Setting{Name: "fields", From: "api2_acl_attribute " + l.Role + " " + l.Name, Fields: &l})
	}
	for _, resource := range lists.Unknown() {
		all = append(all, Setting{From: "api2_acl_attribute", Warning: fmt.Sprintf("the legacy store limits the fields of %.64q, which is no resource of the contract", resource)})
	}
	return all, nil
}

// roleFaults warns of the rows of REST roles that cannot be carried over. The roles themselves are
// imported with the credentials.
func (d settingsReader) roleFaults(ctx context.Context, tx *sql.Tx) (all []Setting, err error) {
	roles, err := readRoles(ctx, d.conn.conn, tx)
	if err != nil {
		return nil, err
	}
	for _, fault := range roles.Faults {
		all = append(all, Setting{From: "the REST roles", Warning: fault})
	}
	return all, nil
}

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
