package resource

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestTaxAddresses checks at which addresses a rate applies.
func TestTaxAddresses(t *testing.T) {
	california := taxRate{country: "US", region: "CA", regionID: 12}
	us := func(postcode string) taxRate { return taxRate{country: "US", postcode: postcode} }
	between := func(from, to int64) taxRate {
		return taxRate{country: "US", postcode: fmt.Sprintf("%d-%d", from, to), isRange: true, from: from, to: to}
	}
	at := func(postcode string) TaxAddress { return TaxAddress{Country: "US", Postcode: postcode} }
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
		{"whole country", us(""), TaxAddress{Country: "US", Region: "TEXAS", RegionID: 57}, true},
		{"region missing from the directory", taxRate{country: "US", region: "XX"}, TaxAddress{Country: "US"}, false},
		{"the same region missing from the directory", taxRate{country: "US", region: "XX"}, TaxAddress{Country: "US", Region: "XX"}, true},
		{"any postcode", us("*"), at("90210"), true},
		{"one postcode", us("90210"), at("90210"), true},
		{"another postcode", us("90210"), at("902101"), false},
		{"an unknown postcode", us("90210"), at(""), false},
		{"any postcode for an unknown one", us("*"), at(""), true},
		{"beginning of a postcode", us("90*"), at("90210"), true},
		{"the postcode with an asterisk", us("90210*"), at("90210"), true},
		{"another beginning", us("91*"), at("90210"), false},
		{"an asterisk in the middle", us("9*0"), at("90210"), false},
		{"every rate for an asterisk", us("90210"), at("*"), true},
		{"no range for an asterisk", between(0, 99999), at("*"), false},
		{"first of a range", between(73300, 73399), at("73300"), true},
		{"last of a range", between(73300, 73399), at("73399"), true},
		{"behind a range", between(73300, 73399), at("73400"), false},
		{"before a range", between(73300, 73399), at("73299"), false},
		{"no number in a range", between(0, 73399), at("N1"), false},
		{"no postcode in a range", between(0, 73399), at(""), false},
		{"postcode in another region", taxRate{country: "US", regionID: 12, postcode: "90210"}, TaxAddress{Country: "US", RegionID: 57, Postcode: "90210"}, false},
		{"four digits behind a hyphen", between(14200, 14299), at("14201-1234"), true},
		{"the number in front is not the postcode", us("14201"), at("14201-1234"), false},
		{"a beginning before a hyphen", us("142*"), at("14201-1234"), true},
		{"ten characters count", us("ABCDEFGHIJ*"), at("ABCDEFGHIJKL"), true},
		{"eleven characters do not", us("ABCDEFGHIJK*"), at("ABCDEFGHIJKL"), false},
		{"a range as a postcode", us("10001-10499"), at("10001-10499"), true},
		{"no beginning of a range", us("100*"), at("10001-10499"), false},
		{"a range within a range", between(10100, 10200), at("10001-10499"), true},
		{"a range beyond a range", between(10100, 10500), at("10001-10499"), false},
		{"a range from before a range", between(10000, 10200), at("10001-10499"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.rate.class, c.rate.percent = 2, 5
			rates := newTaxRates([]taxRate{c.rate}, map[regionName]int64{{"US", "CA"}: 12, {"US", "CALIFORNIA"}: 12})
			if got := rates.At(c.at, 3).On(2) == 5; got != c.want {
				t.Errorf("applies: %t, want %t", got, c.want)
			}
		})
	}
}

