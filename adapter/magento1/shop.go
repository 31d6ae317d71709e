package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A wholeReader reads the records of a part that is small in one batch.
type wholeReader func(context.Context, *sql.Tx) ([]adapter.Record, error)

func (wholeReader) prepare(context.Context, *sql.Tx) error { return nil }

func (w wholeReader) next(ctx context.Context, tx *sql.Tx, at window) ([]adapter.Aggregate, int64, error) {
	if at.after >= 0 {
		return nil, at.after, nil // the one batch has been read
	}
	records, err := w(ctx, tx)
	return aggregates(records), 0, err
}

// wholeParts reads the parts that are always read as a whole.
type wholeParts struct {
	conn    *connection
	schemas *adapter.Schemas
}

// list returns a record of a resource for every row of a statement whose columns have the
// names of the attributes, the key first. Columns of other names are for accept, which is
// told of each record and reports whether it is to be kept; nil keeps all.
func (w wholeParts) list(ctx context.Context, tx *sql.Tx, p Part, r adapter.Resource, table string, columns []string, from string, accept func(adapter.Record, row) bool) (all []adapter.Record, err error) {
	schema := w.schemas.Of(r)
	var names, expressions []string
	for _, column := range columns {
		name, expression, ok := strings.Cut(column, " = ")
		if !ok {
			expression = name
		}
		names, expressions = append(names, name), append(expressions, expression)
	}
	err = w.conn.Each(ctx, tx, "SELECT "+strings.Join(expressions, ", ")+" FROM "+from, func(columns row) error {
		record := adapter.NewRecord(schema)
		for i, name := range names {
			at, ok := schema.Index(name)
			if !ok {
				continue
			}
			v, problem := w.conn.valueOf(schema.Attributes[at].Kind, columns[i])
			if name == schema.Key && i == 0 && (problem != "" || !isKey(r, v.Int())) {
				column := expressions[0][strings.LastIndex(expressions[0], ".")+1:]
				w.conn.skip(p, table, column+" "+string(columns[0]), ReasonKey)
				return nil
			}
			if problem != "" {
				w.conn.skip(p, table, names[0]+" "+string(columns[0])+", "+name, problem)
			}
			if v.Kind() == adapter.Null && schema.Attributes[at].Required && schema.Attributes[at].Kind == adapter.KindText {
				v = adapter.TextValue("") // the table need not have it
			}
			record.Values[at] = v
		}
		if accept == nil || accept(record, columns) {
			all = append(all, record)
		}
		return nil
	})
	return all, err
}

// isKey reports whether a record may have a key: a group of customers may have 0, the group of
// guests.
func isKey(r adapter.Resource, key int64) bool {
	return 0 < key && key <= maxKey || key == 0 && r == adapter.CustomerGroups
}

// websites returns the websites, and then the store views.
func (w wholeParts) websites(ctx context.Context, tx *sql.Tx) ([]adapter.Record, error) {
	config, err := readConfiguration(ctx, w.conn, tx)
	if err != nil {
		return nil, err
	}
	shop, _ := config.get(pathCurrency)
	rates, err := w.currencyRates(ctx, tx, shop)
	if err != nil {
		return nil, err
	}
	// The default store view is the default group's, if the group belongs to the website.
	websites, err := w.list(ctx, tx, Websites, adapter.Websites, "core_website",
		[]string{"website_id = w.website_id", "code = w.code", "name = w.name", "is_default = IF(w.is_default = 1, 1, 0)", "default_store_id = s.store_id"},
		w.conn.Table("core_website")+" w LEFT JOIN "+w.conn.Table("core_store_group")+" g ON g.group_id = w.default_group_id AND g.website_id = w.website_id LEFT JOIN "+
			w.conn.Table("core_store")+" s ON s.store_id = g.default_store_id AND s.website_id = w.website_id WHERE w.website_id <> 0 ORDER BY w.website_id",
		func(r adapter.Record, _ row) bool {
			id := keyOf(r)
			zone := config.website(id, pathTimezone)
			if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
				w.conn.skip(Websites, "core_config_data", fmt.Sprintf("website %d, %s", id, pathTimezone), ReasonTimezone)
			}
			r.Set("timezone", textOrNull(zone))
			w.setCurrency(r, rates, config.website(id, pathCurrency))
			w.setTaxes(r, fmt.Sprintf("website %d", id), func(path string) string { return config.website(id, path) })
			return true
		})
	if err != nil {
		return nil, err
	}
	stores, err := w.list(ctx, tx, Websites, adapter.Stores, "core_store",
		[]string{"store_id = s.store_id", "website_id = s.website_id", "code = s.code", "name = s.name", "there = w.website_id"},
		w.conn.Table("core_store")+" s LEFT JOIN "+w.conn.Table("core_website")+" w ON w.website_id = s.website_id AND "+between("w.website_id", 0, maxKey)+" WHERE s.store_id <> 0 ORDER BY s.store_id",
		func(r adapter.Record, columns row) bool {
			if columns[4] == nil {
				w.conn.skip(Websites, "core_store", fmt.Sprintf("store %d, website %d", keyOf(r), r.Get("website_id").Int()), ReasonNoWebsite)
				return false
			}
			if id := keyOf(r); config.hasOwn(id, taxPaths()) {
				w.setTaxes(r, fmt.Sprintf("store %d", id), func(path string) string { return config.ofView(id, r.Get("website_id").Int(), path) })
			}
			return true
		})
	return append(websites, stores...), err
}

