package magento1

import (
	"context"
	"database/sql"
	"fmt"
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
		"minimal_price", "is_recurring", "recurring_profile", "price_view", "sku_type", "weight_type", "shipment_type", "links_purchased_separately",
		"links_title", "links_exist", "samples_title", "category_ids", "has_options", "required_options", "enable_googlecheckout", "giftcard_amounts",
	}
}

// An ownAttribute is an attribute that the legacy store has in addition to the contract's
// attributes.
type ownAttribute struct {
	id int64
	Attribute
	valid    bool // its code can be the name of an attribute of Portico
	fixedTax bool // it holds fixed product taxes
}

// ownAttributesOf returns the visible attributes of an entity that a new shop does not have.
func ownAttributesOf(ctx context.Context, conn *connection, tx *sql.Tx, e entity, r adapter.Resource) (all []ownAttribute, err error) {
	flags, global, front := "customer_eav_attribute", "1", "0"
	if r == adapter.Products {
		flags, global, front = "catalog_eav_attribute", "f.is_global", "a.is_user_defined = 1 AND f.is_visible_on_front = 1"
	}
	there, err := conn.ColumnsOf(ctx, tx, flags)
	if err != nil || there == nil {
		return nil, err // the version has no own attributes of the entity
	}
	contract, hidden := adapter.NewSchemas().Of(r), hiddenAttributes(r)
	err = conn.Each(ctx, tx, "SELECT a.attribute_id, a.attribute_code, a.backend_type, "+global+", "+front+", COALESCE(a.frontend_input, '') FROM "+conn.Table("eav_attribute")+" a JOIN "+conn.Table("eav_entity_type")+
		" t ON t.entity_type_id = a.entity_type_id JOIN "+conn.Table(flags)+" f ON f.attribute_id = a.attribute_id WHERE t.entity_type_code = '"+e.code+
		"' AND f.is_visible = 1 ORDER BY a.attribute_id", func(row row) error {
		code := conn.TextOf(row[1])
		if _, known := contract.Index(code); known || slices.Contains(hidden, code) {
			return nil
		}
		a := ownAttribute{id: row.ID(0), valid: attributeNamePattern.MatchString(code)}
		a.AddedAttribute = adapter.AddedAttribute{Resource: r, Name: code, Kind: kindOf(string(row[2])), Scope: scopeOf(row.ID(3))}
		a.fixedTax = r == adapter.Products && string(row[5]) == inputFixedTax
		if a.fixedTax {
			a.Kind = adapter.KindText
		}
		a.Roles = []string{"admin"}
		switch {
		case r != adapter.Products:
			a.Roles = append(a.Roles, "customer")
		case row.ID(4) != 0:
			a.Roles = append(a.Roles, "customer", "guest")
		}
		all = append(all, a)
		return nil
	})
	return all, err
}

// inputFixedTax is the frontend_input of attributes of fixed product taxes.
const inputFixedTax = "weee"

// kindOf returns the kind of the values of a backend type.
func kindOf(backend string) adapter.Kind {
	switch backend {
	case "int":
		return adapter.KindInteger
	case "decimal":
		return adapter.KindDecimal
	case "datetime":
		return adapter.KindTime
	default:
		return adapter.KindText
	}
}

// scopeOf returns the scope that catalog_eav_attribute.is_global stands for.
func scopeOf(isGlobal int64) adapter.Scope {
	switch isGlobal {
	case 0:
		return adapter.ScopeStore
	case 2:
		return adapter.ScopeWebsite
	default:
		return adapter.ScopeGlobal
	}
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
	kinds := map[adapter.Kind]string{adapter.KindText: "text", adapter.KindInteger: "integer", adapter.KindDecimal: "decimal", adapter.KindTime: "time"}
	scopes := map[adapter.Scope]string{adapter.ScopeGlobal: "global", adapter.ScopeWebsite: "website", adapter.ScopeStore: "store"}
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
			s := Setting{Name: "attributes", From: fmt.Sprintf("eav_attribute %d", a.id)}
			a.Roles = slices.DeleteFunc(a.Roles, func(kind string) bool { return !lists.Allows(kind, a.Resource, "read", a.Name) })
			writers := ""
			if !lists.Allows("admin", a.Resource, "write", a.Name) {
				writers = ", writers: []"
			}
			if a.valid {
				s.Attribute = &a.Attribute
				kind := kinds[a.Kind]
				if a.fixedTax {
					kind, writers = "fixed_tax", ", writers: [], views: [single]"
					if a.Scope == adapter.ScopeStore {
						a.Scope = adapter.ScopeWebsite // the original reads no store views of it
					}
				}
				s.Value = fmt.Sprintf("{resource: %s, name: %s, kind: %s", a.Resource, a.Name, kind)
				if a.Resource == adapter.Products {
					s.Value += ", scope: " + scopes[a.Scope]
				}
				s.Value += ", roles: [" + strings.Join(a.Roles, ", ") + "]" + writers + "}"
			} else {
				s.Name, s.Warning = "", fmt.Sprintf("the attribute %.64q of %s has a code that Portico's attributes cannot have, so its values are not imported", a.Name, a.Resource)
			}
			all = append(all, s)
		}
	}
	return all, nil
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
