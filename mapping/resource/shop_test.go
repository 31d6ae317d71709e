package resource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/adapter"
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

// TestPriceScopes checks which settings hold at a store view: its own, else its website's, else the
// shop's.
func TestPriceScopes(t *testing.T) {
	schemas := adapter.NewSchemas()
	zone := time.FixedZone("", 3600)
	cache := ShopCache{prices: PriceSettings{TimeZone: zone, TaxCountry: "us", TaxRegion: "ca", OriginCountry: "AT", TaxGroup: 1}}
	type values = map[string]any
	for _, c := range []struct {
		name           string
		website, store values
		zone, without  string // 120.0000 for a Guest
		with           string
	}{
		{name: "settings", zone: zone.String(), without: "12000", with: "12990"},
		{name: "a place of its own", website: values{"timezone": "Asia/Tokyo", "tax_country": "de"}, zone: "Asia/Tokyo", without: "12000", with: "14280"},
		{name: "any postcode", website: values{"tax_country": "DE", "tax_postcode": "*"}, zone: zone.String(), without: "12000", with: "14400"},
		{name: "a postcode", website: values{"tax_country": "DE", "tax_postcode": "80331"}, zone: zone.String(), without: "12000", with: "14400"},
		{name: "a region", website: values{"tax_country": "US", "tax_region_id": 12}, zone: zone.String(), without: "12000", with: "12990"},
		{name: "another region", website: values{"tax_country": "US", "tax_region_id": 57}, zone: zone.String(), without: "12000", with: "12000"},
		{name: "taxes of another class of customers", website: values{"tax_country": "FR"}, zone: zone.String(), without: "12000", with: "12000"},
		{name: "no such time zone", website: values{"timezone": "Mars/Olympus"}, zone: zone.String(), without: "12000", with: "12990"},
		{name: "time zone of the machine", website: values{"timezone": "Local"}, zone: zone.String(), without: "12000", with: "12990"},
		{name: "a store view's place", website: values{"tax_country": "DE"}, store: values{"tax_country": "AT"}, zone: zone.String(), without: "12000", with: "14400"},
		{name: "tax of the origin for everybody", website: values{"tax_based_on": "origin"}, zone: zone.String(), without: "12000", with: "14400"},
		{name: "a base that is none", website: values{"tax_based_on": "moon"}, zone: zone.String(), without: "12000", with: "12990"},
		{name: "prices include tax", website: values{"prices_include_tax": 1}, zone: zone.String(), without: "10000", with: "10825"},
		{name: "prices of one store view do not", website: values{"prices_include_tax": 1}, store: values{"prices_include_tax": 0}, zone: zone.String(), without: "12000", with: "12990"},
		{name: "across borders", website: values{"prices_include_tax": 1, "tax_cross_border": 1}, zone: zone.String(), without: "11085", with: "12000"},
		{name: "another origin", website: values{"prices_include_tax": 1, "origin_country": "DE"}, zone: zone.String(), without: "10084", with: "10916"},
		{name: "a default group without tax", website: values{"prices_include_tax": 1, "tax_default_group": 5}, zone: zone.String(), without: "12000", with: "12990"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shop := Shop{taxClasses: map[int64]int64{GuestsID: 3, 1: 3, 5: 6}, rates: newTaxRates([]taxRate{
				{class: 2, country: "US", region: "CA", regionID: 12, percent: 8.25, rule: 1},
				{class: 2, country: "DE", customerClass: 3, percent: 19, rule: 2},
				{class: 2, country: "DE", postcode: "80331", percent: 20, rule: 2},
				{class: 2, country: "FR", customerClass: 6, percent: 20, rule: 2},
				{class: 2, country: "AT", customerClass: 3, percent: 20, rule: 2},
			}, map[regionName]int64{{"US", "CA"}: 12})}
			record := func(r adapter.Resource, all ...values) adapter.Record {
				made := adapter.NewRecord(schemas.Of(r))
				for _, some := range all {
					for name, v := range some {
						if n, ok := v.(int); ok {
							made.Set(name, adapter.IntegerValue(int64(n)))
						} else {
							made.Set(name, adapter.TextValue(v.(string)))
						}
					}
				}
				return made
			}
			cache.setPriceScopes(&shop, []adapter.Record{record(adapter.Websites, values{"website_id": 2}, c.website)},
				[]adapter.Record{record(adapter.Stores, values{"store_id": 3, "website_id": 2}, c.store)})
			scope := shop.PriceScope(StoreView{Id: 3})
			taxes := scope.GuestTaxes()
			with, without := fmt.Sprint(taxes.WithTax(120, 2)), fmt.Sprint(taxes.WithoutTax(120, 2))
			if scope.WebsiteID != 2 || scope.Zone.String() != c.zone || with != c.with || without != c.without {
				t.Errorf("website %d in %s: %s and %s cents, want 2 in %s: %s and %s", scope.WebsiteID, scope.Zone, without, with, c.zone, c.without, c.with)
			}
			if at := shop.PriceScope(StoreView{Id: 9}); at != shop.scopes[0] || fmt.Sprint(at.GuestTaxes().WithTax(120, 2)) != "12990" {
				t.Error("a store view that is gone has another scope than the default one")
			}
		})
	}
}

// A heldStore counts the lists that are read of it, which wait until they are released.
type heldStore struct {
	adapter.Store
	lists   atomic.Int64
	release chan error
}

func (s *heldStore) List(context.Context, *adapter.ListParams) (*adapter.ListResult, error) {
	s.lists.Add(1)
	return &adapter.ListResult{}, <-s.release
}

// TestShopIsReadOnce checks that concurrent callers share one reading of the shop's configuration, that
// neither a caller who leaves nor a failure spoils it for the others, and that a caller who begins after
// a change does not get what was read before.
func TestShopIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		websites := &heldStore{release: make(chan error)}
		source := func(r adapter.Resource, store adapter.Store) Source {
			return Source{Schema: adapter.NewSchemas().Of(r), Store: store, filters: NewFilterLimiter(FilterSettings{})}
		}
		cache := &ShopCache{now: time.Now, generation: new(Generation), websites: source(adapter.Websites, websites),
			stores: source(adapter.Stores, noStore{}), groups: source(adapter.CustomerGroups, noStore{}), rates: source(adapter.TaxRates, noStore{}), regions: source(adapter.Regions, noStore{})}
		var calling sync.WaitGroup
		call := func(ctx context.Context, callers int, want error) {
			for range callers {
				calling.Go(func() {
					if shop, err := cache.Current(ctx); !errors.Is(err, want) || (shop != nil) != (want == nil) {
						t.Errorf("%v (%v), want the error %v", shop, err, want)
					}
				})
			}
			synctest.Wait()
		}
		answer := func(err error, lists int64) {
			t.Helper()
			websites.release <- err
			calling.Wait()
			if got := websites.lists.Load(); got != lists {
				t.Errorf("%d readings, want %d", got, lists)
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		call(leaving, 1, nil)
		call(t.Context(), 50, nil)
		leave()
		answer(nil, 1)
		call(t.Context(), 1, nil) // cached
		time.Sleep(shopConfigTTL)
		failure := errors.New("no store")
		call(t.Context(), 50, failure)
		answer(failure, 2)
		call(t.Context(), 50, nil)
		cache.generation.Add(1)
		call(t.Context(), 50, nil)
		websites.release <- nil
		answer(nil, 4)
	})
}
