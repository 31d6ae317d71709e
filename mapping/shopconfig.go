package mapping

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A storeView is the scope at which a call reads or writes values. The zero storeView is
// the default scope.
type storeView struct {
	id        int64
	websiteID int64
	code      string
}

// adminStore names the default scope in place of a store view's code.
const adminStore = "admin"

// storeView returns the store view in the path or the query of c (wire 2; products 3.6).
// Without one, or with 0, it returns the default scope for an Admin, and the shop's
// default store view for other callers.
func (s *Service) storeView(ctx context.Context, c *Call) (storeView, error) {
	shop, err := s.shops.current(ctx)
	if err != nil {
		return storeView{}, err
	}
	fallback := shop.defaultView
	if c.Principal.Role == contract.Admin {
		fallback = storeView{}
	}
	name, ok := c.pathOrQuery("store")
	switch {
	case !ok:
		return storeView{}, s.dialect.Fault(contract.StoreMisspelled)
	case name == "", name == "0":
		return fallback, nil
	case name == adminStore:
		return storeView{}, nil
	}
	for _, view := range shop.views {
		if name == view.code || name == strconv.FormatInt(view.id, 10) {
			return view, nil
		}
	}
	if shop.matchesLoosely(name) {
		return storeView{}, s.dialect.Fault(contract.StoreMisspelled)
	}
	return storeView{}, s.dialect.Fault(contract.StoreInvalid)
}

// pathOrQuery returns the value of a path parameter, or of the query parameter of that
// name if the route has no such path parameter. It returns "" if there is neither. ok is
// false if the query parameter is not a text.
func (c *Call) pathOrQuery(name string) (value string, ok bool) {
	if at, bound := c.Route.Param(name); bound {
		return c.Params[at], true
	}
	node, sent := c.Query.Get(name)
	if !sent {
		return "", true
	}
	return node.Text, node.Kind == codec.Text
}

// A shopConfig holds the shop's store views, websites, customer groups and tax rates,
// which no call changes.
type shopConfig struct {
	views          []storeView
	defaultView    storeView
	websites       []int64          // ids a customer may have, including 0
	websitesByCode map[string]int64 // by lower-case code
	sites          []website        // the first is the default scope's
	groups         []int64          // ids a customer may have, without the group of Guests
	taxClasses     map[int64]int64  // of customers, by group
	rates          []taxRate
	readAt         time.Time
	generation     uint64 // of the cache, before it was read
}

// A website is what the prices of a website depend on.
type website struct {
	id         int64
	zone       *time.Location
	taxAddress taxAddress        // of callers without an address
	guestTaxes func() []classTax // computed when they are first needed
}

// site returns the website with the given id, or the default scope's.
func (s *shopConfig) site(id int64) *website {
	for i := range s.sites {
		if s.sites[i].id == id {
			return &s.sites[i]
		}
	}
	return &s.sites[0]
}

// taxClass returns the tax class of a group of customers. known is false if there is no such
// group. A shop without groups knows none, so that nothing depends on them.
func (s *shopConfig) taxClass(group int64) (class int64, known bool) {
	class, known = s.taxClasses[group]
	return class, known || len(s.taxClasses) == 0
}

// matchesLoosely reports whether name would be the number or code of a store view or the
// default scope if its exact spelling did not matter.
func (s *shopConfig) matchesLoosely(name string) bool {
	number, isNumber := numeric.Parse(name)
	folded := adapter.Fold(name)
	if isNumber && number == 0 || folded == adapter.Fold(adminStore) {
		return true
	}
	for _, view := range s.views {
		if isNumber && number == float64(view.id) || folded == adapter.Fold(view.code) {
			return true
		}
	}
	return false
}

// view returns the store view with the given id.
func (s *shopConfig) view(id int64) (storeView, bool) {
	at := slices.IndexFunc(s.views, func(view storeView) bool { return view.id == id })
	if at < 0 {
		return storeView{}, false
	}
	return s.views[at], true
}

// hasWebsite reports whether products can be assigned to website id. They cannot be
// assigned to website 0.
func (s *shopConfig) hasWebsite(id int64) bool { return id != 0 && slices.Contains(s.websites, id) }

// website returns the id of the website that a path segment names: exactly a number, or a
// code in any case (product_parts 3.6).
func (s *shopConfig) website(name string) (int64, bool) {
	if _, isNumber := numeric.Parse(name); isNumber {
		id, ok := numeric.ID(name)
		return id, ok && s.hasWebsite(id)
	}
	id, ok := s.websitesByCode[strings.ToLower(name)]
	return id, ok
}

