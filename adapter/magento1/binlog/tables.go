package binlog

import (
	"github.com/portico-commerce/portico/adapter/magento1"
	"maps"
	"slices"
	"sync"
)

// A Table lists the records, credentials and settings that depend on the rows of a table. Tables
// that nothing in this package's results depends on have no Table.
type Table struct {
	name string // without the prefix
	// rows are the records that depend on a new, changed or deleted row. deleted are the further
	// records that depend on a deleted row, because foreign keys delete or change rows of other
	// tables with it. A binary log does not have these.
	rows, deleted []reach
	// watched are the columns of which an update must change one to count; nil: any.
	watched []string
	// credentials says that credentials are made from the table, and dropsCredentials that
	// a deleted row takes some along.
	credentials, dropsCredentials bool
	// setting is the name, in the form of [magento1.Setting].From, of the settings that Settings
	// reads from the table: a name, followed by the values of columns.
	setting        string
	settingColumns []string
	// paths: only rows with a path that is read count.
	paths bool

	columns []string // the columns of all these, sorted
}

// A reach gives the part and the keys of the records that depend on a row.
type reach struct {
	part   magento1.Part
	column string        // the column that holds their key; "": all records of the part
	via    *magento1.Via // the column holds the id of a row of another table, which has the key
	later  bool          // an inserted row reaches nothing yet, as no row refers to it
}

// all returns reaches for all records of parts.
func all(parts ...magento1.Part) (reached []reach) {
	for _, p := range parts {
		reached = append(reached, reach{part: p})
	}
	return reached
}

func one(p magento1.Part, column string) reach { return reach{part: p, column: column} }

// optionParts returns the parts whose records have values of EAV attributes, or are their options.
func optionParts() []magento1.Part {
	return []magento1.Part{magento1.Directory, magento1.Categories, magento1.Products, magento1.Images, magento1.Customers, magento1.Addresses}
}

// scopedParts returns the parts whose records depend on which store views there are.
func scopedParts() []magento1.Part {
	return []magento1.Part{magento1.Websites, magento1.Categories, magento1.Products, magento1.Images}
}

const gallery = "catalog_product_entity_media_gallery"

