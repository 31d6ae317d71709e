package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A Setting is the value of one of Portico's settings according to the legacy store's
// configuration.
type Setting struct {
	// Name is the name of Portico's setting, such as "store.timezone", or for one entry of a table
	// the name of the table, "attributes" or "fields". "" stands for something that Portico has no
	// setting for: Warning describes it.
	Name string
	// Value is the value in the form of Portico's configuration file: an entry of a table in YAML,
	// as {resource: products, name: size, kind: integer}. It is "" if the legacy store does not
	// have one, and for an entry of "fields", which Fields describes.
	Value string
	// From is where it was found: "core_config_data default 0 general/locale/timezone",
	// "eav_attribute 134", or "built-in default of …".
	From string
	// Warning describes a difference between Portico and the legacy store, or something to check;
	// "" if there is none.
	Warning string
	// Attribute is the attribute that an entry of "attributes" adds; nil otherwise.
	Attribute *Attribute
	// Fields is the entry of "fields"; nil otherwise.
	Fields *FieldList
}

// Rank returns the place of the setting among all, counted from 0, in the order in which a wrong
// value hurts clients. Settings that hurt little share the last place.
func (s *Setting) Rank() int {
	ranked := []string{
		pathTimezone, pathShowSoldOut, pathPriceWithTax, "api2_acl_", "admin_user", "customer/create_account/confirm", pathTaxPostcode, "web/secure/", "web/unsecure/",
		pathPriceScope, "general/country/", "tax/calculation/based_on", "shipping/origin/", "general/locale/code", pathAccountShare, "customer/address/", "web/url/",
		"tax/", "currency/", "cataloginventory/", "customer/",
	}
	at := slices.IndexFunc(ranked, func(path string) bool { return strings.Contains(s.From, path) })
	if at < 0 {
		return len(ranked)
	}
	return at
}

// An Attribute is an attribute that the legacy store has in addition to the contract's attributes.
type Attribute struct {
	adapter.AddedAttribute
	Roles []string // roles that read it: admin, customer, guest
}

// A settingsReader reads settings, each method some of them.
type settingsReader struct{ conn *connection }

// Settings returns Portico's settings with the values of the legacy store's configuration, in the
// order of Portico's configuration file. Options.Schemas need not have the attributes that it
// finds: call it first, and read the records with the attributes added.
func (d *Database) Settings(ctx context.Context) (all []Setting, err error) {
	r := settingsReader{d.conn}
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		all = nil
		for _, step := range []func(context.Context, *sql.Tx) ([]Setting, error){
			r.addresses, r.regional, r.configured, r.customers, r.sets, r.ownAttributes, r.fieldLists, r.roleFaults,
		} {
			some, err := step(ctx, tx)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return nil
	})
	return all, err
}

// configured returns the settings that core_config_data has.
func (d settingsReader) configured(ctx context.Context, tx *sql.Tx) (all []Setting, err error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	add := func(name, path string, convert func(string) string) {
		value, from := config.get(path)
		s := Setting{Name: name, Value: convert(value), From: from}
		perWebsite := path == pathCurrency || slices.Contains(taxPaths(), path) // records of websites hold them
		if others := config.others(path); len(others) > 0 && !perWebsite {
			s.Warning = "only one value counts for the whole store, but " + strings.Join(others, ", ") + " have others"
		}
		all = append(all, s)
	}
	same := strings.TrimSpace
	add("store.currency", pathCurrency, same)
	add("store.price_scope", pathPriceScope, func(s string) string {
		if isSet(s) {
			return "website"
		}
		return "global"
	})
	regions, err := d.regionCodes(ctx, tx)
	if err != nil {
		return nil, err
	}
	region := func(id string) string { return regions[strings.TrimSpace(id)] }
	flag := func(s string) string { return fmt.Sprint(isSet(s)) }
	add("store.tax_country", pathTaxCountry, same)
	add("store.tax_region", pathTaxRegion, region)
	add("store.tax_postcode", pathTaxPostcode, same)
	add("store.tax_based_on", pathTaxBasedOn, same)
	add("store.prices_include_tax", pathPriceWithTax, flag)
	add("store.tax_cross_border", pathCrossBorder, flag)
	add("store.origin_country", pathOriginCountry, same)
	add("store.origin_region", pathOriginRegion, region)
	add("store.origin_postcode", pathOriginPostcode, same)
	add("store.tax_default_group", pathDefaultGroup, same)
	all = append(all, Setting{Name: "store.single_store_mode", Value: "true", From: "built-in behavior of the legacy store while it has one store view"})
	add("stock.min_qty", pathMinQty, same)
	add("stock.notify_qty", pathNotifyQty, same)
	add("stock.backorders", pathBackorders, same)
	add("stock.manage", pathManageStock, func(s string) string { return fmt.Sprint(s == "1") })
	add("stock.hide_sold_out", pathShowSoldOut, func(s string) string { return fmt.Sprint(s != "1") })
	return all, err
}

// regionCodes returns the codes of all regions by id.
func (d settingsReader) regionCodes(ctx context.Context, tx *sql.Tx) (codes map[string]string, err error) {
	codes = map[string]string{}
	return codes, d.conn.Each(ctx, tx, "SELECT region_id, code FROM "+d.conn.Table("directory_country_region"), func(r row) error {
		codes[string(r[0])] = d.conn.TextOf(r[1])
		return nil
	})
}

// sets returns the settings that list values of the tables.
func (d settingsReader) sets(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	column := func(text string) (values []string, err error) {
		err = d.conn.Each(ctx, tx, text, func(r row) error {
			values = append(values, d.conn.TextOf(r[0]))
			return nil
		})
		return values, err
	}
	sets, err := column("SELECT s.attribute_set_id FROM " + d.conn.Table("eav_attribute_set") + " s JOIN " + d.conn.Table("eav_entity_type") +
		" t ON t.entity_type_id = s.entity_type_id WHERE t.entity_type_code = 'catalog_product' ORDER BY s.attribute_set_id")
	if err != nil {
		return nil, err
	}
	classes, err := column("SELECT class_id FROM " + d.conn.Table("tax_class") + " WHERE class_type = 'PRODUCT' AND class_id > 0 ORDER BY class_id")
	if err != nil {
		return nil, err
	}
	const maxThemes = 100
	themes, err := column("SELECT DISTINCT v.value FROM " + d.conn.Table("catalog_product_entity_varchar") + " v JOIN " + d.conn.Table("eav_attribute") +
		" a ON a.attribute_id = v.attribute_id JOIN " + d.conn.Table("eav_entity_type") + " t ON t.entity_type_id = a.entity_type_id" +
		" WHERE t.entity_type_code = 'catalog_product' AND a.attribute_code = 'custom_design' AND v.value LIKE '%_/_%' ORDER BY v.value LIMIT " + formatID(maxThemes))
	if err != nil {
		return nil, err
	}
	return []Setting{
		{Name: "store.attribute_sets", Value: strings.Join(sets, ","), From: "eav_attribute_set"},
		{Name: "store.tax_classes", Value: strings.Join(append([]string{"0"}, classes...), ","), From: "tax_class"},
		{Name: "store.themes", Value: strings.Join(themes, ","), From: "catalog_product_entity_varchar",
			Warning: "the database does not say which themes there are, only which of them products use: add the folders below app/design/frontend of the legacy store, as package/theme"},
	}, nil
}
