package handlers

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestPricesAt checks which entries of a list of prices show where.
func TestPricesAt(t *testing.T) {
	list := prices("group_price", [3]string{"guest", "57.0000", ""}, [3]string{"general", "59.5000", ""}, [3]string{"general", "20.0000", ""}, [3]string{"all", "70.0000", ""})
	list.Records()[2].Set("website_id", adapter.IntegerValue(2))
	list.Records()[3].Set("website_id", adapter.IntegerValue(1))
	for _, c := range []struct {
		name    string
		site    resource.PriceSite
		pricing contract.Pricing
		want    string
	}{
		{"global prices", resource.PriceSite{WebsiteID: 2, Rate: 1}, contract.PricedItself, `0 "57.0000" 0 "59.5000" `},
		{"by website, in the default scope", resource.PriceSite{ByWebsite: true, Rate: 1}, contract.PricedItself, `0 "57.0000" 0 "59.5000" 2 "20.0000" 1 "70.0000" `},
		{"at a website", resource.PriceSite{ByWebsite: true, WebsiteID: 1, Rate: 1}, contract.PricedItself, `1 57 1 59.5 1 "70.0000" `},
		{"at a website with a currency and an entry", resource.PriceSite{ByWebsite: true, WebsiteID: 2, Rate: 0.9}, contract.PricedItself, `2 51.300000000000004 2 "20.0000" `},
		{"percentages of a bundle", resource.PriceSite{ByWebsite: true, WebsiteID: 2, Rate: 0.9}, contract.PricedAsBundle, `2 "57.0000" 2 "20.0000" `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, p := range pricesAt(&c.site, list.Records(), c.pricing) {
				members := p.members(contract.Magento())
				got += members[0].Value.Text + " " + string(codec.Append(nil, contract.JSON, "", &members[2].Value, false)) + " "
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestGroupPricesByWebsite checks final prices: an entry of a website takes the place of one of all
// websites in single records, and lists count the lower one.
func TestGroupPricesByWebsite(t *testing.T) {
	p := product(map[string]string{"price": "100.0000"})
	group := prices("group_price", [3]string{"general", "60.0000", ""}, [3]string{"general", "80.0000", ""})
	group.Records()[1].Set("website_id", adapter.IntegerValue(2))
	p.Set("group_price", group)
	for _, c := range []struct {
		name         string
		site         resource.PriceSite
		single, list string
	}{
		{"another website", resource.PriceSite{ByWebsite: true, WebsiteID: 1, Rate: 1}, "60", "60"},
		{"its website", resource.PriceSite{ByWebsite: true, WebsiteID: 2, Rate: 1}, "80", "60"},
		{"its website, with a currency", resource.PriceSite{ByWebsite: true, WebsiteID: 2, Rate: 1.5}, "80", "80"},
		{"another website, with a currency", resource.PriceSite{ByWebsite: true, WebsiteID: 3, Rate: 0.33333}, "20", "20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := buyer{group: 1, PriceSite: c.site}
			single, list := centsNode(cents(b.FinalPrice(p, contract.PricedItself, false))).Text, centsNode(cents(b.FinalPrice(p, contract.PricedItself, true))).Text
			if single != c.single || list != c.list {
				t.Errorf("single %s, list %s, want %s, %s", single, list, c.single, c.list)
			}
		})
	}
}

// TestFixedTaxes checks which rows of a fixed product tax show where.
func TestFixedTaxes(t *testing.T) {
	const rows = `[{"website_id":0,"country":"US","state":"*","value":"2.5000"},{"website_id":2,"country":"DE","state":"81","value":"3.0000"}]`
	const ofAll, ofTwo = `{"website_id":"0","country":"US","state":"*","value":"2.5000","website_value":2.5}`, `{"website_id":"2","country":"DE","state":"81","value":"3.0000","website_value":3}`
	for _, c := range []struct {
		name, stored string
		byWebsite    bool
		website      int64
		want         string
	}{
		{"none", `[]`, false, 2, `[]`},
		{"not in the attribute set", ``, false, 2, ``},
		{"broken", `[{"website_id":"x"}]`, false, 2, ``},
		{"global", rows, false, 2, `[` + ofAll + `]`},
		{"of a website", rows, true, 2, `[` + ofAll + `,` + ofTwo + `]`},
		{"of another", rows, true, 1, `[` + ofAll + `]`},
		{"in the default scope", rows, true, 0, `[` + ofAll + `,` + ofTwo + `]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := productReply{Resource: resource.Resource{Dialect: contract.Magento()}, site: &resource.PriceSite{WebsiteID: c.website, Rate: 1}}
			node, ok := reply.fixedTaxes(adapter.TextValue(c.stored), c.byWebsite)
			got := ""
			if ok {
				got = string(codec.Append(nil, contract.JSON, "", &node, false))
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestListsAndSinglesAgree compares the prices of random products in lists and in single records: they
// are the same for products with a tax class whose group prices hold at all websites.
func TestListsAndSinglesAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	amount := func() string { return strconv.FormatFloat(float64(random.Uint64N(1e6))/1e4, 'f', 4, 64) }
	of := &Products{types: map[string]contract.ProductType{}}
	for range 2000 {
		p := product(map[string]string{"price": amount(), "special_price": amount(), "type_id": "simple"})
		p.Set("tax_class_id", adapter.IntegerValue(2))
		p.Set("group_price", prices("group_price", [3]string{"general", amount(), ""}))
		rates := []float64{0, 7.7, 19, 20}
		taxes := resource.Taxes{
			Buyer:         resource.ClassRates{{Class: 2, Percent: rates[random.IntN(4)]}},
			Included:      resource.ClassRates{{Class: 2, Percent: rates[random.IntN(4)]}},
			PricesInclude: random.IntN(2) == 0, Rounding: resource.Rounding(random.IntN(2)),
		}
		site := resource.PriceSite{WebsiteID: 1, ByWebsite: random.IntN(2) == 0, Rate: 1}
		var shown [2]string
		for i, inList := range []bool{false, true} {
			r := productReply{of: of, replyShape: replyShape{inList: inList}, buyer: &buyer{group: 1, Taxes: &taxes, PriceSite: site, now: "2013-01-01 00:00:00"}}
			r.Dialect = contract.Magento()
			for _, field := range []string{"regular_price_with_tax", "regular_price_without_tax", "final_price_with_tax", "final_price_without_tax"} {
				node, _ := r.computedField(nil, &contract.Field{Name: field}, p)
				shown[i] += node.Text + " "
			}
		}
		if shown[0] != shown[1] {
			t.Fatalf("single %s, list %s: %v with %+v", shown[0], shown[1], p, taxes)
		}
	}
}
