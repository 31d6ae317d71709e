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

// TestFieldLists checks that the field list of a role decides alone about its fields, and about
// those of no other role (configurations 8).
func TestFieldLists(t *testing.T) {
	f := tables(t, FieldOptions{Narrowed: []NarrowedFields{
		{Resource: "product_categories", Role: Guest, Read: []string{}},
		{Resource: "products", Role: Guest, Read: []string{"sku", "final_price_with_tax", "price", "cost", "stock_data"}},
		{Resource: "products", Role: Customer, Read: []string{"sku", "msrp"}},
		{Resource: "stock_items", Role: Admin, Read: []string{"item_id", "qty", "price_view"}, Write: []string{"qty", "product_id"}},
		{Resource: "customers", Role: Customer, Read: []string{"entity_id", "confirmation", "password"}, Write: []string{"firstname", "group_id"}},
		{Resource: "product_images", Role: Guest, Read: []string{"exclude"}},
		{Resource: "orders", Role: Customer, Read: []string{"entity_id", "addresses", "order_items", "order_comments"}},
		{Resource: "order_items", Role: Customer, Read: []string{"sku"}},
		{Resource: "order_addresses", Role: Customer, Read: []string{}},
		{Resource: "orders", Role: Admin, Read: []string{}},
		{Resource: "product_categories", Role: Admin, Read: []string{}},
		{Resource: "product_categories", Role: Customer, Read: []string{}},
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
		{"the named ones", f.PublicProducts, Documented(), SingleXML, Guest, "sku final_price_with_tax"},
		{"stored ones in a single product", f.PublicProducts, Magento(), SingleJSON, Guest, "sku cost final_price_with_tax price"},
		{"stored ones of another role", f.PublicProducts, Magento(), SingleJSON, Customer, "sku msrp"},
		{"stored ones in no list", f.PublicProducts, Magento(), ListJSON, Guest, "sku final_price_with_tax"},
		{"those of one view alone", f.PublicProducts, Documented(), InCategory, Guest, "price"},
		{"another table", f.AdminProducts, Documented(), InCategory, Admin, everyone},
		{"stock items", f.StockItems, Magento(), ListJSON, Admin, "item_id qty"},
		{"a field of the admin's", f.Customers, Magento(), SingleJSON, Customer, "entity_id confirmation password"}, // records hold no password
		{"the same in a list", f.Customers, Magento(), ListXML, Customer, "entity_id confirmation password"},
		{"another role", f.Customers, Magento(), ListXML, Admin, shownFields(StandardFields().Customers, Magento(), ListXML, Admin)},
		{"a field withheld without a list", f.ProductImages, Magento(), SingleJSON, Guest, "exclude"},
		{"without the parts that have no field", f.Orders, Magento(), ListJSON, Customer, "entity_id order_items order_comments"},
		{"nothing of an assignment, named before products", f.PublicAssignedProducts, Magento(), SingleJSON, Guest, ""},
		{"nothing of an assignment, named after them", f.PublicAssignedProducts, Magento(), SingleJSON, Customer, ""},
		{"an Admin's", f.AssignedProducts, Magento(), SingleJSON, Admin, ""},
		{"nothing", f.Orders, Magento(), ListJSON, Admin, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shownFields(c.table, c.d, c.view, c.role); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	if got, want := len(shownFields(f.ProductStock, Magento(), SingleJSON, Admin)), len(shownFields(StandardFields().ProductStock, Magento(), SingleJSON, Admin)); got != want {
		t.Errorf("the list of stock items limits the stock data of products: %d, want %d", got, want)
	}
}

// TestComputedFields checks which computed fields a product has for a role with all attributes alone, and
// for another one (openmage 2).
func TestComputedFields(t *testing.T) {
	f := tables(t, FieldOptions{
		Narrowed: []NarrowedFields{{Resource: "products", Role: Guest, WithoutComputed: true}},
		Added:    []AddedField{{Resource: "products", Name: "shop_a", Read: []Role{Guest}, InList: true, InSingle: true}},
	}).PublicProducts
	const prices = " regular_price_with_tax regular_price_without_tax final_price_with_tax final_price_without_tax"
	tier := &f.Fields[f.index["tier_price"]]
	for _, c := range []struct {
		d      *Dialect
		view   View
		role   Role
		want   string // the fields after meta_keyword
		stored bool   // tier_price is shown as it is stored
	}{
		{OpenMage(), SingleJSON, Guest, " shop_a tier_price is_in_stock", true},
		{OpenMage(), ListXML, Guest, " shop_a", true},
		{OpenMage(), SingleXML, Customer, " tier_price is_in_stock url image_url is_saleable" + prices + " buy_now_url has_custom_options total_reviews_count", false},
		{OpenMage(), ListJSON, Customer, " image_url is_saleable" + prices, false},
		{Magento(), ListJSON, Guest, " shop_a" + prices + " is_saleable image_url", false},
		{Documented(), ListJSON, Guest, " name meta_title meta_description" + prices + " is_saleable image_url shop_a", false},
	} {
		_, got, _ := strings.Cut(shownFields(f, c.d, c.view, c.role), "meta_keyword")
		if stored := tier.AsStored(c.d, c.role); got != c.want || stored != c.stored {
			t.Errorf("%s, view %d, %s: stored prices %t, %s\nwant %t, %s", c.d.Name, c.view, c.role, stored, got, c.stored, c.want)
		}
	}
}

// TestFieldListsOfRequests checks that a field list decides about writes and filters, and not about
// the order of lists.
func TestFieldListsOfRequests(t *testing.T) {
	f := tables(t, FieldOptions{Narrowed: []NarrowedFields{
		{Resource: "stock_items", Role: Admin, Read: []string{"item_id", "price_view"}, Write: []string{"qty", "product_id"}},
		{Resource: "customers", Role: Customer, Read: []string{"entity_id"}, Write: []string{"firstname", "group_id"}},
	}})
	for _, c := range []struct {
		table                   *FieldTable
		field                   string
		role                    Role
		filter, order, writable bool
	}{
		{f.StockItems, "item_id", Admin, true, true, false},
		{f.StockItems, "qty", Admin, false, true, true},
		{f.StockItems, "product_id", Admin, false, true, false}, // nobody writes it
		{f.StockItems, "created_at", Admin, false, true, false},
		{f.Customers, "entity_id", Customer, true, false, false},
		{f.Customers, "firstname", Customer, false, true, true},
		{f.Customers, "lastname", Customer, false, true, false},
		{f.Customers, "group_id", Customer, false, false, false}, // the list gives no right to write
		{f.Customers, "group_id", Admin, true, true, true},
	} {
		i, ok := c.table.Index(c.field)
		if !ok {
			t.Fatal(c.field)
		}
		field := &c.table.Fields[i]
		if got := [3]bool{field.Queryable(Magento(), c.role), field.Sortable(Magento(), c.role), field.Writable(Magento(), c.role)}; got != [3]bool{c.filter, c.order, c.writable} {
			t.Errorf("%s for %s: filter, order, write %v", c.field, c.role, got)
		}
	}
	if !f.StockItems.AlwaysAbsent("price_view", Admin) || f.StockItems.AlwaysAbsent("created_at", Admin) || !f.ProductImages.AlwaysAbsent("sku", Guest) {
		t.Error("names that no record holds can be asked for where a list names them, or without a list as ever")
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
		{"an Admin without computed fields", FieldOptions{Narrowed: []NarrowedFields{{Resource: "products", Role: Admin, WithoutComputed: true}}}, "without_computed is for products"},
		{"stock items without computed fields", FieldOptions{Narrowed: []NarrowedFields{{Resource: "stock_items", Role: Guest, WithoutComputed: true}}}, "without_computed is for products"},
		{"a list without computed fields", FieldOptions{Narrowed: []NarrowedFields{{Resource: "products", Role: Guest, Read: []string{"url"}, WithoutComputed: true}}}, "without read"},
		{"narrowing nothing", FieldOptions{Narrowed: []NarrowedFields{{Resource: "carts"}}}, `unknown resource "carts"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewFields(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
