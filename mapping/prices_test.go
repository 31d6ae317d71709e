package mapping

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

func TestMoney(t *testing.T) {
	for _, c := range []struct {
		name, price, percent, with, without string
	}{
		{"as recorded", "39.9900", "8.2500", "43.29", "39.99"},
		{"half a cent of the unrounded price is rounded up", "19.9950", "8.2500", "21.64", "20"},
		{"half a cent alone", "0.0050", "8.2500", "0.01", "0.01"},
		{"just below half a cent", "0.0049", "0.0000", "0", "0"},
		{"third of a hundred", "33.3350", "8.2500", "36.09", "33.34"},
		{"one place", "119.5000", "0.0000", "119.5", "119.5"},
		{"zero", "0.0000", "8.2500", "0", "0"},
		{"tenths of a cent", "5.0000", "1.0000", "5.05", "5"},
		{"maximum amount and rate", "99999999.9999", "99999999.9999", "100000099999800", "100000000"},
		{"below zero counts as zero", "-1.0000", "8.2500", "0", "0"},
		{"not a number", "", "8.2500", "0", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			price := parseMoney(adapter.TextValue(c.price))
			with, without := centsNode(price.withPercent(parseMoney(adapter.TextValue(c.percent)))), centsNode(price.withPercent(0))
			if with.Text != c.with || without.Text != c.without {
				t.Errorf("%s with %s %%: %s and %s, want %s and %s", c.price, c.percent, with.Text, without.Text, c.with, c.without)
			}
		})
	}
}

// FuzzMoney checks that computed prices never fail, decrease or lose their form.
func FuzzMoney(f *testing.F) {
	f.Add("39.9900", "8.2500")
	f.Add("99999999.9999", "99999999.9999")
	f.Add("-0.0001", "x")
	f.Add("922337203685477.5807", "0.0001")
	f.Fuzz(func(t *testing.T, price, percent string) {
		m, p := parseMoney(adapter.TextValue(price)), parseMoney(adapter.TextValue(percent))
		if m.withPercent(p) < m.withPercent(0) {
			t.Errorf("%s with %s %% is less than without", price, percent)
		}
		if n := centsNode(m.withPercent(p)); n.Kind != codec.Number || n.Text == "" {
			t.Errorf("%s with %s %%: %q", price, percent, n.Text)
		}
	})
}

// product returns a record with the given texts and integers.
func product(values map[string]string) adapter.Record {
	schema := adapter.NewSchemas().Of(adapter.Products)
	r := adapter.NewRecord(schema)
	for name, text := range values {
		r.Set(name, adapter.TextValue(text))
	}
	return r
}

func prices(attribute string, rows ...[3]string) adapter.Value {
	schema := adapter.NewSchemas().Of(adapter.Products)
	at, _ := schema.Index(attribute)
	var list []adapter.Record
	for i, row := range rows {
		r := adapter.NewRecord(schema.Attributes[at].Nested)
		r.Set("value_id", adapter.IntegerValue(int64(i+1)))
		group := map[string]int64{"guest": 0, "general": 1, "all": allGroupsID}[row[0]]
		r.Set("cust_group", adapter.IntegerValue(group))
		r.Set("price", adapter.TextValue(row[1]))
		if row[2] != "" {
			r.Set("price_qty", adapter.TextValue(row[2]))
		}
		list = append(list, r)
	}
	return adapter.RecordsValue(list)
}

func TestSpecialPriceWindow(t *testing.T) {
	for _, c := range []struct {
		name, from, to, now string
		single, list        bool
	}{
		{"no bounds", "", "", "2013-01-01 12:00:00", true, true},
		{"begins this second", "2013-01-01 12:00:00", "", "2013-01-01 12:00:00", true, true},
		{"begins later today", "2013-01-01 12:00:01", "", "2013-01-01 12:00:00", false, true},
		{"begins tomorrow", "2013-01-02 00:00:00", "", "2013-01-01 23:59:59", false, false},
		{"last second of the last day", "", "2013-01-01 00:00:00", "2013-01-01 23:59:59", true, true},
		{"24 hours after the end", "", "2013-01-01 00:00:00", "2013-01-02 00:00:00", true, false},
		{"a second later", "", "2013-01-01 00:00:00", "2013-01-02 00:00:01", false, false},
		{"ends in the evening, next morning", "", "2013-01-01 20:00:00", "2013-01-02 08:00:00", true, false},
		{"ends in the evening, next evening", "", "2013-01-01 20:00:00", "2013-01-02 20:00:01", false, false},
		{"over the new year", "", "2012-12-31 20:00:00", "2013-01-01 19:00:00", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := product(map[string]string{"special_from_date": c.from, "special_to_date": c.to})
			b := buyer{now: c.now}
			if single, list := b.specialPriceApplies(p, false), b.specialPriceApplies(p, true); single != c.single || list != c.list {
				t.Errorf("single %t, list %t, want %t, %t", single, list, c.single, c.list)
			}
		})
	}
}

