package resource

import (
	"cmp"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// PriceSettings are the settings that prices depend on, besides products and customers.
// Websites and store views may have values of their own for most of them (configurations 3.1).
type PriceSettings struct {
	// TimeZone is the shop's time zone; special prices begin and end in it. nil means UTC.
	TimeZone *time.Location
	// TaxCountry, TaxRegion and TaxPostcode are the place where a caller without an address pays
	// tax. TaxRegion is the code of a region or "".
	TaxCountry, TaxRegion, TaxPostcode string
	// TaxBasedOn says which address decides: [ByShipping], [ByBilling] or [ByOrigin]. "" stands for
	// the first.
	TaxBasedOn string
	// PricesIncludeTax: stored prices include the tax of the shop's origin. TaxCrossBorder: they
	// include that of the buyer, whoever buys.
	PricesIncludeTax, TaxCrossBorder bool
	// OriginCountry, OriginRegion and OriginPostcode are the place that the shop sends from, like
	// the place of the tax.
	OriginCountry, OriginRegion, OriginPostcode string
	// TaxGroup is the customer group whose tax class decides the tax that prices include.
	TaxGroup int64
	Rounding Rounding
	// ByWebsite: prices may differ between websites, some of which have a base currency other than
	// Currency, the shop's.
	ByWebsite bool
	Currency  string
}

// The addresses that may decide which tax a buyer pays.
const (
	ByShipping = "shipping" // the default shipping address
	ByBilling  = "billing"  // the default billing address
	ByOrigin   = "origin"   // the shop's own, for everybody
)

// StoreTime returns t in the shop's time zone.
func (p *PriceSettings) StoreTime(t time.Time) time.Time {
	if p.TimeZone == nil {
		return t.UTC()
	}
	return t.In(p.TimeZone)
}

// A PriceSite is what the prices of a website differ by.
type PriceSite struct {
	WebsiteID int64
	ByWebsite bool // prices may differ between websites
	// Rate is what prices of all websites are multiplied by; 1 unless the website has a base currency
	// of its own.
	Rate Money
	// ListedAt is the store view whose prices lists of all store views of the website show, 0 if
	// prices are the same everywhere.
	ListedAt int64
}

// newPriceSite returns the site of a website.
func (p *PriceSettings) newPriceSite(website adapter.Record) PriceSite {
	site := PriceSite{WebsiteID: website.Get("website_id").Int(), ByWebsite: p.ByWebsite, Rate: 1}
	if !p.ByWebsite {
		return site
	}
	site.ListedAt = website.Get("default_store_id").Int()
	if p.converts(website) {
		if rate, err := strconv.ParseFloat(website.Get("currency_rate").Text(), 64); err == nil && rate > 0 && !math.IsInf(rate, 0) {
			site.Rate = Money(rate)
		}
	}
	return site
}

// converts reports whether a website has a base currency of its own.
func (p *PriceSettings) converts(website adapter.Record) bool {
	currency := website.Get("base_currency").Text()
	return p.ByWebsite && currency != "" && currency != p.Currency
}

// A PriceScope holds the settings that prices at one store view, or in the default scope, depend on.
type PriceScope struct {
	PriceSite
	Zone     *time.Location
	tax      taxSettings
	rounding Rounding
	rates    *TaxRates
	// guests and included are computed when they are first needed: the taxes of Guests, and the rates
	// in stored prices.
	guests   func() *Taxes
	included func() ClassRates
}

// taxSettings are the settings of taxes at one scope.
type taxSettings struct {
	basedOn              string
	include, crossBorder bool
	place, origin        TaxAddress
	group                int64
}

// taxes returns the settings of taxes of the default scope.
func (p *PriceSettings) taxes() taxSettings {
	return taxSettings{
		basedOn: cmp.Or(p.TaxBasedOn, ByShipping), include: p.PricesIncludeTax, crossBorder: p.TaxCrossBorder, group: p.TaxGroup,
		place:  TaxAddress{Country: adapter.Fold(p.TaxCountry), Region: adapter.Fold(p.TaxRegion), Postcode: FoldPostcode(p.TaxPostcode)},
		origin: TaxAddress{Country: adapter.Fold(p.OriginCountry), Region: adapter.Fold(p.OriginRegion), Postcode: FoldPostcode(p.OriginPostcode)},
	}
}

// with returns the settings with the values that the record of a website or of a store view has.
// An address counts as a whole.
func (t taxSettings) with(r adapter.Record) taxSettings {
	place := func(prefix string, otherwise TaxAddress) TaxAddress {
		country := r.Get(prefix + "_country").Text()
		if country == "" {
			return otherwise
		}
		return TaxAddress{Country: adapter.Fold(country), RegionID: r.Get(prefix + "_region_id").Int(), Postcode: FoldPostcode(r.Get(prefix + "_postcode").Text())}
	}
	t.place, t.origin = place("tax", t.place), place("origin", t.origin)
	switch basedOn := r.Get("tax_based_on").Text(); basedOn {
	case ByShipping, ByBilling, ByOrigin:
		t.basedOn = basedOn
	}
	if v := r.Get("prices_include_tax"); !v.Empty() {
		t.include = v.Int() != 0
	}
	if v := r.Get("tax_cross_border"); !v.Empty() {
		t.crossBorder = v.Int() != 0
	}
	if v := r.Get("tax_default_group"); !v.Empty() {
		t.group = v.Int()
	}
	return t
}

// newPriceScope returns a scope of a shop.
func (s *Shop) newPriceScope(site PriceSite, zone *time.Location, tax taxSettings, rounding Rounding) *PriceScope {
	scope := &PriceScope{PriceSite: site, Zone: zone, tax: tax, rounding: rounding, rates: s.rates}
	class, _ := s.TaxClass(tax.group)
	scope.included = sync.OnceValue(func() ClassRates { return s.rates.At(tax.origin, class) })
	guests, _ := s.TaxClass(GuestsID)
	scope.guests = sync.OnceValue(func() *Taxes { return scope.Taxes(scope.Fallback(), guests) })
	return scope
}

// PriceScope returns the scope of a store view, or else the default scope.
func (s *Shop) PriceScope(view StoreView) *PriceScope {
	if scope, ok := s.scopes[view.Id]; ok {
		return scope
	}
	return s.scopes[0]
}

// DecidedBy returns which of a customer's addresses decides the tax: [ByShipping] or [ByBilling], or
// [ByOrigin] if none of them does.
func (p *PriceScope) DecidedBy() string { return p.tax.basedOn }

// PricesIncludeTax reports whether stored prices include tax.
func (p *PriceScope) PricesIncludeTax() bool { return p.tax.include }

// Fallback returns the address that decides the tax of callers without an address of their own.
func (p *PriceScope) Fallback() TaxAddress {
	if p.tax.basedOn == ByOrigin {
		return p.tax.origin
	}
	return p.tax.place
}

// GuestTaxes returns the taxes of Guests.
func (p *PriceScope) GuestTaxes() *Taxes { return p.guests() }

// Taxes returns the taxes of a buyer of a customer tax class with an address.
func (p *PriceScope) Taxes(address TaxAddress, customerClass int64) *Taxes {
	return p.taxesAt(p.rates.At(address, customerClass))
}

// NoTaxes returns the taxes of a buyer who pays none.
func (p *PriceScope) NoTaxes() *Taxes { return p.taxesAt(nil) }

func (p *PriceScope) taxesAt(buyer ClassRates) *Taxes {
	t := &Taxes{Buyer: buyer, PricesInclude: p.tax.include, Rounding: p.rounding}
	switch {
	case !t.PricesInclude:
	case p.tax.crossBorder:
		t.Included = buyer
	default:
		t.Included = p.included()
	}
	return t
}
