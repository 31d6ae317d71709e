package migration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestCustomerSettingsDefault compares the defaults of the settings with the contract's own rules, which
// they repeat.
func TestCustomerSettingsDefault(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.Sources{Sections: program.New().Sections()})
	if err != nil {
		t.Fatal(err)
	}
	want := contract.DefaultForms()
	for name, pair := range map[string][2][]string{
		"customers.required_fields":            {cfg.Customers.RequiredFields, want.RequiredOfCustomers},
		"customers.required_address_fields":    {cfg.Customers.RequiredInAddress, want.RequiredOfAddresses},
		"customers.countries_without_postcode": {cfg.Customers.WithoutPostcode, want.CountriesWithoutPostcodes},
		"customers.countries":                  {cfg.Customers.Countries, []string{}},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %v, the contract has %v", name, pair[0], pair[1])
		}
	}
	if !cfg.Customers.Confirmation || cfg.Customers.SharedAccounts || cfg.Store.SingleStoreMode {
		t.Errorf("%+v, single-store mode %t", cfg.Customers, cfg.Store.SingleStoreMode)
	}
}

// TestCustomerSettingsFaults loads settings with values that are wrong.
func TestCustomerSettingsFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"customers:\n  required_fields: [colour]\n":                `customers.required_fields: the field "colour" of customers cannot be required`,
		"customers:\n  required_fields: firstname,city\n":          `customers.required_fields: the field "city" of customers cannot be required`,
		"customers:\n  required_address_fields: [loyalty]\n":       `customers.required_address_fields: the field "loyalty" of customer_addresses cannot be required`,
		"customers:\n  required_fields: First Name\n":              "must be names of fields",
		"customers:\n  countries: us,ca\n":                         "must be ISO 3166 codes",
		"customers:\n  countries_without_postcode: [GBR]\n":        "must be ISO 3166 codes",
		"customers:\n  confirmation: perhaps\n":                    "customers.confirmation",
		"customers:\n  countries: all\n":                           "must be ISO 3166 codes",
		"customers:\n  required_fields: \"\"\n  countries: \"\"\n": "",
		"attributes:\n  - {resource: customers, name: loyalty, kind: text, roles: [admin]}\ncustomers:\n  required_fields: [loyalty]\n": "",
	} {
		_, stderr, err := apptest.Run(t, "config", "--config", apptest.NewFile(t, "portico.yaml", text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(stderr+err.Error(), want)) {
			t.Errorf("%q: %v %s, want %q", text, err, stderr, want)
		}
	}
}

// TestImportCustomerSettings prints the settings of customers of a legacy store, in which every field
// that the contract knows is required, and loads them.
func TestImportCustomerSettings(t *testing.T) {
	t.Parallel()
	dsn, raw := magento1test.NewShop(t, magento1test.Rich, "")
	magento1test.Break(t, raw, "UPDATE eav_attribute SET is_required = 1 WHERE entity_type_id IN (1, 2)",
		"INSERT INTO eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type, is_user_defined, is_required) VALUES (200, 1, 'loyalty', 'varchar', 1, 1)",
		"INSERT INTO customer_eav_attribute (attribute_id, is_visible) VALUES (200, 1)",
		"REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, 'customer/account_share/scope', '0'), ('default', 0, 'customer/create_account/confirm', '0')")
	printed := apptest.MustRun(t, "import", "config", "--from", dsn)
	cfg, err := config.Load(config.Sources{Sections: program.New().Sections(), File: apptest.NewFile(t, "portico.yaml", printed), Attribute: program.CheckAttribute, Fields: program.CheckFieldList})
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	fields, err := program.Fields(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []*contract.FieldTable{fields.Customers, fields.CustomerAddresses} {
		for _, r := range table.Rules.Rules {
			if isText := r.Check != contract.Flag && r.Check != contract.DefaultFlag && r.Check != contract.Ignored && r.Check != contract.Region; r.Required != isText {
				t.Errorf("%s is required: %t", r.Field, r.Required)
			}
		}
	}
	if !fields.Customers.Rules.Requires("loyalty") || cfg.Customers.Confirmation || !cfg.Customers.SharedAccounts || !cfg.Store.SingleStoreMode {
		t.Errorf("%s", printed)
	}
	if strings.Contains(printed, "one account for all websites") {
		t.Errorf("it warns of a setting that Portico has:\n%s", printed)
	}
}
