package magento1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// settingsOf returns the settings that a shop says, by name, with the values of tables
// joined by line breaks, and all warnings.
func settingsOf(t *testing.T, d *magento1.Database) (values map[string]string, warnings []string, attributes []magento1.Attribute) {
	t.Helper()
	all, err := d.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]string{}
	for _, s := range all {
		if s.From == "" || s.Name == "" && s.Warning == "" {
			t.Errorf("%+v says neither what nor from where", s)
		}
		if s.Fields != nil {
			s.Value = fmt.Sprintf("%s %s read %s write %s", s.Fields.Role, s.Fields.Resource, namesOf(s.Fields.Read), namesOf(s.Fields.Write))
			if s.Fields.WithoutComputed {
				s.Value += " without computed"
			}
		}
		if before, twice := values[s.Name]; twice {
			s.Value = before + "\n" + s.Value
		}
		values[s.Name] = s.Value
		if s.Warning != "" {
			warnings = append(warnings, s.Warning)
		}
		if s.Attribute != nil {
			attributes = append(attributes, *s.Attribute)
		}
	}
	return values, warnings, attributes
}

// namesOf returns a list of fields as text, which tells all fields from none.
func namesOf(fields []string) string {
	if fields == nil {
		return "all"
	}
	return fmt.Sprint(fields)
}

func TestSettings(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	values, warnings, attributes := settingsOf(t, d)
	for name, want := range map[string]string{
		"public_url": "http://shop.example", "store.link_url": "", "store.code_in_links": "false", "store.media_url": "", "store.secure_media_url": "", "offloader_header": "SSL_OFFLOADED",
		"store.timezone": "UTC", "store.locale": "en_US", "store.currency": "USD", "store.tax_country": "US", "store.tax_region": "CA",
		"stock.min_qty": "1", "stock.notify_qty": "3", "stock.backorders": "0", "stock.manage": "true", "stock.hide_sold_out": "false",
		"store.attribute_sets": "4,9", "store.themes": "default/modern", "store.tax_classes": "0,2,4,5",
		"store.single_store_mode": "true", "customers.confirmation": "true", "customers.shared_accounts": "false", "customers.required_fields": "firstname,lastname",
		"customers.required_address_fields": "firstname,lastname,street,city,country_id,postcode,telephone", "customers.countries": "", "customers.countries_without_postcode": "HK,IE,MO,PA",
		"attributes": "{resource: products, name: size, kind: select, scope: global, roles: [admin, customer, guest]}\n" +
			"{resource: products, name: material, kind: multiselect, scope: store, roles: [admin, customer, guest]}\n" +
			"{resource: products, name: care, kind: textarea, scope: store, roles: [admin]}\n" +
			"{resource: products, name: eco, kind: boolean, scope: website, roles: [admin, customer, guest]}",
	} {
		if values[name] != want {
			t.Errorf("%s: %s, want %s", name, values[name], want)
		}
	}
	const allAlone = " products read all write all without computed"
	if fields := values["fields"]; fields != "customer"+allAlone+"\nguest"+allAlone || len(warnings) != 1 || !strings.Contains(warnings[0], "themes") {
		t.Errorf("fields %q, warnings %q", values["fields"], warnings)
	}
	added := make([]adapter.AddedAttribute, len(attributes))
	for i, a := range attributes {
		added[i] = a.AddedAttribute
	}
	if _, err := adapter.NewSchemas().With(added...); err != nil || len(added) != 4 {
		t.Errorf("%v, %v", added, err)
	}

	magento1test.Break(t, raw,
		"DELETE FROM core_config_data WHERE path IN ('general/locale/timezone', 'tax/defaults/country', 'tax/defaults/region', 'web/secure/base_url') OR path LIKE 'cataloginventory/item_options/%'",
		"REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, 'catalog/price/scope', '1'), ('default', 0, 'web/secure/base_url', '{{base_url}}'),"+
			"('default', 0, 'tax/calculation/price_includes_tax', '1'), ('websites', 2, 'cataloginventory/options/show_out_of_stock', '0'), ('stores', 2, 'currency/options/base', 'EUR'),"+
			"('default', 0, 'customer/account_share/scope', '0'), ('default', 0, 'web/seo/use_rewrites', '1')",
		"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type, is_user_defined) VALUES (200, 1, 'loyalty', 'varchar', 1), (201, 2, 'floor', 'int', 1),"+
			"(202, 4, 'MixedCase', 'varchar', 1), (203, 1, 'hidden_one', 'varchar', 1), (204, 4, 'deposit', 'decimal', 0), (205, 4, 'launch', 'datetime', 1)",
		"INSERT INTO customer_eav_attribute (attribute_id, is_visible) VALUES (200, 1), (201, 1), (203, 0)",
		"INSERT INTO catalog_eav_attribute (attribute_id, is_global, is_visible_on_front) VALUES (202, 1, 1), (204, 1, 1), (205, 2, 0)",
		"DELETE FROM api2_acl_attribute WHERE user_type = 'guest'",
		"INSERT INTO api2_acl_attribute (user_type, resource_id, operation, allowed_attributes) VALUES ('guest', 'product', 'read', 'entity_id,sku, name'), ('guest', 'carts', 'read', 'id'), ('customer', 'order', 'read', 'x')",
		"INSERT INTO api2_acl_role (entity_id, role_name) VALUES (4, 'Warehouse')", "INSERT INTO api2_acl_rule (role_id, resource_id, privilege) VALUES (4, 'stock_item', 'update')",
		"INSERT INTO admin_user (user_id, username) VALUES (2, 'nobody')",
		"UPDATE catalog_product_entity_varchar SET attribute_id = 105, value = 'rwd/winter' WHERE attribute_id = 84 AND entity_id = 1",
	)
	values, warnings, _ = settingsOf(t, d)
	for name, want := range map[string]string{
		"public_url": "", "store.link_url": "http://shop.example", "store.timezone": "America/Los_Angeles", "store.tax_country": "US", "store.tax_region": "", "stock.min_qty": "0", "stock.notify_qty": "1", "stock.manage": "true",
		"store.themes": "default/modern,rwd/winter", "store.price_scope": "website", "store.tax_postcode": "*", "store.tax_based_on": "shipping", "store.prices_include_tax": "true", "store.tax_cross_border": "false",
		"store.origin_country": "US", "store.origin_region": "CA", "store.origin_postcode": "90034", "store.tax_default_group": "1",
		"fields": "customer" + allAlone + "\n" + `guest products read [entity_id sku name] write []` + "\n" + `guest product_categories read [] write []` + "\n" + `guest product_images read [] write []`,
	} {
		if values[name] != want {
			t.Errorf("%s: %s, want %s", name, values[name], want)
		}
	}
	for _, want := range []string{
		"{resource: customers, name: loyalty, kind: text, roles: [admin, customer], writers: [admin, customer]}", "{resource: customer_addresses, name: floor, kind: integer, roles: [admin, customer], writers: [admin, customer]}",
		"{resource: customers, name: hidden_one, kind: text, roles: [admin]}",
		"{resource: products, name: deposit, kind: decimal, scope: global, roles: [admin]}", "{resource: products, name: launch, kind: time, scope: website, roles: [admin]}",
	} {
		if !slices.Contains(strings.Split(values["attributes"], "\n"), want) {
			t.Errorf("%s is missing in\n%s", want, values["attributes"])
		}
	}
	for _, want := range []string{
		"websites 2 have others",
		`"MixedCase"`, `"carts"`, "has no row in api2_acl_user, so that every call of theirs fails",
	} {
		if !slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no warning says %q:\n%s", want, strings.Join(warnings, "\n"))
		}
	}
}