// TestTaxes checks how the rates of rules add up.
func TestTaxes(t *testing.T) {
	austin := TaxAddress{Country: "US", Region: "TEXAS", RegionID: 57, Postcode: "73301"}
	us := func(rule, priority int64, percent float64) taxRate {
		return taxRate{class: 2, country: "US", rule: rule, priority: priority, percent: percent}
	}
	texas := us(1, 0, 2)
	texas.regionID = 57
	place := func(postcode string, percent float64) taxRate {
		r := us(1, 0, percent)
		r.postcode = postcode
		return r
	}
	none := place("", 9)
	none.noPostcode = true
	inRange := place("73300-73399", 3)
	inRange.isRange, inRange.from, inRange.to = true, 73300, 73399
	exempt, retail, onPrice := us(1, 0, 9), us(1, 0, 8), us(2, 1, 10)
	exempt.customerClass, retail.customerClass, onPrice.addsToSubtotal = 6, 3, true
	for _, c := range []struct {
		name  string
		rates []taxRate
		want  string // of 100.0000, with tax, in cents
	}{
		{"none", nil, "10000"},
		{"one", []taxRate{us(1, 0, 8.25)}, "10825"},
		{"none of the country", []taxRate{{class: 2, country: "DE", percent: 19}}, "10000"},
		{"none of the product's class", []taxRate{{class: 5, country: "US", percent: 19}}, "10000"},
		{"of the customer's class", []taxRate{exempt, retail}, "10800"},
		{"region before country", []taxRate{us(1, 0, 3), texas}, "10200"},
		{"region before postcode", []taxRate{place("73301", 3), texas}, "10200"},
		{"range before its beginning", []taxRate{inRange, place("733*", 4)}, "10300"},
		{"longer beginning before a shorter one", []taxRate{place("733*", 6), place("7330*", 5), place("7*", 4)}, "10500"},
		{"postcode before its beginning", []taxRate{place("7330*", 9), place("73301", 7)}, "10700"},
		{"a postcode before any", []taxRate{place("*", 9), place("7*", 7), place("", 8)}, "10700"},
		{"an empty postcode before none", []taxRate{none, place("", 7)}, "10700"},
		{"of two at one place the higher", []taxRate{us(1, 0, 1), us(1, 0, 2)}, "10200"},
		{"without rules the first priority", []taxRate{us(0, 1, 2), us(0, 0, 1)}, "10100"},
		{"rules of equal priority are added up", []taxRate{us(1, 0, 5), us(2, 0, 6)}, "11100"},
		{"a higher priority on top of a lower", []taxRate{us(2, 1, 10), us(1, 0, 5)}, "11550"},
		{"a higher priority on the price alone", []taxRate{onPrice, us(1, 0, 5)}, "11500"},
		{"the last rule of a priority decides", []taxRate{onPrice, us(1, 0, 5), us(3, 1, 1)}, "11655"},
		{"more digits than a rate has", []taxRate{us(1, 0, 5), us(2, 1, 9.975)}, "11547"},
		{"three priorities", []taxRate{us(1, 0, 10), us(2, 1, 10), us(3, 2, 10)}, "13310"},
	} {
		t.Run(c.name, func(t *testing.T) {
			taxes := Taxes{Buyer: newTaxRates(c.rates, map[regionName]int64{}).At(austin, 3)}
			if got := fmt.Sprint(taxes.WithTax(100, 2)); got != c.want {
				t.Errorf("%s cents, want %s", got, c.want)
			}
		})
	}
	star := TaxAddress{Country: "US", RegionID: 57, Postcode: "*"}
	one := newTaxRates([]taxRate{place("73301", 3), place("94105", 4), place("*", 5), inRange}, map[regionName]int64{})
	if got := one.At(star, 3).On(2); got != 4 {
		t.Errorf("with an asterisk %v %%, want that of the greatest postcode, 4", got)
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
		{name: "empty", postcode: ""},
		{name: "none", want: taxRate{noPostcode: true}},
		{name: "any", postcode: "*", want: taxRate{postcode: "*"}},
		{name: "one", postcode: " 90210 ", want: taxRate{postcode: "90210"}},
		{name: "any case", postcode: "sw1a*", want: taxRate{postcode: "SW1A*"}},
		{name: "range", postcode: "73300-73399", from: adapter.IntegerValue(73300), to: adapter.IntegerValue(73399), want: taxRate{postcode: "73300-73399", isRange: true, from: 73300, to: 73399}},
		{name: "range of one", from: adapter.IntegerValue(73300), to: adapter.NullValue(), want: taxRate{isRange: true, from: 73300, to: 73300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := adapter.NewRecord(schema)
			r.Set("region", adapter.TextValue("*"))
			r.Set("postcode", adapter.TextValue(c.postcode))
			if c.want.noPostcode {
				r.Set("postcode", adapter.NullValue())
			}
			r.Set("zip_from", c.from)
			r.Set("zip_to", c.to)
			if got := newTaxRate(r); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestPricesWithTax is the table of prices that include tax, as PHP 8.2 computes them, and as PHP 8.4
// does where that differs.
func TestPricesWithTax(t *testing.T) {
	for _, c := range []struct {
		name            string
		price           Money
		included, buyer float64
		want, binary    string // without and with tax, in cents
	}{
		{"the same rate", 33.33, 20, 20, "2778 3333", ""},
		{"another rate, on the rounded price", 33.33, 20, 19, "2778 3306", ""},
		{"no rate", 33.33, 20, 0, "2778 2778", ""},
		{"a rate where prices include none", 33.33, 0, 20, "3333 4000", ""},
		{"no rate anywhere", 10.005, 0, 0, "1001 1001", ""},
		{"half a cent without tax", 0.03, 20, 20, "3 3", ""},
		{"half a cent that is below it in binary", 2.01, 20, 20, "168 201", "167 201"},
		{"7.7 percent", 95, 7.7, 7.7, "8821 9500", ""},
		{"a price of three places", 10.005, 19, 19, "841 1001", ""},
		{"nothing", 0, 20, 19, "0 0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for rounding, want := range map[Rounding]string{RoundDecimal: c.want, RoundBinary: c.binary} {
				if want == "" {
					want = c.want
				}
				taxes := Taxes{Buyer: ClassRates{{2, c.buyer}}, Included: ClassRates{{2, c.included}}, PricesInclude: true, Rounding: rounding}
				if got := fmt.Sprint(taxes.WithoutTax(c.price, 2), taxes.WithTax(c.price, 2)); got != want {
					t.Errorf("rounding %d: %s, want %s", rounding, got, want)
				}
			}
		})
	}
}

// TestRounding compares amounts with what round() gives in PHP 8.2 and in PHP 8.4.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		value           float64
		decimal, binary uint64
	}{
		{0, 0, 0}, {0.0049, 0, 0}, {0.005, 1, 1}, {0.285, 29, 29}, {1.005, 101, 101}, {1.955, 196, 196}, {5.055, 506, 506},
		{7.3149999999999995, 732, 731}, {102.315, 10232, 10232}, {1.4549999999999998, 146, 145}, {1.4549999999, 145, 145},
		{9999999.995, 1000000000, 1000000000}, {119.99, 11999, 11999}, {0.015, 2, 2}, {1234567.125, 123456713, 123456713},
	} {
		if decimal, binary := RoundDecimal.Cents(Money(c.value)), RoundBinary.Cents(Money(c.value)); decimal != c.decimal || binary != c.binary {
			t.Errorf("%v: %d and %d cents, want %d and %d", c.value, decimal, binary, c.decimal, c.binary)
		}
	}
}

// TestPriceProperties checks random prices: none is lower with tax than without, and one that includes
// the buyer's own rate stays as it is.
func TestPriceProperties(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rates := []float64{0, 2.5, 5.5, 7, 7.7, 8.25, 8.875, 10, 19, 20, 25}
	for range 100_000 {
		price := Money(random.Uint64N(1e7)) / moneyUnit
		buyer, included := rates[random.IntN(len(rates))], rates[random.IntN(len(rates))]
		taxes := Taxes{Buyer: ClassRates{{2, buyer}}, Included: ClassRates{{2, included}}, PricesInclude: random.IntN(2) == 0, Rounding: Rounding(random.IntN(2))}
		without, with := taxes.WithoutTax(price, 2), taxes.WithTax(price, 2)
		if with < without {
			t.Fatalf("%v with %+v: %d cents with tax, %d without", price, taxes, with, without)
		}
		if taxes.PricesInclude && buyer == included && with != taxes.Rounding.Cents(price) {
			t.Fatalf("%v with %+v: %d cents, want the price itself", price, taxes, with)
		}
	}
}
