package magento1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestCustomerSettings reads the settings of customers from stores with all kinds of rows.
func TestCustomerSettings(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	const (
		confirmation, shared = "customers.confirmation", "customers.shared_accounts"
		countries, postcodes = "customers.countries", "customers.countries_without_postcode"
	)
	row := func(scope string, id int, path, value string) string {
		return fmt.Sprintf("REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('%s', %d, '%s', %s)", scope, id, path, value)
	}
	base := func(path, value string) string { return row("default", 0, path, "'"+value+"'") }
	magento1test.Break(t, raw, "CREATE TABLE core_resource (code VARCHAR(50) PRIMARY KEY, version VARCHAR(50))")
	software := func(version string) string {
		return "REPLACE INTO core_resource (code, version) VALUES ('core_setup', '" + version + "')"
	}
	for _, c := range []struct {
		name          string
		change        []string // each store has the changes of those before, too
		setting       string
		value         string
		from, warning string // parts of them
	}{
		{"no row and no software", nil, confirmation, "true", "built-in default of customer/create_account/confirm, which is 1 in OpenMage and 0 in Magento; no core_setup", ""},
		{"Magento", []string{software("1.6.0.7")}, confirmation, "false", "core_setup 1.6.0.7 in core_resource is Magento's", ""},
		{"an old Magento", []string{software("0.8.26")}, confirmation, "false", "is Magento's", ""},
		{"OpenMage", []string{software("1.6.0.10")}, confirmation, "true", "core_setup 1.6.0.10 in core_resource is OpenMage's", ""},
		{"a row of a website", []string{row("websites", 1, "customer/create_account/confirm", "'0'")}, confirmation, "true", "built-in", ""},
		{"a row", []string{base("customer/create_account/confirm", "0")}, confirmation, "false", "core_config_data default 0 customer/create_account/confirm", ""},
		{"an odd row", []string{base("customer/create_account/confirm", "yes")}, confirmation, "true", "core_config_data", ""},
		{"a row without a value", []string{row("default", 0, "customer/create_account/confirm", "NULL")}, confirmation, "false", "core_config_data", ""},

		{"accounts without a row", nil, shared, "false", "built-in default of customer/account_share/scope", ""},
		{"accounts of websites", []string{base("customer/account_share/scope", " 1")}, shared, "false", "core_config_data", ""},
		{"shared accounts", []string{base("customer/account_share/scope", "0")}, shared, "true", "core_config_data default 0 customer/account_share/scope", ""},
		{"an odd scope of accounts", []string{base("customer/account_share/scope", "")}, shared, "true", "core_config_data", ""},

		{"countries without a row", nil, countries, "", "built-in default of general/country/allow", ""},
		{"countries of a website", []string{row("websites", 2, "general/country/allow", "'AT'")}, countries, "", "built-in", ""},
		{"countries", []string{base("general/country/allow", "US,CA,DE")}, countries, "US,CA,DE", "core_config_data default 0 general/country/allow", ""},
		{"countries edited by hand", []string{base("general/country/allow", "us,CA ,CA, DE,Austria,,")}, countries, "US,CA", "core_config_data", `[" DE" "AUSTRIA"] are no codes`},
		{"no country", []string{base("general/country/allow", "")}, countries, "", "core_config_data", "names no country"},

		{"postcodes without a row", nil, postcodes, "HK,IE,MO,PA", "built-in default of general/country/optional_zip_countries", ""},
		{"postcodes", []string{base("general/country/optional_zip_countries", "GB,DE")}, postcodes, "GB,DE", "core_config_data", ""},
		{"no postcodes", []string{base("general/country/optional_zip_countries", "")}, postcodes, "", "core_config_data", ""},
		{"postcodes edited by hand", []string{base("general/country/optional_zip_countries", "gb, DE,US")}, postcodes, "US", "core_config_data", `["gb" " DE"] are no codes`},
	} {
		magento1test.Break(t, raw, c.change...)
		s := settingNamed(t, d, c.setting)
		if s.Value != c.value || !strings.Contains(s.From, c.from) || (s.Warning != "") != (c.warning != "") || !strings.Contains(s.Warning, c.warning) {
			t.Errorf("%s: %+v, want %q from %q, warning %q", c.name, s, c.value, c.from, c.warning)
		}
	}
}

