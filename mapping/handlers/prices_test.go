package handlers

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestMoney checks prices that do not include tax.
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
		{"maximum amount", "99999999.9999", "19.0000", "119000000", "100000000"},
		{"below zero counts as zero", "-1.0000", "8.2500", "0", "0"},
		{"not a number", "", "8.2500", "0", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			price := resource.ParseMoney(adapter.TextValue(c.price))
			taxes := taxed(float64(resource.ParseMoney(adapter.TextValue(c.percent))))
			with, without := centsNode(taxes.WithTax(price, 2)), centsNode(taxes.WithoutTax(price, 2))
			if with.Text != c.with || without.Text != c.without {
				t.Errorf("%s with %s %%: %s and %s, want %s and %s", c.price, c.percent, with.Text, without.Text, c.with, c.without)
			}
		})
	}
}

// taxed returns taxes of some percent on products of class 2.
func taxed(percent float64) *resource.Taxes {
	return &resource.Taxes{Buyer: resource.ClassRates{{Class: 2, Percent: percent}}}
}

// FuzzMoney checks that computed prices never fail, decrease or lose their form.
func FuzzMoney(f *testing.F) {
	f.Add("39.9900", "8.2500")
	f.Add("99999999.9999", "99999999.9999")
	f.Add("-0.0001", "x")
	f.Add("922337203685477.5807", "0.0001")
	f.Fuzz(func(t *testing.T, price, percent string) {
		m, p := resource.ParseMoney(adapter.TextValue(price)), resource.ParseMoney(adapter.TextValue(percent))
		taxes := taxed(float64(p))
		if taxes.WithTax(m, 2) < taxes.WithoutTax(m, 2) {
			t.Errorf("%s with %s %% is less than without", price, percent)
		}
		if n := centsNode(taxes.WithTax(m, 2)); n.Kind != codec.Number || n.Text == "" {
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
		group := map[string]int64{"guest": 0, "general": 1, "all": adapter.AllGroupsID}[row[0]]
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
			if got := centsNode(cents(b.FinalPrice(p, contract.PricedItself, false))).Text; got != c.want {
				t.Errorf("final price %s, want %s", got, c.want)
			}
		})
	}
}

func TestPricesByType(t *testing.T) {
	const open = "2012-01-01 00:00:00"
	for _, c := range []struct {
		name, typeID, priceType string
		price, special, group   string
		single, list            string // regular and final price
	}{
		{"virtual", "virtual", "", "20.0000", "15.0000", "18.0000", "20 15", "20 15"},
		{"configurable", "configurable", "", "20.0000", "15.0000", "", "20 15", "20 15"},
		{"unknown", "giftcard", "", "20.0000", "", "18.0000", "20 18", "20 18"},
		{"grouped", "grouped", "", "20.0000", "15.0000", "18.0000", "0 0", "0 0"},
		{"grouped without a price", "grouped", "", "", "", "", "0 0", "0 0"},
		{"bundle priced by its parts", "bundle", "0", "20.0000", "75.0000", "", "0 0", "0 0"},
		{"bundle that does not say how it is priced", "bundle", "", "20.0000", "75.0000", "", "0 0", "0 0"},
		{"bundle with a price of its own", "bundle", "1", "20.0000", "", "", "20 20", "0 20"},
		{"special price of a bundle is a percentage", "bundle", "1", "20.0000", "75.0000", "", "20 15", "0 15"},
		{"a third of a bundle", "bundle", "1", "99.9900", "33.3333", "", "99.99 33.33", "0 33.33"},
		{"more than the price of a bundle", "bundle", "1", "20.0000", "120.0000", "", "20 20", "0 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := product(map[string]string{"type_id": c.typeID, "special_from_date": open})
			for name, text := range map[string]string{"price": c.price, "special_price": c.special} {
				if text != "" {
					p.Set(name, adapter.TextValue(text))
				}
			}
			if c.priceType != "" {
				p.Set("price_type", adapter.IntegerValue(map[string]int64{"0": 0, "1": 1}[c.priceType]))
			}
			if c.group != "" {
				p.Set("group_price", prices("group_price", [3]string{"general", c.group, ""}))
			}
			types := map[string]contract.Pricing{}
			for _, of := range contract.ProductTypes() {
				types[of.Code] = of.Pricing
			}
			b := buyer{group: 1, now: "2013-01-01 00:00:00"}
			for _, view := range []struct {
				name   string
				inList bool
				want   string
			}{{"single", false, c.single}, {"list", true, c.list}} {
				regular, final := regularPrice(p, types[c.typeID], view.inList), b.FinalPrice(p, types[c.typeID], view.inList)
				if got := centsNode(cents(regular)).Text + " " + centsNode(cents(final)).Text; got != view.want {
					t.Errorf("%s: %s, want %s", view.name, got, view.want)
				}
			}
		})
	}
}

