package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

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
