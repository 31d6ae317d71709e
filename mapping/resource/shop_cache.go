package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
)

// shopConfigTTL is how long a shopConfig is used before it is read again; tax rates and options whose
// reading takes long are used longer (slowReadShare). Administrators
// change the configuration in the backend, and their changes become visible within this
// time.
const shopConfigTTL = 10 * time.Second

// shopConfigTimeout limits the time to read a shopConfig. Several callers may wait for the same one, so
// none of them can cancel it.
const shopConfigTimeout = 30 * time.Second

// A Generation counts the changes of the shop's configuration. The caches that share it read the
// configuration again after a change.
type Generation struct{ atomic.Uint64 }

// A ShopCache reads the shopConfig and caches it.
type ShopCache struct {
	websites, stores, groups, rates, regions, options Source
	hasOptions                                        bool // an attribute has options
	prices                                            PriceSettings
	now                                               func() time.Time
	latest                                            atomic.Pointer[Shop]
	latestRates                                       atomic.Pointer[slowRead[*TaxRates]]
	latestOptions                                     atomic.Pointer[slowRead[*Options]]
	generation                                        *Generation
	reading                                           singleflight.Group
}

// A slowRead is a part of the configuration with the time at which it was read, and how long that took.
type slowRead[T any] struct {
	value      T
	readAt     time.Time
	took       time.Duration
	generation uint64
}

// slowReadShare is how many times as long as reading them took, tax rates and options are used at
// least, so that a shop with tens of thousands of them does not spend its time on reading them.
const slowReadShare = 50