// shopConfigTTL is how long a shopConfig is used before it is read again. Administrators
// change the configuration in the backend, and their changes become visible within this
// time.
const shopConfigTTL = 10 * time.Second

// A shopConfigCache reads the shopConfig and caches it.
type shopConfigCache struct {
	websites, stores, groups, rates, regions source
	prices                                   PriceSettings
	now                                      func() time.Time
	latest                                   atomic.Pointer[shopConfig]
	generation                               atomic.Uint64 // see invalidate
}

// invalidate makes the next calls read the shopConfig again.
func (s *shopConfigCache) invalidate() { s.generation.Add(1) }

func newShopConfigCache(backend *invalidatingAdapter, schemas *adapter.Schemas, settings *Settings) (*shopConfigCache, error) {
	s := &shopConfigCache{prices: settings.Prices, now: settings.Now}
	for name, into := range map[adapter.Resource]*source{
		adapter.Websites: &s.websites, adapter.Stores: &s.stores, adapter.CustomerGroups: &s.groups, adapter.TaxRates: &s.rates, adapter.Regions: &s.regions,
	} {
		var err error
		if *into, err = newSource(backend, schemas, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// current returns a shopConfig that is at most shopConfigTTL old.
func (s *shopConfigCache) current(ctx context.Context) (*shopConfig, error) {
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

func (s *shopConfigCache) read(ctx context.Context) (*shopConfig, error) {
	websites, err := s.websites.all(ctx, &adapter.ListParams{}) // by ascending id
	if err != nil {
		return nil, err
	}
	stores, err := s.stores.all(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	groups, err := s.groups.all(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	read := &shopConfig{websites: []int64{0}, websitesByCode: map[string]int64{}, taxClasses: map[int64]int64{}}
	for _, g := range groups {
		id := g.Get("group_id").Int()
		read.taxClasses[id] = g.Get("tax_class_id").Int()
		if id != guestsID {
			read.groups = append(read.groups, id)
		}
	}
	for _, r := range stores {
		read.views = append(read.views, storeView{id: r.Get("store_id").Int(), websiteID: r.Get("website_id").Int(), code: r.Get("code").Text()})
	}
	for _, w := range websites {
		read.websites = append(read.websites, w.Get("website_id").Int())
		read.websitesByCode[strings.ToLower(w.Get("code").Text())] = w.Get("website_id").Int()
	}
	read.setDefaultView(websites)
	if read.rates, err = s.readRates(ctx); err != nil {
		return nil, err
	}
	for _, w := range append([]adapter.Record{adapter.NewRecord(s.websites.schema)}, websites...) {
		read.sites = append(read.sites, s.newWebsite(w, read))
	}
	return read, nil
}

// setDefaultView finds the shop's default store view: that of its default website, or else of
// the first website that has one.
func (s *shopConfig) setDefaultView(websites []adapter.Record) {
	for _, w := range websites {
		view, ok := s.view(w.Get("default_store_id").Int())
		switch {
		case !ok:
		case w.Get("is_default").Int() == 1:
			s.defaultView = view
			return
		case s.defaultView.id == 0:
			s.defaultView = view
		}
	}
}

// newWebsite returns the website of a record, which has no values for the default scope.
// What a website does not say of itself is in the settings.
func (s *shopConfigCache) newWebsite(w adapter.Record, shop *shopConfig) website {
	site := website{
		id:         w.Get("website_id").Int(),
		zone:       cmp.Or(s.prices.TimeZone, time.UTC),
		taxAddress: taxAddress{country: adapter.Fold(s.prices.TaxCountry), region: adapter.Fold(s.prices.TaxRegion)},
	}
	if zone, ok := namedZone(w.Get("timezone").Text()); ok {
		site.zone = zone
	}
	if country := w.Get("tax_country").Text(); country != "" {
		site.taxAddress = taxAddress{country: adapter.Fold(country), regionID: w.Get("tax_region_id").Int(), postcode: foldPostcode(w.Get("tax_postcode").Text())}
	}
	if site.taxAddress.postcode == "*" {
		site.taxAddress.postcode = ""
	}
	at, class := site.taxAddress, shop.taxClasses[guestsID]
	site.guestTaxes = sync.OnceValue(func() []classTax { return taxesAt(shop.rates, at, class) })
	return site
}

// namedZone returns the time zone with an IANA name. ok is false for other names, and for that
// of the machine's own zone.
func namedZone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}
