package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
			r.addresses, r.regional, r.configured, r.customers, r.sets, r.ownAttributes, r.changedScopes, r.fieldLists, r.roleFaults,
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
	add("stock.min_qty", pathMinQty, leadingNumber)
	add("stock.notify_qty", pathNotifyQty, leadingNumber)
	add("stock.backorders", pathBackorders, func(s string) string { return strings.Split(leadingNumber(s), ".")[0] })
	add("stock.manage", pathManageStock, func(s string) string { return fmt.Sprint(s == "1") })
	add("stock.hide_sold_out", pathShowSoldOut, func(s string) string { return fmt.Sprint(s != "1") })
	return all, err
}

// numberPrefix matches a number at the beginning of a text.
var numberPrefix = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`)

// leadingNumber returns the number at the beginning of a text, with four decimals at most, or "0" if there is none: so
// the legacy store reads numbers.
func leadingNumber(text string) string {
	number, err := strconv.ParseFloat(numberPrefix.FindString(strings.TrimSpace(text)), 64)
	if err != nil {
		return "0"
	}
	rounded := strconv.FormatFloat(number, 'f', 4, 64)
	return strings.TrimRight(strings.TrimRight(rounded, "0"), ".")
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
			Warning: "the database does not say which themes there are, only which of them products use: add other folders below app/design/frontend of the legacy store, as package/theme"},
	}, nil
}

// regional returns the settings of times and dates, which the legacy store reads in the default scope
// (configurations 1).
func (d settingsReader) regional(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	zone := config.setting("store.timezone", pathTimezone)
	if _, err := time.LoadLocation(zone.Value); err != nil || zone.Value == "" || zone.Value == "Local" {
		zone.refuse("UTC", "is no time zone that is known here: UTC counts")
	}
	locale := config.setting("store.locale", pathLocale)
	if !localeCode.MatchString(locale.Value) {
		locale.refuse("en_US", "is no locale: en_US counts")
	}
	return []Setting{zone, locale}, nil
}

// localeCode matches the codes of locales, as the setting store.locale does.
var localeCode = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?$`)

// headerName matches the names of headers, as the setting offloader_header does.
var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

// addresses returns the settings of the addresses in replies, which the legacy store reads in the
// default scope (configurations 2). A setting whose value follows from the ones before it is empty.
func (d settingsReader) addresses(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	public := config.address("public_url", pathSecureURL)
	if plain := config.address("", pathBaseURL); plain.Value != "" && public.Value != "" && pathOf(plain.Value) != pathOf(public.Value) {
		public.Warning = "the legacy store is at " + plain.Value + ", too, whose path differs: Portico serves the path of public_url alone"
	}
	linkPath := pathLinkURL
	if inAdmin, _ := config.get(pathSecureInAdmin); isSet(inAdmin) {
		linkPath = pathSecureLinkURL
	}
	link := config.address("store.link_url", linkPath)
	media, secureMedia := config.address("store.media_url", pathMediaURL), config.address("store.secure_media_url", pathSecureMediaURL)
	usual := ""
	if public.Value != "" {
		usual = public.Value + "/media"
	}
	link.follow(public.Value)
	secureMedia.follow(cmp.Or(media.Value, usual))
	media.follow(usual)
	code := config.setting("store.code_in_links", pathStoreInURL)
	code.Value = strconv.FormatBool(isSet(code.Value))
	header := config.setting("offloader_header", pathOffloader)
	if name, isVariable := strings.CutPrefix(header.Value, "HTTP_"); isVariable { // as PHP calls a header
		header.Value = strings.ReplaceAll(name, "_", "-")
	}
	if !headerName.MatchString(header.Value) {
		header.refuse("", "is no name of a header: Portico reads none")
	}
	return []Setting{public, header, link, code, media, secureMedia}, nil
}

// setting returns a setting with the value of the default scope.
func (c *configuration) setting(name, path string) Setting {
	value, from := c.get(path)
	return Setting{Name: name, Value: strings.TrimSpace(value), From: from}
}