func TestPricesOfWebsites(t *testing.T) {
	p := product(map[string]string{"price": "100.0000"})
	group := prices("group_price", [3]string{"general", "60.0000", ""}, [3]string{"all", "80.0000", ""})
	group.Records()[0].Set("website_id", adapter.IntegerValue(2))
	tier := prices("tier_price", [3]string{"all", "50.0000", "2.0000"}, [3]string{"all", "40.0000", "3.0000"})
	tier.Records()[1].Set("website_id", adapter.IntegerValue(2))
	p.Set("group_price", group)
	p.Set("tier_price", tier)
	for _, c := range []struct {
		name         string
		by           buyer
		single, list string
	}{
		{"at the website", buyer{group: 1, PriceSite: resource.PriceSite{WebsiteID: 2}}, "80", "60"},
		{"at another", buyer{group: 1, PriceSite: resource.PriceSite{WebsiteID: 1}}, "80", "80"},
		{"another group", buyer{group: 2, PriceSite: resource.PriceSite{WebsiteID: 2}}, "80", "80"},
		{"a group that is gone", buyer{group: 1, GroupGone: true, PriceSite: resource.PriceSite{WebsiteID: 2}}, "100", "100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			single, list := c.by.FinalPrice(p, contract.PricedItself, false), c.by.FinalPrice(p, contract.PricedItself, true)
			if got := centsNode(cents(single)).Text + " " + centsNode(cents(list)).Text; got != c.single+" "+c.list {
				t.Errorf("single and list: %s, want %s %s", got, c.single, c.list)
			}
			c.by.Taxes = taxed(0)
			if tiers := c.by.TierPrices(p, contract.PricedItself, true); len(tiers.Members) != 1 {
				t.Errorf("%d tiers, want that of all websites", len(tiers.Members))
			}
		})
	}
}

func TestRulePrices(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.Products)
	at, _ := schema.Index("rule_price")
	rule := func(website, group int64, day, price string) adapter.Record {
		r := adapter.NewRecord(schema.Attributes[at].Nested)
		r.Set("website_id", adapter.IntegerValue(website))
		r.Set("cust_group", adapter.IntegerValue(group))
		r.Set("rule_date", adapter.TextValue(day+" 00:00:00"))
		r.Set("price", adapter.TextValue(price))
		return r
	}
	for _, c := range []struct {
		name  string
		rules []adapter.Record
		by    buyer
		want  string
		next  string
	}{
		{"none", nil, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", ""},
		{"today", []adapter.Record{rule(1, 0, "2013-01-01", "11.1100")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "11.11", "2013-01-02 00:00:00"},
		{"until midnight", []adapter.Record{rule(1, 0, "2013-01-01", "11.1100")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 23:59:59"}, "11.11", "2013-01-02 00:00:00"},
		{"tomorrow", []adapter.Record{rule(1, 0, "2013-01-02", "11.1100")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", "2013-01-02 00:00:00"},
		{"one of three days", []adapter.Record{rule(1, 0, "2012-12-31", "1.0000"), rule(1, 0, "2013-01-01", "2.0000"), rule(1, 0, "2013-01-02", "3.0000")},
			buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 00:00:00"}, "2", "2013-01-02 00:00:00"},
		{"another website", []adapter.Record{rule(2, 0, "2013-01-01", "11.1100")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", "2013-01-02 00:00:00"},
		{"another group", []adapter.Record{rule(1, 1, "2013-01-01", "11.1100")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", "2013-01-02 00:00:00"},
		{"a group that is gone", []adapter.Record{rule(1, 1, "2013-01-01", "11.1100")}, buyer{group: 1, GroupGone: true, PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", "2013-01-02 00:00:00"},
		{"above the price", []adapter.Record{rule(1, 0, "2013-01-01", "50.0000")}, buyer{PriceSite: resource.PriceSite{WebsiteID: 1}, now: "2013-01-01 12:00:00"}, "39.99", "2013-01-02 00:00:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := product(map[string]string{"price": "39.9900"})
			p.Set("rule_price", adapter.RecordsValue(c.rules))
			for _, inList := range []bool{false, true} {
				if got := centsNode(cents(c.by.FinalPrice(p, contract.PricedItself, inList))).Text; got != c.want {
					t.Errorf("in a list %t: %s, want %s", inList, got, c.want)
				}
			}
			if c.by.At != c.next {
				t.Errorf("it changes at %q, want %q", c.by.At, c.next)
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
	b := buyer{Taxes: taxed(8.25)}
	got := string(codec.Append(nil, contract.JSON, "", new(b.TierPrices(p, contract.PricedItself, true)), false))
	want := `[{"qty":"2.0000","price_with_tax":6.5,"price_without_tax":6},{"qty":"10.0000","price_with_tax":216.5,"price_without_tax":200},{"qty":"10.5000","price_with_tax":3.25,"price_without_tax":3}]`
	if got != want {
		t.Errorf("tiers\n%s, want\n%s", got, want)
	}
}

// cents returns an amount in cents.
func cents(m resource.Money) uint64 { return resource.RoundDecimal.Cents(m) }

// TestConvertedPrice checks the form of a price of a price list that is converted for a website.
func TestConvertedPrice(t *testing.T) {
	t.Parallel()
	rate := resource.Money(0.9)
	price := listedPrice{price: 57 * rate, converted: true}
	for asNumber, want := range map[bool]codec.Node{true: codec.NumberNode("51.300000000000004"), false: codec.TextNode("51.3000")} {
		if got := price.node(asNumber); got.Kind != want.Kind || got.Text != want.Text {
			t.Errorf("as a number %t it is %s %v, want %s %v", asNumber, got.Text, got.Kind, want.Text, want.Kind)
		}
	}
}