// textOrNull returns a text, or null for none.
func textOrNull(s string) adapter.Value {
	if s == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(s)
}

// currencyRates returns the rates from the shop's base currency to others.
func (w wholeParts) currencyRates(ctx context.Context, tx *sql.Tx, shop string) (map[string]string, error) {
	const table = "directory_currency_rate"
	rates := map[string]string{}
	return rates, w.conn.eachIfTable(ctx, tx, table, "SELECT currency_from, currency_to, rate FROM "+w.conn.Table(table), func(r row) error {
		from, to, rate := w.conn.TextOf(r[0]), w.conn.TextOf(r[1]), w.conn.TextOf(r[2])
		if from != shop || to == shop {
			return nil
		}
		if n, err := strconv.ParseFloat(rate, 64); err != nil || n <= 0 {
			w.conn.skip(Websites, table, from+" to "+to, ReasonRate)
			return nil
		}
		rates[to] = rate
		return nil
	})
}

// setCurrency sets the base currency of a website, and the rate to it from the shop's.
func (w wholeParts) setCurrency(r adapter.Record, rates map[string]string, currency string) {
	r.Set("base_currency", textOrNull(currency))
	r.Set("currency_rate", textOrNull(rates[currency]))
}

// setTaxes sets the taxes of a website or a store view, which key names in reports. valueOf returns the
// value of a path there.
func (w wholeParts) setTaxes(r adapter.Record, key string, valueOf func(path string) string) {
	integer := func(path string) adapter.Value {
		v, problem := w.conn.valueOf(adapter.KindInteger, sql.RawBytes(valueOf(path)))
		if problem != "" {
			w.conn.skip(Websites, "core_config_data", key+", "+path, problem)
		}
		return v
	}
	flag := func(path string) adapter.Value {
		if isSet(valueOf(path)) {
			return adapter.IntegerValue(1)
		}
		return adapter.IntegerValue(0)
	}
	basedOn := valueOf(pathTaxBasedOn)
	if basedOn != "shipping" && basedOn != "billing" && basedOn != "origin" {
		w.conn.skip(Websites, "core_config_data", key+", "+pathTaxBasedOn, ReasonTaxBasedOn)
		basedOn = ""
	}
	r.Set("tax_country", textOrNull(valueOf(pathTaxCountry)))
	r.Set("tax_region_id", integer(pathTaxRegion))
	r.Set("tax_postcode", textOrNull(valueOf(pathTaxPostcode)))
	r.Set("tax_based_on", textOrNull(basedOn))
	r.Set("prices_include_tax", flag(pathPriceWithTax))
	r.Set("tax_cross_border", flag(pathCrossBorder))
	r.Set("origin_country", textOrNull(valueOf(pathOriginCountry)))
	r.Set("origin_region_id", integer(pathOriginRegion))
	r.Set("origin_postcode", textOrNull(valueOf(pathOriginPostcode)))
	r.Set("tax_default_group", integer(pathDefaultGroup))
}

// directory returns the countries, then the regions, and then the options of attributes. A country's number is its place in
// the order of the codes: with the countries of a new shop, the number that Portico's own
// directory gives it.
func (w wholeParts) directory(ctx context.Context, tx *sql.Tx) ([]adapter.Record, error) {
	number := int64(0)
	countries, err := w.list(ctx, tx, Directory, adapter.Countries, "directory_country",
		[]string{"country_id = country_id", "iso3_code = iso3_code"}, w.conn.Table("directory_country")+" ORDER BY BINARY country_id", func(r adapter.Record, _ row) bool {
			number++
			r.Set("country_number", adapter.IntegerValue(number))
			return true
		})
	if err != nil {
		return nil, err
	}
	regions, err := w.list(ctx, tx, Directory, adapter.Regions, "directory_country_region",
		[]string{"region_id", "country_id", "code", "name = default_name"}, w.conn.Table("directory_country_region")+" ORDER BY region_id", nil)
	if err != nil {
		return nil, err
	}
	options, err := w.options(ctx, tx)
	return slices.Concat(countries, regions, options), err
}