// tables returns the tables that records, credentials and settings depend on, by name. They follow
// from the columns that the readers of the parts read, and from the foreign keys of a shop.
var tables = sync.OnceValue(func() map[string]*Table {
	list := []*Table{
		{name: "core_website", rows: all(scopedParts()...), deleted: all(magento1.Directory, magento1.Customers, magento1.Orders)},
		{name: "core_store_group", rows: all(magento1.Websites), deleted: all(magento1.Directory, magento1.Categories, magento1.Products, magento1.Images, magento1.Customers, magento1.Orders)},
		{name: "core_store", rows: all(scopedParts()...), deleted: all(magento1.Directory, magento1.Customers, magento1.Orders)},
		{name: "directory_currency_rate", rows: all(magento1.Websites)},
		{name: "core_config_data", rows: all(magento1.Websites), paths: true, setting: "core_config_data", settingColumns: []string{"scope", "scope_id", "path"}},
		{name: "directory_country", rows: all(magento1.Directory)},
		{name: "directory_country_region", rows: all(magento1.Directory, magento1.Taxes)},
		{name: "customer_group", rows: all(magento1.CustomerGroups), deleted: all(magento1.Products)},
		{name: "tax_class", deleted: all(magento1.Taxes), setting: "tax_class"},
		{name: "tax_calculation", rows: all(magento1.Taxes)},
		{name: "tax_calculation_rate", rows: all(magento1.Taxes)},
		{name: "tax_calculation_rule", rows: all(magento1.Taxes)},

		{name: "eav_entity_type", rows: all(optionParts()...), deleted: all(magento1.Stock, magento1.Orders), setting: "eav_entity_type"},
		{name: "eav_attribute", rows: all(optionParts()...), setting: "eav_attribute", settingColumns: []string{"attribute_id"}},
		{name: "catalog_eav_attribute", setting: "eav_attribute", settingColumns: []string{"attribute_id"}},
		{name: "customer_eav_attribute", setting: "eav_attribute", settingColumns: []string{"attribute_id"}},
		{name: "eav_attribute_set", deleted: all(magento1.Products, magento1.Images, magento1.Stock), setting: "eav_attribute_set"},
		// Customers have the number of an option of the attribute gender.
		{name: "eav_attribute_option", rows: []reach{{part: magento1.Directory}, {part: magento1.Customers, column: "attribute_id", via: &magento1.Via{Table: "eav_attribute", ID: "attribute_id", Where: "attribute_code = 'gender'"}}}},
		{name: "eav_attribute_option_value", rows: all(magento1.Directory)},

		{name: "catalog_category_entity", rows: []reach{one(magento1.Categories, "entity_id")}, deleted: all(magento1.Categories, magento1.Products)},
		{name: "catalog_category_product", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "catalog_product_entity", rows: []reach{one(magento1.Products, "entity_id")}},
		{name: "catalog_product_website", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "core_url_rewrite", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "catalog_product_entity_group_price", rows: []reach{one(magento1.Products, "entity_id")}},
		{name: "catalog_product_entity_tier_price", rows: []reach{one(magento1.Products, "entity_id")}},
		{name: "catalog_product_option", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "catalogrule_product_price", rows: []reach{one(magento1.Products, "product_id")}},
		{name: gallery, rows: []reach{one(magento1.Images, "entity_id")}},
		{name: gallery + "_value", rows: []reach{{part: magento1.Images, column: "value_id", via: &magento1.Via{Table: gallery, ID: "value_id", Key: "entity_id"}}}},
		{name: "cataloginventory_stock", deleted: all(magento1.Products, magento1.Stock)},
		{name: "cataloginventory_stock_item", rows: []reach{one(magento1.Stock, "item_id")}},
		{name: "weee_tax", rows: []reach{one(magento1.Products, "entity_id")}},
		{name: "catalog_product_link_type", deleted: all(magento1.Products)},
		{name: "catalog_product_link", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "cataloginventory_stock_status", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "catalog_product_relation", rows: []reach{one(magento1.Products, "child_id")}},
		{name: "catalog_product_super_link", rows: []reach{one(magento1.Products, "parent_id")}},
		{name: "catalog_product_link", rows: []reach{one(magento1.Products, "product_id")}},
		{name: "catalog_product_link_type", deleted: all(magento1.Products)},
		{name: "catalog_product_bundle_option", rows: []reach{one(magento1.Products, "parent_id")}},
		{name: "catalog_product_bundle_selection", rows: []reach{one(magento1.Products, "parent_product_id")}},
		{name: "review", rows: []reach{one(magento1.Products, "entity_pk_value")}},
		{name: "review_store", rows: []reach{{part: magento1.Products, column: "review_id", via: &magento1.Via{Table: "review", ID: "review_id", Key: "entity_pk_value"}}}},
		{name: "review_entity", rows: all(magento1.Products)},

		// A deleted customer takes along addresses and tokens, and orders forget the customer.
		{name: "customer_entity", rows: []reach{one(magento1.Customers, "entity_id")}, deleted: all(magento1.Addresses, magento1.Orders), dropsCredentials: true},
		{name: "customer_address_entity", rows: []reach{one(magento1.Addresses, "entity_id")}},
		{name: "log_customer", rows: []reach{one(magento1.Customers, "customer_id")}, watched: []string{"customer_id", "login_at"}},

		{name: "sales_flat_order", rows: []reach{one(magento1.Orders, "entity_id")}},
		{name: "sales_flat_order_item", rows: []reach{one(magento1.Orders, "order_id")}},
		{name: "sales_flat_order_address", rows: []reach{one(magento1.Orders, "parent_id")}},
		{name: "sales_flat_order_payment", rows: []reach{one(magento1.Orders, "parent_id")}},
		{name: "sales_flat_order_status_history", rows: []reach{one(magento1.Orders, "parent_id")}},
		{name: "sales_order_tax", rows: []reach{one(magento1.Orders, "order_id")}},
		{name: "gift_message", rows: []reach{{part: magento1.Orders, column: "gift_message_id", later: true,
			via: &magento1.Via{Table: "sales_flat_order", ID: "gift_message_id", Key: "entity_id"}}}},

		{name: "oauth_consumer", credentials: true},
		{name: "oauth_token", credentials: true},
		// Every login changes other columns.
		{name: "admin_user", credentials: true, watched: []string{"user_id", "username", "password", "is_active"}, setting: "admin_user", settingColumns: []string{"user_id"}},
		{name: "api2_acl_user", credentials: true, setting: "admin_user", settingColumns: []string{"admin_id"}},
		{name: "api2_acl_role", credentials: true, setting: "api2_acl_role", settingColumns: []string{"entity_id"}},
		{name: "api2_acl_rule", credentials: true, setting: "api2_acl_role", settingColumns: []string{"role_id"}},
		{name: "api2_acl_attribute", setting: "api2_acl_attribute", settingColumns: []string{"user_type", "resource_id"}},
	}
	for name, part := range magento1.ValueTables() {
		list = append(list, &Table{name: name, rows: []reach{one(part, "entity_id")}})
	}
	byName := make(map[string]*Table, len(list))
	for _, t := range list {
		byName[t.name] = t
	}
	// The roles of images are values of products. Which addresses are default addresses is
	// values of customers, the addresses' ids; an id of something else does no harm.
	byName["catalog_product_entity_varchar"].rows = append(byName["catalog_product_entity_varchar"].rows, one(magento1.Images, "entity_id"))
	byName["customer_entity_int"].rows = append(byName["customer_entity_int"].rows, one(magento1.Addresses, "value"))
	for _, t := range list {
		t.columns = slices.Concat(t.watched, t.settingColumns)
		for _, r := range t.rows {
			t.columns = append(t.columns, r.column)
		}
		slices.Sort(t.columns)
		t.columns = slices.DeleteFunc(slices.Compact(t.columns), func(column string) bool { return column == "" })
	}
	return byName
})

