package binlog_test

import (
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// meanings returns the parts that depend on a changed row of each table, with one record or all,
// and then the further parts that depend on a deleted row. "" stands for nothing.
func meanings() map[string]string {
	const allValues = "all directory, all categories, all products, all images, all customers, all addresses"
	all := map[string]string{
		"core_website":                               "all websites, all categories, all products, all images; all directory, all customers, all orders",
		"core_store_group":                           "all websites; all directory, all categories, all products, all images, all customers, all orders",
		"core_store":                                 "all websites, all categories, all products, all images; all directory, all customers, all orders",
		"core_config_data":                           "all websites, core_config_data x x general/locale/timezone",
		"core_url_rewrite":                           "products",
		"directory_currency_rate":                    "all websites",
		"directory_country":                          "all directory",
		"directory_country_region":                   "all directory, all taxes",
		"customer_group":                             "all customer-groups; all products",
		"tax_class":                                  "tax_class; all taxes",
		"tax_calculation_rate":                       "all taxes",
		"tax_calculation_rule":                       "all taxes",
		"tax_calculation":                            "all taxes",
		"eav_entity_type":                            allValues + ", eav_entity_type; all stock, all orders",
		"eav_attribute":                              allValues + ", eav_attribute x",
		"catalog_eav_attribute":                      "eav_attribute x",
		"customer_eav_attribute":                     "eav_attribute x",
		"eav_attribute_set":                          "eav_attribute_set; all products, all images, all stock",
		"eav_entity_attribute":                       "",
		"eav_attribute_option":                       "all directory, all customers",
		"eav_attribute_option_value":                 "all directory",
		"eav_entity_store":                           "",
		"catalog_category_entity":                    "categories; all categories, all products",
		"catalog_category_product":                   "products",
		"catalog_product_entity":                     "products",
		"catalog_product_website":                    "products",
		"catalog_product_entity_group_price":         "products",
		"catalog_product_entity_tier_price":          "products",
		"catalog_product_entity_media_gallery":       "images",
		"catalog_product_relation":                   "products",
		"catalog_product_super_link":                 "products",
		"catalog_product_super_attribute":            "",
		"catalog_product_link":                       "products",
		"weee_tax":                                   "products",
		"catalog_product_link_type":                  "; all products",
		"catalog_product_option":                     "products",
		"catalog_product_bundle_option":              "products",
		"catalog_product_bundle_selection":           "products",
		"downloadable_link":                          "",
		"catalogrule":                                "",
		"catalogrule_product_price":                  "products",
		"cataloginventory_stock":                     "; all products, all stock",
		"cataloginventory_stock_item":                "stock",
		"cataloginventory_stock_status":              "products",
		"review_entity":                              "all products",
		"review_status":                              "",
		"review":                                     "products",
		"review_detail":                              "",
		"review_store":                               "products",
		"review_entity_summary":                      "",
		"customer_entity":                            "customers; all addresses, all orders, credentials",
		"customer_address_entity":                    "addresses",
		"log_customer":                               "customers",
		"sales_flat_order":                           "orders",
		"sales_flat_order_item":                      "orders",
		"sales_flat_order_address":                   "orders",
		"sales_flat_order_payment":                   "orders",
		"sales_flat_order_status_history":            "orders",
		"sales_order_tax":                            "orders",
		"gift_message":                               "orders",
		"oauth_consumer":                             "credentials",
		"oauth_token":                                "credentials",
		"admin_user":                                 "credentials, admin_user x",
		"api2_acl_role":                              "credentials, api2_acl_role x",
		"api2_acl_rule":                              "credentials, api2_acl_role x",
		"api2_acl_user":                              "credentials, admin_user x",
		"api2_acl_attribute":                         "api2_acl_attribute x x",
		"catalog_product_entity_media_gallery_value": "images",
		"catalog_product_super_attribute_pricing":    "",
	}
	for _, kind := range []string{"datetime", "decimal", "int", "text", "varchar"} {
		all["catalog_category_entity_"+kind], all["catalog_product_entity_"+kind] = "categories", "products"
		all["customer_entity_"+kind], all["customer_address_entity_"+kind] = "customers", "addresses"
	}
	all["catalog_product_entity_varchar"] = "products, images"
	all["customer_entity_int"] = "customers, addresses"
	return all
}

// keysOfTables returns ids for tables whose rows have an id that leads to a record of the shop
// Rich.
func keysOfTables() map[string]string {
	return map[string]string{"review_store": "1", "gift_message": "1", "catalog_product_entity_media_gallery_value": "7"}
}

// TestTables holds the classification of every table of a shop, and of the description of the
// legacy store's tables.
func TestTables(t *testing.T) {
	d, raw := openShop(t, magento1test.Rich)
	magento1test.Break(t, raw, "CREATE TABLE weee_tax (value_id INT PRIMARY KEY, entity_id INT)") // not every shop has it
	keys := keysOfTables()
	keys["eav_attribute_option"] = single(t, raw, "SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'gender'")
	want := meanings()
	for _, name := range slices.Concat(column(t, raw, "SHOW TABLES"), binlog.TableNames()) {
		if _, ok := want[name]; !ok {
			t.Errorf("the table %s is not classified", name)
		}
	}
	for name, meaning := range want {
		table := binlog.TableOf(name)
		if table == nil {
			if meaning != "" {
				t.Errorf("%s means nothing, want %s", name, meaning)
			}
			continue
		}
		for _, column := range table.Columns() {
			if columns := columnsOfTable(t, raw, name); !slices.Contains(columns, column) {
				t.Errorf("%s has no column %s, only %s", name, column, columns)
			}
		}
		row := rowOf(table, keys[name])
		changed, deleted := binlog.NewSet(10), binlog.NewSet(10)
		before := slices.Clone(row)
		for i := range before {
			if table.Columns()[i] == "login_at" || table.Columns()[i] == "is_active" {
				before[i] = "other"
			}
		}
		changed.AddRow(table, before, row)
		deleted.AddRow(table, row, nil)
		got := rowchangesDescribe(t, d, changed)
		if more := subtract(rowchangesDescribe(t, d, deleted), got); len(more) > 0 {
			got = append(got, "; "+strings.Join(more, ", "))
		}
		text := strings.ReplaceAll(strings.Join(got, ", "), ", ; ", "; ")
		if diff := cmp.Diff(meaning, text); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// rowOf returns a row of a table, with an id.
func rowOf(t *binlog.Table, id string) []string {
	row := make([]string, len(t.Columns()))
	for i, column := range t.Columns() {
		switch {
		case column == "path":
			row[i] = "general/locale/timezone"
		case id != "":
			row[i] = id
		case strings.HasSuffix(column, "_id") || column == "value" || column == "entity_pk_value":
			row[i] = "7"
		default:
			row[i] = "x"
		}
	}
	return row
}

// rowchangesDescribe returns the contents of a set: the parts with single records, the parts with
// all records, credentials and settings, whose ids are x.
func rowchangesDescribe(t *testing.T, d *magento1.Database, s *binlog.Set) (all []string) {
	t.Helper()
	changes, err := s.Changes(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		one := string(c.Part)
		if c.Key == 0 {
			one = "all " + one
		}
		all = append(all, one)
	}
	if s.Credentials() {
		all = append(all, "credentials")
	}
	for _, setting := range s.Settings() {
		all = append(all, strings.ReplaceAll(setting, " 7", " x"))
	}
	return all
}

func subtract(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

func single(t *testing.T, db *sql.DB, query string) (value string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// column returns the first column of a statement.
func column(t *testing.T, db *sql.DB, query string, args ...any) (values []string) {
	t.Helper()
	values, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(db.QueryContext), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func columnsOfTable(t *testing.T, db *sql.DB, table string) []string {
	return column(t, db, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?", table)
}

// TestCascades compares the parts that depend on a deleted row with the foreign keys of a shop:
// they must include the parts of all rows that the foreign keys delete or change.
func TestCascades(t *testing.T) {
	_, raw := magento1test.NewShop(t, magento1test.Rich, "")
	children := map[string][]string{}
	rows, err := raw.QueryContext(t.Context(), "SELECT TABLE_NAME, REFERENCED_TABLE_NAME, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	cascades := map[string]bool{}
	for rows.Next() {
		var child, parent, rule string
		if err := rows.Scan(&child, &parent, &rule); err != nil {
			t.Fatal(err)
		}
		if rule == "CASCADE" || rule == "SET NULL" {
			children[parent] = append(children[parent], child)
			cascades[parent+" "+child] = rule == "CASCADE"
		}
	}
	// Everything that imports remove or keep with the record itself.
	own := map[string][]magento1.Part{
		"catalog_product_entity": {magento1.Images, magento1.Stock}, "customer_address_entity": {magento1.Addresses},
		"catalog_product_entity_media_gallery": {magento1.Images},
	}
	for parent := range children {
		reached := map[string]bool{}
		var walk func(string)
		walk = func(table string) {
			for _, child := range children[table] {
				if !reached[child] {
					reached[child] = true
					if cascades[table+" "+child] { // a row that stays takes nothing along
						walk(child)
					}
				}
			}
		}
		walk(parent)
		named := partsOf(binlog.TableOf(parent), true)
		for _, child := range slices.Sorted(maps.Keys(reached)) {
			for _, part := range partsOf(binlog.TableOf(child), false) {
				if !slices.Contains(named, part) && !slices.Contains(own[parent], part) {
					t.Errorf("a deleted row of %s changes %s, and so %s, which it does not name", parent, child, part)
				}
			}
		}
	}
	if len(children) < 20 {
		t.Errorf("only %d tables are referred to", len(children))
	}
}

// partsOf returns the parts that a changed or a deleted row of a table is about.
func partsOf(t *binlog.Table, deleted bool) (parts []magento1.Part) {
	if t == nil {
		return nil
	}
	set := binlog.NewSet(10)
	if deleted {
		set.AddRow(t, rowOf(t, ""), nil)
	} else {
		set.AddRow(t, nil, rowOf(t, ""))
	}
	return set.Parts()
}

// openShop opens a new shop, and returns its database, too.
func openShop(t *testing.T, content magento1test.Shop) (*magento1.Database, *sql.DB) {
	t.Helper()
	dsn, raw := magento1test.NewShop(t, content, "")
	d, err := magento1.Open(t.Context(), magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn}, Schemas: adapter.NewSchemas()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, raw
}

func TestSet(t *testing.T) {
	d, _ := openShop(t, magento1test.Broken)
	products, values := binlog.TableOf("catalog_product_entity"), binlog.TableOf("catalog_product_entity_media_gallery_value")
	add := func(s *binlog.Set, table *binlog.Table, from, through int) *binlog.Set {
		for id := from; id <= through; id++ {
			s.AddRow(table, nil, []string{strconv.Itoa(id)})
		}
		return s
	}
	for _, c := range []struct {
		name string
		set  *binlog.Set
		want []binlog.Change
	}{
		{"as many as are named", add(binlog.NewSet(2), products, 1, 2), []binlog.Change{{magento1.Products, 1}, {magento1.Products, 2}}},
		{"too many", add(binlog.NewSet(2), products, 1, 3), []binlog.Change{{Part: magento1.Products}}},
		{"too many, and more", add(add(binlog.NewSet(2), products, 1, 3), products, 4, 4), []binlog.Change{{Part: magento1.Products}}},
		{"too many to look up", add(binlog.NewSet(2), values, 1, 3), []binlog.Change{{Part: magento1.Images}}},
		{"too many together", merged(add(binlog.NewSet(2), products, 1, 2), add(binlog.NewSet(2), products, 3, 3)), []binlog.Change{{Part: magento1.Products}}},
		{"nothing", binlog.NewSet(2), nil},
		{"no ids", rowsOf(binlog.NewSet(2), products, "", "-1", "0", "x", "99999999999999999999"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.set.Changes(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if c.set.Empty() != (len(c.want) == 0) {
				t.Errorf("empty: %v", c.set.Empty())
			}
		})
	}
	t.Run("settings", func(t *testing.T) {
		s := add(binlog.NewSet(2), binlog.TableOf("catalog_eav_attribute"), 1, 5000)
		s.Merge(add(binlog.NewSet(2), binlog.TableOf("catalog_eav_attribute"), 5001, 9000))
		if got := s.Settings(); len(got) > 1001 || !slices.Contains(got, "eav_attribute") {
			t.Errorf("%d settings are named", len(got))
		}
	})
	t.Run("everything", func(t *testing.T) {
		s := binlog.NewSet(2)
		s.AddAll()
		if got := s.Parts(); !slices.Equal(got, magento1.Parts()) || !s.Credentials() || len(s.Settings()) == 0 {
			t.Errorf("parts %v, credentials %v, settings %v", got, s.Credentials(), s.Settings())
		}
	})
}

func merged(s, other *binlog.Set) *binlog.Set {
	s.Merge(other)
	return s
}

func rowsOf(s *binlog.Set, table *binlog.Table, ids ...string) *binlog.Set {
	for _, id := range ids {
		s.AddRow(table, nil, []string{id})
	}
	return s
}
