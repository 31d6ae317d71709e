package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// shopConfigTTL is how long a shopConfig is used before it is read again. Administrators
// change the configuration in the backend, and their changes become visible within this
// time.
const shopConfigTTL = 10 * time.Second

// A ShopCache reads the shopConfig and caches it.
type ShopCache struct {
	websites, stores, groups, rates, regions Source
	prices                                   PriceSettings
	now                                      func() time.Time
	latest                                   atomic.Pointer[Shop]
	generation                               atomic.Uint64 // see invalidate
}

// Invalidate makes the next calls read the shopConfig again.
func (s *ShopCache) Invalidate() { s.generation.Add(1) }

// NewShopCache returns a cache that reads the configuration of a backend. now returns the current time.
func NewShopCache(backend *Backend, prices PriceSettings, now func() time.Time) (*ShopCache, error) {
	s := &ShopCache{prices: prices, now: now}
	for name, into := range map[adapter.Resource]*Source{
		adapter.Websites: &s.websites, adapter.Stores: &s.stores, adapter.CustomerGroups: &s.groups, adapter.TaxRates: &s.rates, adapter.Regions: &s.regions,
	} {
		var err error
		if *into, err = backend.Source(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// Current returns a shopConfig that is at most shopConfigTTL old.
func (s *ShopCache) Current(ctx context.Context) (*Shop, error) {
	now, generation := s.now(), s.generation.Load()
	if latest := s.latest.Load(); latest != nil && latest.generation == generation {
		if age := now.Sub(latest.readAt); age >= 0 && age < shopConfigTTL {
			return latest, nil
		}
	}
	read, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	read.readAt, read.generation = now, generation
	s.latest.Store(read)
	return read, nil
}

func (s *ShopCache) read(ctx context.Context) (*Shop, error) {
	websites, err := s.websites.All(ctx, &adapter.ListParams{}) // by ascending id
	if err != nil {
		return nil, err
	}
	stores, err := s.stores.All(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	groups, err := s.groups.All(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	read := &Shop{Websites: []int64{0}, websitesByCode: map[string]int64{}, taxClasses: map[int64]int64{}}
	for _, g := range groups {
		id := g.Get("group_id").Int()
		read.taxClasses[id] = g.Get("tax_class_id").Int()
		if id != GuestsID {
			read.Groups = append(read.Groups, id)
		}
	}
	for _, r := range stores {
		read.Views = append(read.Views, StoreView{Id: r.Get("store_id").Int(), WebsiteID: r.Get("website_id").Int(), Code: r.Get("code").Text()})
	}
	for _, w := range websites {
		read.Websites = append(read.Websites, w.Get("website_id").Int())
		read.websitesByCode[strings.ToLower(w.Get("code").Text())] = w.Get("website_id").Int()
	}
	read.setDefaultView(websites)
	if read.Rates, err = s.readRates(ctx); err != nil {
		return nil, err
	}
	for _, w := range append([]adapter.Record{adapter.NewRecord(s.websites.Schema)}, websites...) {
		read.sites = append(read.sites, s.newWebsite(w, read))
	}
	return read, nil
}

// newWebsite returns the website of a record, which has no values for the default scope.
// Values that a website lacks come from the settings.
func (s *ShopCache) newWebsite(w adapter.Record, shop *Shop) Website {
	site := Website{
		Id:         w.Get("website_id").Int(),
		Zone:       cmp.Or(s.prices.TimeZone, time.UTC),
		TaxAddress: TaxAddress{Country: adapter.Fold(s.prices.TaxCountry), Region: adapter.Fold(s.prices.TaxRegion)},
	}
	if zone, ok := namedZone(w.Get("timezone").Text()); ok {
		site.Zone = zone
	}
	if country := w.Get("tax_country").Text(); country != "" {
		site.TaxAddress = TaxAddress{Country: adapter.Fold(country), RegionID: w.Get("tax_region_id").Int(), Postcode: FoldPostcode(w.Get("tax_postcode").Text())}
	}
	if site.TaxAddress.Postcode == "*" {
		site.TaxAddress.Postcode = ""
	}
	at, class := site.TaxAddress, shop.taxClasses[GuestsID]
	site.GuestTaxes = sync.OnceValue(func() ClassTaxes { return TaxesAt(shop.Rates, at, class) })
	return site
}

// namedZone returns the time zone with an IANA name. ok is false for other names, and for the
// machine's own zone.
func namedZone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// readRates reads the tax rates, with the ids and names of their regions.
func (s *ShopCache) readRates(ctx context.Context) ([]taxRate, error) {
	listed, err := s.rates.All(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	rates := make([]taxRate, len(listed))
	var countries []string
	for i, r := range listed {
		rates[i] = taxRate{
			class:         r.Get("tax_class_id").Int(),
			customerClass: r.Get("customer_tax_class_id").Int(),
			country:       adapter.Fold(r.Get("country_id").Text()),
			region:        adapter.Fold(r.Get("region").Text()),
			regionID:      r.Get("region_id").Int(),
			rule:          r.Get("rule_id").Int(),
			priority:      r.Get("priority").Int(),
			percent:       ParseMoney(r.Get("rate")),
		}
		rate := &rates[i]
		rate.setPostcode(r)
		if rate.region == "*" {
			rate.region = ""
		}
		if rate.hasRegion() && !slices.Contains(countries, rate.country) {
			countries = append(countries, rate.country)
		}
	}
	return rates, s.nameRegions(ctx, rates, countries)
}

// nameRegions completes the codes, names and ids of the regions of rates, which are in some
// countries.
func (s *ShopCache) nameRegions(ctx context.Context, rates []taxRate, countries []string) error {
	if len(countries) == 0 {
		return nil
	}
	regions, err := s.regions.All(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{NewCondition("country_id", adapter.In, countries...)},
	}})
	if err != nil {
		return err
	}
	type regionCode struct{ country, code string }
	byCode, byID := map[regionCode]adapter.Record{}, map[int64]adapter.Record{}
	for _, r := range regions {
		byCode[regionCode{adapter.Fold(r.Get("country_id").Text()), adapter.Fold(r.Get("code").Text())}] = r
		byID[r.Get("region_id").Int()] = r
	}
	for i := range rates {
		rate := &rates[i]
		region, known := byID[rate.regionID]
		if rate.regionID == 0 {
			region, known = byCode[regionCode{rate.country, rate.region}]
		}
		if known {
			rate.regionID = region.Get("region_id").Int()
			rate.region, rate.regionName = adapter.Fold(region.Get("code").Text()), adapter.Fold(region.Get("name").Text())
		}
	}
	return nil
}