// refuse replaces a value that Portico's setting cannot have, and says so.
func (s *Setting) refuse(value, why string) {
	s.Warning = strconv.Quote(s.Value) + " " + why
	s.Value = value
}

// address returns a setting with an address, without a slash at its end. It is empty where the legacy
// store takes the host of each request.
func (c *configuration) address(name, path string) Setting {
	s := c.setting(name, path)
	for placeholder, base := range map[string]string{"{{unsecure_base_url}}": pathBaseURL, "{{secure_base_url}}": pathSecureURL} {
		if rest, below := strings.CutPrefix(s.Value, placeholder); below {
			of := c.setting("", base)
			s.Value = strings.TrimRight(of.Value, "/") + "/" + strings.TrimLeft(rest, "/")
			s.From += ", " + of.From
			break
		}
	}
	if strings.HasPrefix(s.Value, "{{base_url}}") {
		s.Value = ""
		return s
	}
	u, err := url.Parse(s.Value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(s.Value, "?#{}") {
		if err == nil {
			s.Value = u.Redacted()
		}
		s.refuse("", "is no address that begins with http:// or https://: Portico takes its own")
	}
	s.Value = strings.TrimRight(s.Value, "/")
	return s
}

// pathOf returns the path of an address that address has accepted.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// follow empties an address that is the one which Portico takes without the setting, and warns of one
// that is empty although Portico takes another.
func (s *Setting) follow(without string) {
	switch {
	case s.Value == without:
		s.Value = ""
	case s.Value == "" && s.Warning == "":
		s.Warning = "the legacy store takes the host of each request here: Portico takes " + without
	}
}

// isSet reports whether a value of the legacy store's configuration sets a flag.
func isSet(value string) bool {
	value = strings.TrimSpace(value)
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// The paths of the legacy store's configuration that affect records and settings.
const (
	pathTimezone       = "general/locale/timezone"
	pathTaxCountry     = "tax/defaults/country"
	pathTaxRegion      = "tax/defaults/region"
	pathTaxPostcode    = "tax/defaults/postcode"
	pathLocale         = "general/locale/code"
	pathBaseURL        = "web/unsecure/base_url"
	pathLinkURL        = "web/unsecure/base_link_url"
	pathMediaURL       = "web/unsecure/base_media_url"
	pathSecureURL      = "web/secure/base_url"
	pathSecureLinkURL  = "web/secure/base_link_url"
	pathSecureMediaURL = "web/secure/base_media_url"
	pathSecureInAdmin  = "web/secure/use_in_adminhtml"
	pathOffloader      = "web/secure/offloader_header"
	pathStoreInURL     = "web/url/use_store"
	pathCurrency       = "currency/options/base"
	pathPriceScope     = "catalog/price/scope"
	pathPriceWithTax   = "tax/calculation/price_includes_tax"
	pathTaxBasedOn     = "tax/calculation/based_on"
	pathCrossBorder    = "tax/calculation/cross_border_trade_enabled"
	pathOriginCountry  = "shipping/origin/country_id"
	pathOriginRegion   = "shipping/origin/region_id"
	pathOriginPostcode = "shipping/origin/postcode"
	pathDefaultGroup   = "customer/create_account/default_group"
	pathAccountShare   = "customer/account_share/scope"
	pathConfirm        = "customer/create_account/confirm"
	pathCountries      = "general/country/allow"
	pathOptionalZip    = "general/country/optional_zip_countries"
	pathShowSoldOut    = "cataloginventory/options/show_out_of_stock"
	pathMinQty         = "cataloginventory/item_options/min_qty"
	pathNotifyQty      = "cataloginventory/item_options/notify_stock_qty"
	pathBackorders     = "cataloginventory/item_options/backorders"
	pathManageStock    = "cataloginventory/item_options/manage_stock"
)

// builtIn returns the values of these paths in a shop that has no row for them. The value of
// pathConfirm is OpenMage's; the empty list of pathCountries stands for all countries.
func builtIn() map[string]string {
	return map[string]string{
		pathTimezone: "America/Los_Angeles", pathTaxCountry: "US", pathTaxRegion: "0", pathTaxPostcode: "*",
		pathLocale: "en_US", pathBaseURL: "{{base_url}}", pathLinkURL: "{{unsecure_base_url}}", pathMediaURL: "{{unsecure_base_url}}media/",
		pathSecureURL: "{{base_url}}", pathSecureLinkURL: "{{secure_base_url}}", pathSecureMediaURL: "{{secure_base_url}}media/",
		pathSecureInAdmin: "0", pathOffloader: "SSL_OFFLOADED", pathStoreInURL: "0",
		pathCurrency: "USD", pathPriceScope: "0", pathPriceWithTax: "0", pathAccountShare: "1", pathShowSoldOut: "0",
		pathTaxBasedOn: "shipping", pathCrossBorder: "0", pathOriginCountry: "US", pathOriginRegion: "12", pathOriginPostcode: "90034", pathDefaultGroup: "1",
		pathConfirm: "1", pathCountries: "", pathOptionalZip: "HK,IE,MO,PA",
		pathMinQty: "0", pathNotifyQty: "1", pathBackorders: "0", pathManageStock: "1",
	}
}

// taxPaths returns the paths of the taxes of websites and store views.
func taxPaths() []string {
	return []string{pathTaxCountry, pathTaxRegion, pathTaxPostcode, pathTaxBasedOn, pathPriceWithTax, pathCrossBorder,
		pathOriginCountry, pathOriginRegion, pathOriginPostcode, pathDefaultGroup}
}

// ReadsPath reports whether a path of the legacy store's configuration affects records or settings.
func ReadsPath(path string) bool {
	_, ok := builtIn()[path]
	return ok
}

// A configuration holds the values of the legacy store's configuration.
type configuration struct{ rows map[configKey]string }

type configKey struct {
	scope string // default, websites or stores
	id    int64
	path  string
}

// readConfiguration reads the values that matter.
func readConfiguration(ctx context.Context, conn *connection, tx *sql.Tx) (*configuration, error) {
	c := &configuration{map[configKey]string{}}
	text := "SELECT scope, scope_id, path, value FROM " + conn.Table("core_config_data") + " WHERE path IN ("
	for i, path := range slices.Sorted(maps.Keys(builtIn())) {
		if i > 0 {
			text += ", "
		}
		text += "'" + path + "'"
	}
	return c, conn.Each(ctx, tx, text+") ORDER BY config_id", func(r row) error {
		c.rows[configKey{string(r[0]), r.ID(1), string(r[2])}] = conn.TextOf(r[3])
		return nil
	})
}

// get returns the value of the default scope, and where it was found.
func (c *configuration) get(path string) (value, from string) {
	if value, ok := c.rows[configKey{"default", 0, path}]; ok {
		return value, "core_config_data default 0 " + path
	}
	return builtIn()[path], "built-in default of " + path
}

// has reports whether the default scope has a row for path.
func (c *configuration) has(path string) bool {
	_, ok := c.rows[configKey{"default", 0, path}]
	return ok
}

// website returns the value of a website.
func (c *configuration) website(id int64, path string) string {
	if value, ok := c.rows[configKey{"websites", id, path}]; ok {
		return value
	}
	value, _ := c.get(path)
	return value
}

// ofView returns the value of a store view of a website.
func (c *configuration) ofView(view, website int64, path string) string {
	if value, ok := c.rows[configKey{"stores", view, path}]; ok {
		return value
	}
	return c.website(website, path)
}

// hasOwn reports whether a store view has a value of its own for one of some paths.
func (c *configuration) hasOwn(view int64, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		_, ok := c.rows[configKey{"stores", view, path}]
		return ok
	})
}

// others names the websites and store views that have another value than the default
// scope.
func (c *configuration) others(path string) (scopes []string) {
	shared, _ := c.get(path)
	for key, value := range c.rows {
		if key.path == path && key.scope != "default" && value != shared {
			scopes = append(scopes, fmt.Sprintf("%s %d", key.scope, key.id))
		}
	}
	slices.Sort(scopes)
	return scopes
}
