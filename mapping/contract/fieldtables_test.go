package contract

import (
	"strings"
	"testing"
)

func tables(t *testing.T, o FieldOptions) *Fields {
	t.Helper()
	f, err := NewFields(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAddedFields checks the position and the readers of fields that the store adds.
func TestAddedFields(t *testing.T) {
	f := tables(t, FieldOptions{Added: []AddedField{
		{Resource: "customers", Name: "shop_a", Read: []Role{Admin, Customer}, InList: true, InSingle: true},
		{Resource: "customers", Name: "shop_b", Read: []Role{Admin}, InSingle: true},
		{Resource: "customer_addresses", Name: "shop_a", Read: []Role{Customer}, InList: true},
		{Resource: "products", Name: "shop_a", Read: []Role{Admin, Guest}, InList: true, InSingle: true},
	}})
	for _, c := range []struct {
		name  string
		table *FieldTable
		d     *Dialect
		view  View
		role  Role
		want  string // the end of the fields shown
	}{
		{"behind the document's", f.Customers, Documented(), ListJSON, Admin, "gender shop_a"},
		{"behind the document's in XML", f.Customers, Documented(), SingleXML, Admin, "last_logged_in shop_a shop_b"},
		{"among the stored attributes", f.Customers, Magento(), SingleJSON, Admin, "gender shop_a shop_b last_logged_in"},
		{"only in single records", f.Customers, Magento(), ListXML, Admin, "gender shop_a"},
		{"only for an Admin", f.Customers, Magento(), SingleJSON, Customer, "lastname shop_a"},
		{"only in lists", f.CustomerAddresses, Documented(), SingleJSON, Customer, "is_default_shipping"},
		{"before what is made", f.CustomerAddresses, Magento(), ListJSON, Customer, "vat_id shop_a street is_default_billing is_default_shipping"},
		{"not for an Admin", f.CustomerAddresses, Magento(), ListJSON, Admin, "vat_id street is_default_billing is_default_shipping"},
		{"products in lists", f.AdminProducts, Magento(), ListJSON, Admin, "manufacturer color shop_a"},
		{"a product", f.AdminProducts, Magento(), SingleXML, Admin, "custom_design_to shop_a group_price tier_price stock_data"},
		{"the document's product", f.AdminProducts, Documented(), SingleXML, Admin, "stock_data shop_a"},
		{"products for a Guest", f.PublicProducts, Magento(), ListJSON, Guest, "meta_keyword shop_a regular_price_with_tax regular_price_without_tax final_price_with_tax final_price_without_tax is_saleable image_url"},
		{"a product for a Guest", f.PublicProducts, Magento(), SingleJSON, Guest, "meta_keyword shop_a tier_price is_in_stock regular_price_with_tax regular_price_without_tax final_price_with_tax final_price_without_tax " +
			"is_saleable image_url url buy_now_url total_reviews_count has_custom_options"},
		{"not for a Customer", f.PublicProducts, Documented(), SingleJSON, Customer, "has_custom_options"},
		{"the document's for a Guest", f.PublicProducts, Documented(), ListXML, Guest, "image_url shop_a"},
		{"a category", f.PublicProducts, Documented(), InCategory, Guest, "weight price"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shownFields(c.table, c.d, c.view, c.role); !strings.HasSuffix(got, " "+c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestNarrowedFields checks that a role keeps the listed fields only, and other roles all.
func TestNarrowedFields(t *testing.T) {
	f := tables(t, FieldOptions{Narrowed: []NarrowedFields{
		{Resource: "products", Role: Guest, Read: []string{"sku", "final_price_with_tax", "price"}},
		{Resource: "stock_items", Role: Admin, Read: []string{"item_id", "qty", "use_config_enable_qty_inc"}, Write: []string{"qty"}},
		{Resource: "orders", Role: Customer, Read: []string{}},
	}})
	const everyone = "entity_id attribute_set_id type_id tax_class_id weight price"
	for _, c := range []struct {
		name  string
		table *FieldTable
		d     *Dialect
		view  View
		role  Role
		want  string
	}{
		{"those that are named", f.PublicProducts, Documented(), SingleXML, Guest, "sku final_price_with_tax"},
		{"those of one view alone", f.PublicProducts, Documented(), InCategory, Guest, "price"},
		{"another role", f.PublicProducts, Documented(), InCategory, Customer, everyone},
		{"another table", f.AdminProducts, Documented(), InCategory, Admin, everyone},
		{"stock items", f.StockItems, Magento(), ListJSON, Admin, "item_id qty use_config_enable_qty_inc"},
		{"stock items of products", f.ProductStock, Documented(), SingleJSON, Admin, "item_id qty use_config_enable_qty_inc use_config_enable_qty_increments"},
		{"nothing", f.Orders, Magento(), ListJSON, Customer, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shownFields(c.table, c.d, c.view, c.role); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	var written []string
	for _, field := range f.StockItems.Fields {
		if field.Write.Has(Admin) {
			written = append(written, field.Name)
		}
		if readable := field.Queryable(Documented(), Admin); readable && field.Name == "created_at" {
			t.Error("created_at can be filtered by, and is not named")
		}
	}
	if strings.Join(written, " ") != "qty" {
		t.Errorf("written: %s", written)
	}
	for _, field := range StandardFields().StockItems.Fields {
		if !field.Read.Has(Admin) {
			t.Errorf("%s is gone from the contract's own table", field.Name)
		}
	}
}

func TestNewFieldsRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		options FieldOptions
		want    string
	}{
		{"fields of what cannot have any", FieldOptions{Added: []AddedField{{Resource: "orders", Name: "note"}}}, "use one of customers, customer_addresses, products"},
		{"a field there is", FieldOptions{Added: []AddedField{{Resource: "products", Name: "final_price_with_tax"}}}, "choose another name, such as shop_final_price_with_tax"},
		{"a field of the other view", FieldOptions{Added: []AddedField{{Resource: "products", Name: "stock_data"}}}, "choose another name"},
		{"a field given twice", FieldOptions{Added: []AddedField{{Resource: "products", Name: "a"}, {Resource: "products", Name: "a"}}}, "choose another name"},
		{"a list modifier", FieldOptions{Added: []AddedField{{Resource: "customers", Name: "attrs"}}}, "is reserved"},
		{"a parameter of a path", FieldOptions{Added: []AddedField{{Resource: "customers", Name: "address_type"}}}, "is reserved"},
		{"a word of a path", FieldOptions{Added: []AddedField{{Resource: "products", Name: "websites"}}}, "is reserved"},
		{"the password", FieldOptions{Added: []AddedField{{Resource: "customers", Name: "password"}}}, "is reserved"},
		{"products that a Customer writes", FieldOptions{Added: []AddedField{{Resource: "products", Name: "a", Write: []Role{Admin, Customer}}}}, "the role customer cannot write products: remove it from the writers"},
		{"customers that a Guest writes", FieldOptions{Added: []AddedField{{Resource: "customers", Name: "a", Write: []Role{Guest}}}}, "the role guest cannot write customers"},
		{"narrowing nothing", FieldOptions{Narrowed: []NarrowedFields{{Resource: "carts"}}}, `unknown resource "carts"`},
		{"an unknown field", FieldOptions{Narrowed: []NarrowedFields{{Resource: "orders", Role: Admin, Read: []string{"color"}}}}, `does not let the role admin read the field "color" of orders`},
		{"a field of another role", FieldOptions{Narrowed: []NarrowedFields{{Resource: "products", Role: Admin, Read: []string{"sku", "price"}}, {Resource: "orders", Role: Customer, Read: []string{"remote_ip"}}}}, `let the role customer read the field "remote_ip"`},
		{"a field that is only read", FieldOptions{Narrowed: []NarrowedFields{{Resource: "stock_items", Role: Admin, Write: []string{"product_id"}}}}, `let the role admin write the field "product_id"`},
		{"a field of the store's own", FieldOptions{
			Added:    []AddedField{{Resource: "customers", Name: "a", Read: []Role{Admin}}},
			Narrowed: []NarrowedFields{{Resource: "customers", Role: Admin, Read: []string{"a"}}},
		}, `read the field "a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewFields(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
