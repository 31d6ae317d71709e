package mapping

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A storeView is where a call reads or writes scoped values. The zero storeView
// is the default scope.
type storeView struct {
	id      int64
	website int64
	code    string
}

// adminStore names the default scope in place of a store view's code.
const adminStore = "admin"

// storeView finds the store view c names in its path or else its query (wire 2;
// products 3.6). Without one an Admin gets the default scope and all others the
// shop's default store view, which is also what 0 means to them.
func (s *Service) storeView(ctx context.Context, c *Call) (storeView, error) {
	shop, err := s.shops.current(ctx)
	if err != nil {
		return storeView{}, err
	}
	usual := shop.defaultView
	if c.Principal.Role == contract.Admin {
		usual = storeView{}
	}
	name, ok := c.parameter("store")
	switch {
	case !ok:
		return storeView{}, s.dialect.Fault(contract.StoreMisspelt)
	case name == "", name == "0":
		return usual, nil
	case name == adminStore:
		return storeView{}, nil
	}
	for _, view := range shop.views {
		if name == view.code || name == strconv.FormatInt(view.id, 10) {
			return view, nil
		}
	}
	if shop.knows(name) {
		return storeView{}, s.dialect.Fault(contract.StoreMisspelt)
	}
	return storeView{}, s.dialect.Fault(contract.StoreInvalid)
}

// parameter returns the path parameter called name, on routes that have none of
// it the query's, "" when neither is there. ok is false for a list.
func (c *Call) parameter(name string) (value string, ok bool) {
	if at, bound := c.Route.Param(name); bound {
		return c.Params[at], true
	}
	node, sent := c.Query.Get(name)
	if !sent {
		return "", true
	}
	return node.Text, node.Kind == codec.Text
}

// A shop is what calls refer to and none of them changes.
type shop struct {
	views       []storeView
	defaultView storeView
	rates       []taxRate
	readAt      time.Time
}

// knows reports whether name is a store view's number or code, or that of the
// default scope, in another spelling than the only one that counts.
func (s *shop) knows(name string) bool {
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

// shopAge is how long a shop is used before it is read again. Changes of it are
// made behind the interface, and show after this time at the latest.
const shopAge = 10 * time.Second

// shops reads the shop and keeps it for a while.
type shops struct {
	websites, stores, rates, regions source
	now                              func() time.Time
	latest                           atomic.Pointer[shop]
}

func newShops(upstream adapter.Adapter, schemas *adapter.Schemas, now func() time.Time) (*shops, error) {
	s := &shops{now: now}
	for name, into := range map[adapter.Resource]*source{
		adapter.Websites: &s.websites, adapter.Stores: &s.stores, adapter.TaxRates: &s.rates, adapter.Regions: &s.regions,
	} {
		var err error
		if *into, err = sourceOf(upstream, schemas, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// current returns the shop, not older than shopAge.
func (s *shops) current(ctx context.Context) (*shop, error) {
	now := s.now()
	if latest := s.latest.Load(); latest != nil {
		if age := now.Sub(latest.readAt); age >= 0 && age < shopAge {
			return latest, nil
		}
	}
	read, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	read.readAt = now
	s.latest.Store(read)
	return read, nil
}

func (s *shops) read(ctx context.Context) (*shop, error) {
	websites, err := s.websites.all(ctx, &adapter.ListParams{}) // by ascending id
	if err != nil {
		return nil, err
	}
	stores, err := s.stores.all(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	read := &shop{}
	for _, r := range stores {
		read.views = append(read.views, storeView{id: r.Get("store_id").Int(), website: r.Get("website_id").Int(), code: r.Get("code").Text()})
	}
	// The first website is the shop's default one.
	for _, w := range websites {
		for _, view := range read.views {
			if view.id == w.Get("default_store_id").Int() && read.defaultView.id == 0 {
				read.defaultView = view
			}
		}
	}
	read.rates, err = s.readRates(ctx)
	return read, err
}

// readRates reads the tax rates, and of their regions what addresses may call
// them.
func (s *shops) readRates(ctx context.Context) ([]taxRate, error) {
	listed, err := s.rates.all(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	var rates []taxRate
	var countries []string
	for _, r := range listed {
		rate := taxRate{
			class:   r.Get("tax_class_id").Int(),
			country: adapter.Fold(r.Get("country_id").Text()),
			region:  adapter.Fold(r.Get("region").Text()),
			percent: parseMoney(r.Get("rate")),
		}
		if rate.region == "*" {
			rate.region = ""
		} else if !slices.Contains(countries, rate.country) {
			countries = append(countries, rate.country)
		}
		rates = append(rates, rate)
	}
	regions, err := s.regions.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{condition("country_id", adapter.In, countries...)},
	}})
	if err != nil {
		return nil, err
	}
	for _, region := range regions {
		country, code := adapter.Fold(region.Get("country_id").Text()), adapter.Fold(region.Get("code").Text())
		for i := range rates {
			if rates[i].country == country && rates[i].region == code {
				rates[i].regionID = region.Get("region_id").Int()
				rates[i].regionName = adapter.Fold(region.Get("name").Text())
			}
		}
	}
	return rates, nil
}
