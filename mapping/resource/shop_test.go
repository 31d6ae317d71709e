package resource

import (
	"github.com/portico-commerce/portico/adapter"
	"testing"
	"time"
)

func TestMatchesLoosely(t *testing.T) {
	s := Shop{Views: []StoreView{{Id: 1, Code: "default"}, {Id: 2, Code: "french"}}}
	for name, want := range map[string]bool{
		"02": true, "2.0": true, " 2": true, "00": true, "FRENCH": true, "frénch ": true, "Admin": true, "+1": true,
		"99": false, "2abc": false, "-1": false, "nope": false, "2 x": false, "1e999": false,
	} {
		if got := s.MatchesLoosely(name); got != want {
			t.Errorf("matchesLoosely(%q) = %t, want %t", name, got, want)
		}
	}
}

func TestDefaultView(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.Websites)
	site := func(store, isDefault int64) adapter.Record {
		r := adapter.NewRecord(schema)
		r.Set("default_store_id", adapter.IntegerValue(store))
		if isDefault != 0 {
			r.Set("is_default", adapter.IntegerValue(isDefault))
		}
		return r
	}
	for _, c := range []struct {
		name     string
		websites []adapter.Record
		want     int64
	}{
		{"none", nil, 0},
		{"first website", []adapter.Record{site(3, 0), site(1, 0)}, 3},
		{"first website with a store view", []adapter.Record{site(0, 0), site(1, 0)}, 1},
		{"default website", []adapter.Record{site(3, 0), site(1, 1)}, 1},
		{"default website without a store view", []adapter.Record{site(3, 0), site(0, 1)}, 3},
		{"default website whose store view is gone", []adapter.Record{site(3, 0), site(9, 1)}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			shop := Shop{Views: []StoreView{{Id: 1}, {Id: 3}}}
			if shop.setDefaultView(c.websites); shop.DefaultView.Id != c.want {
				t.Errorf("store view %d, want %d", shop.DefaultView.Id, c.want)
			}
		})
	}
}

func TestWebsites(t *testing.T) {
	schema := adapter.NewSchemas().Of(adapter.Websites)
	shop := Shop{taxClasses: map[int64]int64{GuestsID: 3}, Rates: []taxRate{
		{class: 2, country: "US", region: "CA", regionID: 12, percent: 8_2500, rule: 1},
		{class: 2, country: "DE", customerClass: 3, percent: 19_0000, rule: 2},
		{class: 2, country: "DE", postcode: "80331", percent: 20_0000, rule: 2},
		{class: 2, country: "AT", customerClass: 6, percent: 20_0000, rule: 2},
	}}
	zone := time.FixedZone("", 3600)
	cache := ShopCache{prices: PriceSettings{TimeZone: zone, TaxCountry: "us", TaxRegion: "ca"}}
	for _, c := range []struct {
		name, timezone, country, postcode string
		region                            int64
		zone                              string
		tax                               TaxFactor
	}{
		{name: "settings", zone: zone.String(), tax: NoTax.With(8_2500)},
		{name: "a place of its own", timezone: "Asia/Tokyo", country: "de", postcode: "*", zone: "Asia/Tokyo", tax: NoTax.With(19_0000)},
		{name: "a postcode", country: "DE", postcode: "80331", zone: zone.String(), tax: NoTax.With(20_0000)},
		{name: "a region", country: "US", region: 12, zone: zone.String(), tax: NoTax.With(8_2500)},
		{name: "another region", country: "US", region: 57, zone: zone.String(), tax: NoTax},
		{name: "taxes of another class of customers", country: "AT", zone: zone.String(), tax: NoTax},
		{name: "no such time zone", timezone: "Mars/Olympus", zone: zone.String(), tax: NoTax.With(8_2500)},
		{name: "time zone of the machine", timezone: "Local", zone: zone.String(), tax: NoTax.With(8_2500)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := adapter.NewRecord(schema)
			r.Set("website_id", adapter.IntegerValue(2))
			r.Set("tax_region_id", adapter.IntegerValue(c.region))
			for name, text := range map[string]string{"timezone": c.timezone, "tax_country": c.country, "tax_postcode": c.postcode} {
				if text != "" {
					r.Set(name, adapter.TextValue(text))
				}
			}
			site := cache.newWebsite(r, &shop)
			tax := site.GuestTaxes().On(2)
			if site.Id != 2 || site.Zone.String() != c.zone || tax != c.tax {
				t.Errorf("website %d in %s with tax %d, want 2 in %s with %d", site.Id, site.Zone, tax, c.zone, c.tax)
			}
		})
	}
}