// TestDialect checks the dialect of legacy stores with other versions of modules.
func TestDialect(t *testing.T) {
	dsn, raw := magento1test.NewShop(t, magento1test.Rich, "")
	module := func(code, version string) string {
		return "REPLACE INTO core_resource VALUES ('" + code + "_setup', '" + version + "')"
	}
	for _, c := range []struct {
		change         []string // each store has the changes of those before, too
		want, evidence string
	}{
		{nil, "magento", "no core_setup"},
		{[]string{"CREATE TABLE core_resource (code VARCHAR(50) PRIMARY KEY, version VARCHAR(50))"}, "magento", "no core_setup"},
		{[]string{module("core", "1.6.0.7"), module("tax", "1.6.0.4")}, "magento", "core_setup 1.6.0.7 in core_resource shows Magento"},
		{[]string{module("core", "1.6.0.10")}, "magento", "or OpenMage before 20.17"},
		{[]string{module("tax", "1.6.0.5")}, "magento", "OpenMage 20.11 to 20.16"},
		{[]string{module("core", "1.6.0.12")}, "openmage", "core_setup 1.6.0.12 in core_resource shows OpenMage 20.17 or later"},
		{[]string{module("core", "1.6.0.x")}, "magento", "core_setup 1.6.0.x"},
	} {
		magento1test.Break(t, raw, c.change...)
		d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn}, Schemas: shopSchemas(t)})
		if got, evidence, err := d.Dialect(t.Context()); err != nil || got != c.want || !strings.Contains(evidence, c.evidence) {
			t.Errorf("%v: %q by %q, %v, want %q by %q", c.change, got, evidence, err, c.want, c.evidence)
		}
	}
}

// TestRequiredFields reads the fields that forms require from stores with other flags.
func TestRequiredFields(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	magento1test.Break(t, raw, "CREATE TABLE customer_form_attribute (form_code VARCHAR(32), attribute_id SMALLINT)")
	for _, c := range []struct {
		name                 string
		change               []string // each store has the changes of those before, too
		customers, addresses string
	}{
		{"a new shop", nil, "firstname,lastname", "firstname,lastname,street,city,country_id,postcode,telephone"},
		{"required", []string{"UPDATE eav_attribute SET is_required = 1 WHERE attribute_id IN (4, 18, 24)"}, "prefix,firstname,lastname,gender", "firstname,lastname,company,street,city,country_id,postcode,telephone"},
		{"not required", []string{"UPDATE eav_attribute SET is_required = 0 WHERE attribute_id IN (5, 31)"}, "prefix,lastname,gender", "firstname,lastname,company,street,city,country_id,postcode"},
		{"of one website", []string{"CREATE TABLE customer_eav_attribute_website (attribute_id SMALLINT, website_id SMALLINT, is_required SMALLINT)", "INSERT INTO customer_eav_attribute_website VALUES (15, 2, 1)"},
			"prefix,lastname,gender", "firstname,lastname,company,street,city,country_id,postcode"},
		{"an attribute of the shop that is in no form, and a hidden one", []string{
			"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type, is_user_defined, is_required) VALUES (200, 1, 'loyalty', 'varchar', 1, 1), (201, 1, 'hidden_one', 'varchar', 1, 1)",
			"INSERT INTO customer_eav_attribute (attribute_id, is_visible) VALUES (200, 1), (201, 0)",
		}, "prefix,lastname,gender", "firstname,lastname,company,street,city,country_id,postcode"},
		{"the attribute in the form", []string{"INSERT INTO customer_form_attribute VALUES ('adminhtml_customer', 200)"}, "prefix,lastname,gender,loyalty", "firstname,lastname,company,street,city,country_id,postcode"},
	} {
		magento1test.Break(t, raw, c.change...)
		customers, addresses := settingNamed(t, d, "customers.required_fields").Value, settingNamed(t, d, "customers.required_address_fields").Value
		if customers != c.customers || addresses != c.addresses {
			t.Errorf("%s: %s; %s\nwant %s; %s", c.name, customers, addresses, c.customers, c.addresses)
		}
	}
}

// settingNamed returns the setting with a name.
func settingNamed(t *testing.T, d *magento1.Database, name string) magento1.Setting {
	t.Helper()
	all, err := d.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no setting %s", name)
	return magento1.Setting{}
}
