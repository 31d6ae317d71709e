package magento1_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// TestTaxSettings reads settings of taxes and currencies of websites and store views, and broken values
// among them.
func TestTaxSettings(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, 'tax/calculation/price_includes_tax', '1'), ('websites', 2, 'tax/calculation/price_includes_tax', '0'),"+
			"('stores', 6, 'tax/calculation/price_includes_tax', '1'), ('websites', 2, 'tax/calculation/based_on', 'origin'), ('websites', 4, 'tax/calculation/based_on', 'moon'),"+
			"('websites', 2, 'currency/options/base', 'EUR'), ('websites', 4, 'currency/options/base', 'JPY'), ('stores', 6, 'shipping/origin/country_id', 'AT')",
		"REPLACE INTO directory_currency_rate (currency_from, currency_to, rate) VALUES ('USD', 'JPY', 0)",
		"UPDATE tax_calculation_rule SET calculate_subtotal = 1 WHERE tax_calculation_rule_id = 3",
		"UPDATE tax_calculation_rate SET rate = -1 WHERE tax_calculation_rate_id = 1")
	websites, stores, taxes := s.read(t, magento1.Websites, adapter.Websites), s.read(t, magento1.Websites, adapter.Stores), s.read(t, magento1.Taxes, adapter.TaxRates)
	for _, c := range []struct {
		name string
		r    adapter.Record
		want values
	}{
		{"built-in values", websites[1].Record, values{"prices_include_tax": 1, "tax_based_on": "shipping", "tax_cross_border": 0, "origin_country": "US", "origin_region_id": 12,
			"origin_postcode": "90034", "tax_default_group": 1, "base_currency": "USD"}},
		{"values of a website", websites[2].Record, values{"prices_include_tax": 0, "tax_based_on": "origin", "base_currency": "EUR", "currency_rate": "0.900000000000"}},
		{"values that are broken", websites[4].Record, values{"tax_based_on": nil, "base_currency": "JPY", "currency_rate": nil}},
		{"a store view with values of its own", stores[6].Record, values{"prices_include_tax": 1, "tax_based_on": "origin", "origin_country": "AT", "tax_country": "DE"}},
		{"a rule on the price alone", taxes[4].Record, values{"calculate_subtotal": 1}},
		{"a rate below zero", taxes[3].Record, values{"calculate_subtotal": 0, "rate": "0.0000"}},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, c.r) })
	}
	if v := stores[3].Record.Get("prices_include_tax"); v.Kind() != adapter.Absent {
		t.Errorf("a store view without values of its own has %v", v)
	}
	s.mustHaveSkipped(t,
		magento1.Skipped{Part: magento1.Websites, Table: "core_config_data", Key: "website 4, tax/calculation/based_on", Reason: magento1.ReasonTaxBasedOn},
		magento1.Skipped{Part: magento1.Websites, Table: "directory_currency_rate", Key: "USD to JPY", Reason: magento1.ReasonRate},
		magento1.Skipped{Part: magento1.Taxes, Table: "tax_calculation_rate", Key: `"US-CA-*-Rate 1"`, Reason: magento1.ReasonNegative})
}