// NewShopCache returns a cache that reads the configuration of a backend, and reads it again when
// generation has another value. now returns the current time.
func NewShopCache(backend *Backend, prices PriceSettings, now func() time.Time, generation *Generation) (*ShopCache, error) {
	s := &ShopCache{prices: prices, now: now, generation: generation, hasOptions: backend.schemas.HaveOptions()}
	for name, into := range map[adapter.Resource]*Source{
		adapter.Websites: &s.websites, adapter.Stores: &s.stores, adapter.CustomerGroups: &s.groups, adapter.TaxRates: &s.rates, adapter.Regions: &s.regions,
		adapter.AttributeOptions: &s.options,
	} {
		var err error
		if *into, err = backend.Source(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// Current returns a shopConfig that is at most shopConfigTTL old. One reading serves all concurrent
// callers of a generation.
func (s *ShopCache) Current(ctx context.Context) (*Shop, error) {
	generation := s.generation.Load()
	if latest := s.cached(generation); latest != nil {
		return latest, nil
	}
	read, err, _ := s.reading.Do(strconv.FormatUint(generation, 10), func() (any, error) {
		if latest := s.cached(generation); latest != nil { // another reading has ended since the caller missed
			return latest, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shopConfigTimeout)
		defer cancel()
		now := s.now()
		read, err := s.read(ctx)
		if err == nil {
			read.readAt, read.generation = now, generation
			s.latest.Store(read)
		}
		return read, err
	})
	if err != nil {
		return nil, err
	}
	return read.(*Shop), nil
}

// cached returns the latest shopConfig, or nil if it is too old or of another generation.
func (s *ShopCache) cached(generation uint64) *Shop {
	latest := s.latest.Load()
	if latest == nil || latest.generation != generation {
		return nil
	}
	if age := s.now().Sub(latest.readAt); age < 0 || age >= shopConfigTTL {
		return nil
	}
	return latest
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
	if read.rates, err = currentSlow(ctx, s, &s.latestRates, s.readRates); err != nil {
		return nil, err
	}
	if read.Options, err = currentSlow(ctx, s, &s.latestOptions, s.readOptions); err != nil {
		return nil, err
	}
	s.setPriceScopes(read, websites, stores)
	return read, nil
}

// setPriceScopes sets the scopes of prices: of the default scope, whose values come from the settings,
// and of every store view, with the values that its website has, and those of its own.
func (s *ShopCache) setPriceScopes(shop *Shop, websites, stores []adapter.Record) {
	zone, tax := cmp.Or(s.prices.TimeZone, time.UTC), s.prices.taxes()
	shop.scopes = map[int64]*PriceScope{0: shop.newPriceScope(PriceSite{ByWebsite: s.prices.ByWebsite, Rate: 1}, zone, tax, s.prices.Rounding)}
	byWebsite := map[int64]adapter.Record{}
	shop.converts = map[int64]bool{}
	for _, w := range websites {
		id := w.Get("website_id").Int()
		byWebsite[id], shop.converts[id] = w, s.prices.converts(w)
	}
	for _, r := range stores {
		id := r.Get("website_id").Int()
		zone, tax, site := zone, tax, PriceSite{WebsiteID: id, ByWebsite: s.prices.ByWebsite, Rate: 1}
		if website, ok := byWebsite[id]; ok {
			tax, site = tax.with(website), s.prices.newPriceSite(website)
			if own, ok := namedZone(website.Get("timezone").Text()); ok {
				zone = own
			}
		}
		shop.scopes[r.Get("store_id").Int()] = shop.newPriceScope(site, zone, tax.with(r), s.prices.Rounding)
	}
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

// currentSlow returns a part of the configuration, and reads it if it may have changed.
func currentSlow[T any](ctx context.Context, s *ShopCache, last *atomic.Pointer[slowRead[T]], read func(context.Context) (T, error)) (T, error) {
	start, generation := s.now(), s.generation.Load()
	if latest := last.Load(); latest != nil && latest.generation == generation {
		if age := start.Sub(latest.readAt); age >= 0 && age < slowReadShare*latest.took {
			return latest.value, nil
		}
	}
	value, err := read(ctx)
	if err == nil {
		last.Store(&slowRead[T]{value, start, s.now().Sub(start), generation})
	}
	return value, err
}

// readRates reads the tax rates, and the ids of the regions in their countries.
func (s *ShopCache) readRates(ctx context.Context) (*TaxRates, error) {
	listed, err := s.rates.All(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	rates := make([]taxRate, len(listed))
	var countries []string
	for i, r := range listed {
		rates[i] = newTaxRate(r)
		if rate := &rates[i]; (rate.region != "" || rate.regionID != 0) && !slices.Contains(countries, rate.country) {
			countries = append(countries, rate.country)
		}
	}
	regions, err := s.regionIDs(ctx, countries)
	return newTaxRates(rates, regions), err
}

// newTaxRate returns the rate of a record.
func newTaxRate(r adapter.Record) taxRate {
	rate := taxRate{
		class:          r.Get("tax_class_id").Int(),
		customerClass:  r.Get("customer_tax_class_id").Int(),
		country:        adapter.Fold(r.Get("country_id").Text()),
		region:         adapter.Fold(r.Get("region").Text()),
		regionID:       r.Get("region_id").Int(),
		postcode:       FoldPostcode(r.Get("postcode").Text()),
		noPostcode:     r.Get("postcode").Empty(),
		rule:           r.Get("rule_id").Int(),
		priority:       r.Get("priority").Int(),
		addsToSubtotal: r.Get("calculate_subtotal").Int() != 0,
		percent:        float64(ParseMoney(r.Get("rate"))),
	}
	if rate.region == "*" {
		rate.region = ""
	}
	if from, to := r.Get("zip_from"), r.Get("zip_to"); !from.Empty() {
		rate.isRange, rate.from, rate.to = true, from.Int(), to.Int()
		if to.Empty() {
			rate.to = rate.from
		}
	}
	return rate
}

// regionIDs returns the ids of the regions of some countries, by code and by name.
func (s *ShopCache) regionIDs(ctx context.Context, countries []string) (map[regionName]int64, error) {
	ids := map[regionName]int64{}
	if len(countries) == 0 {
		return ids, nil
	}
	regions, err := s.regions.All(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{NewCondition("country_id", adapter.In, countries...)},
	}})
	for _, by := range []string{"name", "code"} { // a code counts before a name
		for _, r := range regions {
			ids[regionName{adapter.Fold(r.Get("country_id").Text()), adapter.Fold(r.Get(by).Text())}] = r.Get("region_id").Int()
		}
	}
	return ids, err
}