// TestFieldLists reads lists of fields, which do not depend on roles. Guests have a list beside all fields.
func TestFieldLists(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	magento1test.Break(t, raw,
		"DELETE FROM api2_acl_attribute WHERE user_type IN ('admin', 'customer')", "DELETE FROM api2_acl_rule WHERE role_id IN (1, 2)",
		"INSERT INTO api2_acl_rule (role_id, resource_id, privilege) VALUES (1, 'product', 'retrieve'), (2, 'order', 'retrieve'), (2, 'order_item', 'retrieve'), (2, 'customer', 'retrieve')",
		`INSERT INTO api2_acl_attribute (user_type, resource_id, operation, allowed_attributes) VALUES
			('guest', 'product', 'read', 'sku,url'), ('customer', 'order', 'read', 'entity_id,_payment_method,payment_method,_gift_message,addresses,order_items'), ('customer', 'order_item', 'read', 'sku'), ('customer', 'order_address', 'read', 'city'),
			('customer', 'customer', 'read', 'email'), ('customer', 'customer', 'write', 'email'),
			('admin', 'stock_item', 'read', 'qty'), ('admin', 'stock_item', 'write', 'qty'), ('admin', 'order_address', 'read', ' city ,, region_id,\"],x'), ('admin', 'order', 'read', '_order_comments'),
			('admin', 'product', 'read', 'sku,size'), ('admin', 'product', 'write', 'sku,care')`)
	values, _, attributes := settingsOf(t, d)
	want := `admin customers read [] write []
admin customer_addresses read [] write []
admin orders read [order_comments addresses order_items] write []
admin order_addresses read [city region_id x] write []
admin order_comments read [created_at comment is_customer_notified is_visible_on_front status] write [created_at comment is_customer_notified is_visible_on_front status]
admin order_items read [] write []
admin products read [sku size] write [sku care]
admin product_categories read [] write []
admin product_images read [] write []
admin product_websites read [website_id] write [website_id]
admin stock_items read [qty item_id] write [qty item_id]
customer customers read [email] write [email]
customer customer_addresses read [] write []
customer orders read [entity_id payment_method gift_message_from gift_message_to gift_message_body addresses order_items] write []
customer order_addresses read [city] write []
customer order_comments read [created_at comment] write [created_at comment]
customer order_items read [sku] write []
customer products read [] write []
customer product_categories read [] write []
customer product_images read [] write []`
	if difference := cmp.Diff(want, values["fields"]); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	for _, a := range attributes {
		if roles := strings.Join(a.Roles, " "); roles != map[string]string{"size": "admin guest", "material": "guest", "eco": "guest"}[a.Name] {
			t.Errorf("%s is read by %q", a.Name, roles)
		}
	}
	if lines := strings.Split(values["attributes"], "\n"); !strings.HasSuffix(lines[0], "roles: [admin, guest], writers: []}") || !strings.HasSuffix(lines[2], "roles: []}") {
		t.Errorf("%q", lines)
	}
}