// TableOf returns the Table with a name, which is without the prefix, or nil if nothing depends on
// its rows.
func TableOf(name string) *Table { return tables()[name] }

// TableNames returns the names, without the prefix and sorted, of the tables for which TableOf
// returns something.
func TableNames() []string { return slices.Sorted(maps.Keys(tables())) }

// Name returns the name of the table without the prefix.
func (t *Table) Name() string { return t.name }

// Columns returns the columns whose values [Set.AddRow] needs.
func (t *Table) Columns() []string { return slices.Clone(t.columns) }

// value returns the value of a column of a row as AddRow has it.
func (t *Table) value(row []string, column string) string {
	at, _ := slices.BinarySearch(t.columns, column)
	return row[at]
}

// counts reports whether a changed row means anything. before or after is nil for a new or
// a deleted row.
func (t *Table) counts(before, after []string) bool {
	if t.paths && !t.hasPath(before) && !t.hasPath(after) {
		return false
	}
	return t.watched == nil || before == nil || after == nil ||
		slices.ContainsFunc(t.watched, func(column string) bool { return t.value(before, column) != t.value(after, column) })
}

// hasPath reports whether a row is a setting that matters.
func (t *Table) hasPath(row []string) bool {
	if row == nil {
		return false
	}
	return magento1.ReadsPath(t.value(row, "path"))
}

// isGone reports whether the record with the key of a row is no longer the row's.
func (t *Table) isGone(before, after []string) bool {
	if before == nil || after == nil || len(t.rows) == 0 || t.rows[0].column == "" {
		return after == nil
	}
	return t.value(before, t.rows[0].column) != t.value(after, t.rows[0].column)
}

// settingOf returns the setting that a row is, as Setting.From says it.
func (t *Table) settingOf(row []string) string {
	name := t.setting
	for _, column := range t.settingColumns {
		name += " " + t.value(row, column)
	}
	return name
}