func TestFinalPrice(t *testing.T) {
	open, closed := "2012-01-01 00:00:00", "2031-01-01 00:00:00"
	for _, c := range []struct {
		name, price, special, from string
		groups                     [][3]string
		want                       string
	}{
		{"price alone", "100.0000", "", "", nil, "100"},
		{"special price", "100.0000", "30.0000", open, nil, "30"},
		{"special price not yet", "100.0000", "30.0000", closed, nil, "100"},
		{"special price above the price", "100.0000", "120.0000", open, nil, "100"},
		{"special price of zero", "100.0000", "0.0000", open, nil, "0"},
		{"group price", "100.0000", "", "", [][3]string{{"general", "60.0000", ""}}, "60"},
		{"group price of zero", "100.0000", "", "", [][3]string{{"general", "0.0000", ""}}, "0"},
		{"group price above the price", "100.0000", "", "", [][3]string{{"general", "160.0000", ""}}, "100"},
		{"price of another group", "100.0000", "", "", [][3]string{{"guest", "60.0000", ""}}, "100"},
		{"the lowest of all", "100.0000", "50.0000", open, [][3]string{{"general", "60.0000", ""}}, "50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := product(map[string]string{"price": c.price, "special_from_date": c.from})
			if c.special != "" {
				p.Set("special_price", adapter.TextValue(c.special))
			}
			p.Set("group_price", prices("group_price", c.groups...))
			// A tier price never counts, even for a quantity of 1.
			p.Set("tier_price", prices("tier_price", [3]string{"all", "1.0000", "1.0000"}))
			b := buyer{group: 1, now: "2013-01-01 00:00:00"}
			if got := centsNode(b.finalPrice(p, false).withPercent(0)).Text; got != c.want {
				t.Errorf("final price %s, want %s", got, c.want)
			}
		})
	}
}

func TestTierPrices(t *testing.T) {
	p := product(nil)
	p.Set("tax_class_id", adapter.IntegerValue(2))
	p.Set("tier_price", prices("tier_price",
		[3]string{"general", "5.0000", "9.0000"}, [3]string{"guest", "6.0000", "2.0000"}, [3]string{"all", "7.0000", "2.0000"},
		[3]string{"all", "200.0000", "10.0000"}, [3]string{"all", "3.0000", "10.5000"}))
	b := buyer{rates: []taxRate{{class: 2, percent: 8_2500}}}
	got := string(codec.Append(nil, contract.JSON, "", ptr(b.tierPrices(p)), false))
	want := `[{"qty":"2.0000","price_with_tax":6.5,"price_without_tax":6},{"qty":"10.0000","price_with_tax":216.5,"price_without_tax":200},{"qty":"10.5000","price_with_tax":3.25,"price_without_tax":3}]`
	if got != want {
		t.Errorf("tiers\n%s, want\n%s", got, want)
	}
}

func ptr[T any](v T) *T { return &v }

func TestTaxAddresses(t *testing.T) {
	california := taxRate{country: "US", region: "CA", regionName: "CALIFORNIA", regionID: 12}
	for _, c := range []struct {
		name string
		rate taxRate
		at   taxAddress
		want bool
	}{
		{"by code", california, taxAddress{country: "US", region: "CA"}, true},
		{"by name", california, taxAddress{country: "US", region: "CALIFORNIA"}, true},
		{"by id, whatever its name", california, taxAddress{country: "US", region: "KALIFORNIEN", regionID: 12}, true},
		{"another region", california, taxAddress{country: "US", region: "CALIFORNIA", regionID: 57}, false},
		{"another country", california, taxAddress{country: "MX", region: "CA"}, false},
		{"no region", california, taxAddress{country: "US"}, false},
		{"whole country", taxRate{country: "US"}, taxAddress{country: "US", region: "TEXAS", regionID: 57}, true},
		{"region missing from the directory", taxRate{country: "US", region: "XX"}, taxAddress{country: "US"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.rate.appliesTo(c.at); got != c.want {
				t.Errorf("applies: %t, want %t", got, c.want)
			}
		})
	}
}

func TestMatchesLoosely(t *testing.T) {
	s := shopConfig{views: []storeView{{id: 1, code: "default"}, {id: 2, code: "french"}}}
	for name, want := range map[string]bool{
		"02": true, "2.0": true, " 2": true, "00": true, "FRENCH": true, "frénch ": true, "Admin": true, "+1": true,
		"99": false, "2abc": false, "-1": false, "nope": false, "2 x": false, "1e999": false,
	} {
		if got := s.matchesLoosely(name); got != want {
			t.Errorf("matchesLoosely(%q) = %t, want %t", name, got, want)
		}
	}
}
