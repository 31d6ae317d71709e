package resource

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"testing"
)

// TestTaxAddresses checks at which addresses a rate applies.
func TestTaxAddresses(t *testing.T) {
	california := taxRate{country: "US", region: "CA", regionName: "CALIFORNIA", regionID: 12}
	for _, c := range []struct {
		name string
		rate taxRate
		at   TaxAddress
		want bool
	}{
		{"by code", california, TaxAddress{Country: "US", Region: "CA"}, true},
		{"by name", california, TaxAddress{Country: "US", Region: "CALIFORNIA"}, true},
		{"by id, whatever its name", california, TaxAddress{Country: "US", Region: "KALIFORNIEN", RegionID: 12}, true},
		{"another region", california, TaxAddress{Country: "US", Region: "CALIFORNIA", RegionID: 57}, false},
		{"another country", california, TaxAddress{Country: "MX", Region: "CA"}, false},
		{"no region", california, TaxAddress{Country: "US"}, false},
		{"whole country", taxRate{country: "US"}, TaxAddress{Country: "US", Region: "TEXAS", RegionID: 57}, true},
		{"one postcode", taxRate{country: "US", postcode: "90210"}, TaxAddress{Country: "US", Postcode: "90210"}, true},
		{"another postcode", taxRate{country: "US", postcode: "90210"}, TaxAddress{Country: "US", Postcode: "902101"}, false},
		{"an unknown postcode", taxRate{country: "US", postcode: "90210"}, TaxAddress{Country: "US"}, false},
		{"beginning of a postcode", taxRate{country: "US", postcode: "90", isPrefix: true}, TaxAddress{Country: "US", Postcode: "90210"}, true},
		{"another beginning", taxRate{country: "US", postcode: "91", isPrefix: true}, TaxAddress{Country: "US", Postcode: "90210"}, false},
		{"first of a range", taxRate{country: "US", isRange: true, from: 73300, to: 73399}, TaxAddress{Country: "US", Postcode: "73300"}, true},
		{"last of a range", taxRate{country: "US", isRange: true, from: 73300, to: 73399}, TaxAddress{Country: "US", Postcode: "73399"}, true},
		{"behind a range", taxRate{country: "US", isRange: true, from: 73300, to: 73399}, TaxAddress{Country: "US", Postcode: "73400"}, false},
		{"no number in a range", taxRate{country: "US", isRange: true, from: 0, to: 73399}, TaxAddress{Country: "US", Postcode: "N1"}, false},
		{"no postcode in a range", taxRate{country: "US", isRange: true, from: 0, to: 73399}, TaxAddress{Country: "US"}, false},
		{"postcode in another region", taxRate{country: "US", regionID: 12, postcode: "90210"}, TaxAddress{Country: "US", RegionID: 57, Postcode: "90210"}, false},
		{"region missing from the directory", taxRate{country: "US", region: "XX"}, TaxAddress{Country: "US"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.rate.appliesTo(c.at); got != c.want {
				t.Errorf("applies: %t, want %t", got, c.want)
			}
		})
	}
}

func TestTaxes(t *testing.T) {
	austin := TaxAddress{Country: "US", Region: "TEXAS", RegionID: 57, Postcode: "73301"}
	us := func(rule, priority int64, percent Money) taxRate {
		return taxRate{class: 2, country: "US", rule: rule, priority: priority, percent: percent}
	}
	texas := us(1, 0, 2_0000)
	texas.regionID = 57
	place := func(postcode string, isPrefix bool, percent Money) taxRate {
		r := us(1, 0, percent)
		r.postcode, r.isPrefix = postcode, isPrefix
		return r
	}
	inRange := us(1, 0, 3_0000)
	inRange.isRange, inRange.from, inRange.to = true, 73300, 73399
	exempt := us(1, 0, 9_0000)
	exempt.customerClass = 6
	retail := us(1, 0, 8_0000)
	retail.customerClass = 3
	for _, c := range []struct {
		name  string
		rates []taxRate
		want  string // of 100.0000, with tax, in cents
	}{
		{"none", nil, "10000"},
		{"one", []taxRate{us(1, 0, 8_2500)}, "10825"},
		{"none of the country", []taxRate{{class: 2, country: "DE", percent: 19_0000}}, "10000"},
		{"none of the product's class", []taxRate{{class: 5, country: "US", percent: 19_0000}}, "10000"},
		{"of the customer's class", []taxRate{exempt, retail}, "10800"},
		{"region before country", []taxRate{us(1, 0, 1_0000), texas}, "10200"},
		{"range before region", []taxRate{us(1, 0, 1_0000), texas, inRange}, "10300"},
		{"beginning before range", []taxRate{inRange, place("733", true, 4_0000), texas}, "10400"},
		{"longer beginning before a shorter one", []taxRate{place("733", true, 4_0000), place("7330", true, 5_0000), place("7", true, 6_0000)}, "10500"},
		{"postcode before its beginning", []taxRate{place("7330", true, 5_0000), place("73301", false, 7_0000)}, "10700"},
		{"any postcode is not specific", []taxRate{texas, place("", true, 7_0000)}, "10200"},
		{"of two as specific the first", []taxRate{us(1, 0, 1_0000), us(1, 0, 2_0000)}, "10100"},
		{"without rules all of one", []taxRate{us(0, 0, 1_0000), us(0, 1, 2_0000)}, "10100"},
		{"rules of equal priority are added up", []taxRate{us(1, 0, 5_0000), us(2, 0, 6_0000)}, "11100"},
		{"a higher priority on top of a lower", []taxRate{us(2, 1, 10_0000), us(1, 0, 5_0000)}, "11550"},
		{"more digits than a rate has", []taxRate{us(1, 0, 5_0000), us(2, 1, 9_9750)}, "11547"},
		{"three priorities", []taxRate{us(1, 0, 10_0000), us(2, 1, 10_0000), us(3, 2, 10_0000)}, "13310"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fmt.Sprint(ParseMoney(adapter.TextValue("100.0000")).WithTax(TaxesAt(c.rates, austin, 3).On(2))); got != c.want {
				t.Errorf("%s cents, want %s", got, c.want)
			}
		})
	}
}

// TestTaxRecords checks the rates that records are read as.
func TestTaxRecords(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.TaxRates)
	for _, c := range []struct {
		name     string
		postcode string
		from, to adapter.Value
		want     taxRate
	}{
		{name: "none", postcode: ""},
		{name: "any", postcode: "*", want: taxRate{isPrefix: true}},
		{name: "one", postcode: " 90210 ", want: taxRate{postcode: "90210"}},
		{name: "any case", postcode: "sw1a*", want: taxRate{postcode: "SW1A", isPrefix: true}},
		{name: "range", postcode: "73300-73399", from: adapter.IntegerValue(73300), to: adapter.IntegerValue(73399), want: taxRate{isRange: true, from: 73300, to: 73399}},
		{name: "range of one", from: adapter.IntegerValue(73300), to: adapter.NullValue(), want: taxRate{isRange: true, from: 73300, to: 73300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := adapter.NewRecord(schema)
			r.Set("postcode", adapter.TextValue(c.postcode))
			r.Set("zip_from", c.from)
			r.Set("zip_to", c.to)
			var got taxRate
			if got.setPostcode(r); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