// options returns the options of the attributes that the schemas add. An option without a label in the
// default scope is none, as the original shows no such option.
func (w wholeParts) options(ctx context.Context, tx *sql.Tx) ([]adapter.Record, error) {
	if !w.schemas.HaveOptions() {
		return nil, nil
	}
	resources := map[string]adapter.Resource{
		customerEntity().code: adapter.Customers, addressEntity().code: adapter.CustomerAddresses, productEntity().code: adapter.Products,
	}
	labels := map[int64][]string{}
	const table, ofLabels = "eav_attribute_option", "eav_attribute_option_value"
	err := w.conn.eachIfTable(ctx, tx, ofLabels, "SELECT option_id, store_id, value FROM "+w.conn.Table(ofLabels)+" WHERE store_id <> 0 AND value IS NOT NULL ORDER BY option_id, store_id", func(r row) error {
		labels[r.ID(0)] = append(labels[r.ID(0)], string(r[1])+":"+strings.ReplaceAll(w.conn.TextOf(r[2]), "\n", " "))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w.list(ctx, tx, Directory, adapter.AttributeOptions, table,
		[]string{"option_id = o.option_id", "type = t.entity_type_code", "attribute = a.attribute_code", "position = o.sort_order", "label = v.value"},
		w.conn.Table(table)+" o LEFT JOIN "+w.conn.Table(ofLabels)+" v ON v.option_id = o.option_id AND v.store_id = 0 JOIN "+w.conn.Table("eav_attribute")+
			" a ON a.attribute_id = o.attribute_id JOIN "+w.conn.Table("eav_entity_type")+" t ON t.entity_type_id = a.entity_type_id ORDER BY o.option_id",
		func(r adapter.Record, columns row) bool {
			resource, ok := resources[string(columns[1])]
			if !ok {
				return false
			}
			if columns[2] == nil {
				w.conn.skip(Directory, table, "option_id "+string(columns[0]), ReasonNoAttribute)
				return false
			}
			schema := w.schemas.Of(resource)
			at, ok := schema.Index(r.Get("attribute").Text())
			r.Set("resource", adapter.TextValue(string(resource)))
			if own := labels[keyOf(r)]; own != nil {
				r.Set("labels", adapter.TextsValue(own))
			} else {
				r.Set("labels", adapter.NullValue())
			}
			if !ok || !schema.Attributes[at].Input.HasOptions() {
				return false
			}
			if columns[4] == nil {
				w.conn.skip(Directory, table, "option_id "+string(columns[0]), ReasonNoLabel)
			}
			return columns[4] != nil
		})
}

func (w wholeParts) customerGroups(ctx context.Context, tx *sql.Tx) ([]adapter.Record, error) {
	return w.list(ctx, tx, CustomerGroups, adapter.CustomerGroups, "customer_group",
		[]string{"group_id = customer_group_id", "name = customer_group_code", "tax_class_id"}, w.conn.Table("customer_group")+" ORDER BY customer_group_id", nil)
}

// taxes returns one record for each combination of a rate, a rule and tax classes. The
// region of a rate that the directory does not have is its id, which no region has as its
// code, so that the rate applies nowhere.
func (w wholeParts) taxes(ctx context.Context, tx *sql.Tx) ([]adapter.Record, error) {
	columns := []string{
		"tax_rate_id = c.tax_calculation_id", "there = r.tax_calculation_rate_id IS NOT NULL AND l.tax_calculation_rule_id IS NOT NULL",
		"country_id = r.tax_country_id", "region = IF(r.tax_region_id = 0, '*', COALESCE(NULLIF(g.code, ''), r.tax_region_id))",
		"region_id = r.tax_region_id", "postcode = r.tax_postcode", "customer_tax_class_id = c.customer_tax_class_id", "tax_class_id = c.product_tax_class_id",
		"rule_id = c.tax_calculation_rule_id", "priority = l.priority", "rate = r.rate", "name = r.code",
	}
	rules, err := w.conn.ColumnsOf(ctx, tx, "tax_calculation_rule")
	if err != nil {
		return nil, err
	}
	if rules["calculate_subtotal"] {
		columns = append(columns, "calculate_subtotal = l.calculate_subtotal")
	}
	there, err := w.conn.ColumnsOf(ctx, tx, "tax_calculation_rate")
	if err != nil {
		return nil, err
	}
	if there["zip_is_range"] && there["zip_from"] && there["zip_to"] {
		columns = append(columns, "zip_from = IF(r.zip_is_range, r.zip_from, NULL)", "zip_to = IF(r.zip_is_range, r.zip_to, NULL)")
	} else {
		w.conn.missing("tax_calculation_rate", "zip_is_range")
	}
	return w.list(ctx, tx, Taxes, adapter.TaxRates, "tax_calculation", columns,
		w.conn.Table("tax_calculation")+" c LEFT JOIN "+w.conn.Table("tax_calculation_rate")+" r ON r.tax_calculation_rate_id = c.tax_calculation_rate_id LEFT JOIN "+
			w.conn.Table("tax_calculation_rule")+" l ON l.tax_calculation_rule_id = c.tax_calculation_rule_id LEFT JOIN "+
			w.conn.Table("directory_country_region")+" g ON g.region_id = r.tax_region_id ORDER BY c.tax_calculation_id", func(r adapter.Record, columns row) bool {
			if columns.ID(1) == 0 {
				w.conn.skip(Taxes, "tax_calculation", fmt.Sprintf("tax_calculation_id %d", keyOf(r)), ReasonNoRecord)
				return false
			}
			if strings.HasPrefix(r.Get("rate").Text(), "-") {
				w.conn.skip(Taxes, "tax_calculation_rate", fmt.Sprintf("%.64q", r.Get("name").Text()), ReasonNegative)
				r.Set("rate", adapter.TextValue("0.0000"))
			}
			return true
		})
}

// rootCategory is the id of the root of the tree, which is not a category of the contract.
const rootCategory = 1

// A categoryTree holds the parent of every category.
type categoryTree struct{ parentOf map[int64]int64 }

// readCategoryTree reads the tree.
func readCategoryTree(ctx context.Context, conn *connection, tx *sql.Tx) (*categoryTree, error) {
	t := &categoryTree{map[int64]int64{}}
	err := conn.Each(ctx, tx, "SELECT entity_id, parent_id FROM "+conn.Table("catalog_category_entity"), func(r row) error {
		t.parentOf[r.ID(0)] = r.ID(1)
		return nil
	})
	t.prune()
	return t, err
}

// prune removes the categories whose parents do not lead to the root.
func (t *categoryTree) prune() {
	good := map[int64]bool{rootCategory: true} // false while a category is on the path, and if it is not good
	for id := range t.parentOf {
		var path []int64
		at := id
		for {
			if _, known := good[at]; known {
				break
			}
			good[at] = false
			path = append(path, at)
			parent, exists := t.parentOf[at]
			if !exists || at <= 0 {
				break
			}
			at = parent
		}
		for _, one := range path {
			good[one] = good[at]
		}
	}
	for id := range t.parentOf {
		if !good[id] || id == rootCategory {
			delete(t.parentOf, id)
		}
	}
}

// has reports whether a category exists and its parents lead to the root.
func (t *categoryTree) has(id int64) bool { _, ok := t.parentOf[id]; return ok }

// A categoryReader reads categories, with their names at store views.
type categoryReader struct {
	entityReader
	tree *categoryTree
}

func (c *categoryReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if c.tree, err = readCategoryTree(ctx, c.d.conn, tx); err != nil {
		return err
	}
	return c.entityReader.prepare(ctx, tx, categoryEntity(), flatTable{
		part: Categories, resource: adapter.Categories, table: "catalog_category_entity", keyColumn: "entity_id",
		columnNames: map[string]string{"category_id": "entity_id"},
	}, "name", "is_active")
}

func (c *categoryReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	b, last, err := c.entityReader.next(ctx, tx, w)
	if err != nil || b == nil {
		return nil, w.after, err
	}
	return c.checked(b.aggregates), last, nil
}

// checked completes the values of categories and leaves out categories that are not in the tree.
func (c *categoryReader) checked(all []adapter.Aggregate) (good []adapter.Aggregate) {
	for _, a := range all {
		id := keyOf(a.Record)
		if !c.tree.has(id) {
			if id != rootCategory {
				c.d.conn.skip(Categories, "catalog_category_entity", fmt.Sprintf("category %d", id), ReasonTree)
			}
			continue
		}
		if a.Record.Get("name").Empty() {
			a.Record.Set("name", adapter.TextValue(""))
		}
		if a.Record.Get("is_active").Empty() {
			a.Record.Set("is_active", zero())
		}
		// The legacy store takes is_active from the default scope everywhere.
		a.Levels = slices.DeleteFunc(a.Levels, func(l adapter.Level) bool {
			l.Record.Set("is_active", adapter.Value{})
			return l.Record.Get("name").Kind() == adapter.Absent
		})
		good = append(good, a)
	}
	return good
}
