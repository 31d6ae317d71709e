package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
)

// A StoreView is the scope at which a call reads or writes values. The zero storeView is
// the default scope.
type StoreView struct {
	Id        int64
	WebsiteID int64
	Code      string
}

// AdminStore names the default scope in place of a store view's code.
const AdminStore = "admin"

// A Shop holds the shop's store views, websites, customer groups and tax rates,
// which no call changes.
type Shop struct {
	Views          []StoreView
	DefaultView    StoreView
	Websites       []int64          // ids a customer may have, including 0
	websitesByCode map[string]int64 // by lower-case code
	sites          []Website        // the first is the default scope's
	Groups         []int64          // ids a customer may have, without the group of Guests
	taxClasses     map[int64]int64  // of customers, by group
	Rates          []taxRate
	readAt         time.Time
	generation     uint64 // of the cache, before it was read
}

// A Website holds the data that the prices of a website depend on.
type Website struct {
	Id         int64
	Zone       *time.Location
	TaxAddress TaxAddress        // of callers without an address
	GuestTaxes func() ClassTaxes // computed when they are first needed
}

// Site returns the website with the given id, or the default scope's.
func (s *Shop) Site(id int64) *Website {
	for i := range s.sites {
		if s.sites[i].Id == id {
			return &s.sites[i]
		}
	}
	return &s.sites[0]
}

// TaxClass returns the tax class of a group of customers. known is false if there is no such
// group. A shop without groups knows none, so that nothing depends on them.
func (s *Shop) TaxClass(group int64) (class int64, known bool) {
	class, known = s.taxClasses[group]
	return class, known || len(s.taxClasses) == 0
}

// MatchesLoosely reports whether name would be the number or code of a store view or the
// default scope if its exact spelling did not matter.
func (s *Shop) MatchesLoosely(name string) bool {
	number, isNumber := codec.ParseNumber(name)
	folded := adapter.Fold(name)
	if isNumber && number == 0 || folded == adapter.Fold(AdminStore) {
		return true
	}
	return slices.ContainsFunc(s.Views, func(view StoreView) bool {
		return isNumber && number == float64(view.Id) || folded == adapter.Fold(view.Code)
	})
}

// View returns the store view with the given id.
func (s *Shop) View(id int64) (StoreView, bool) {
	at := slices.IndexFunc(s.Views, func(view StoreView) bool { return view.Id == id })
	if at < 0 {
		return StoreView{}, false
	}
	return s.Views[at], true
}

// HasWebsite reports whether products can be assigned to website id. They cannot be
// assigned to website 0.
func (s *Shop) HasWebsite(id int64) bool { return id != 0 && slices.Contains(s.Websites, id) }

// Website returns the id of the website that a path segment names: exactly a number, or a
// code in any case (product_parts 3.6).
func (s *Shop) Website(name string) (int64, bool) {
	if _, isNumber := codec.ParseNumber(name); isNumber {
		id, ok := codec.ParseID(name)
		return id, ok && s.HasWebsite(id)
	}
	id, ok := s.websitesByCode[strings.ToLower(name)]
	return id, ok
}

// PriceSettings are the settings that prices depend on, besides products and customers.
type PriceSettings struct {
	// TimeZone is the shop's time zone; special prices begin and end in it. nil means UTC.
	TimeZone *time.Location
	// TaxCountry and TaxRegion are the place where a caller without a shipping address pays
	// tax. TaxRegion is the code of a region or "".
	TaxCountry, TaxRegion string
}

// StoreTime returns t in the shop's time zone.
func (p *PriceSettings) StoreTime(t time.Time) time.Time {
	if p.TimeZone == nil {
		return t.UTC()
	}
	return t.In(p.TimeZone)
}

// setDefaultView finds the shop's default store view: the one of its default website, or else
// of the first website that has one.
func (s *Shop) setDefaultView(websites []adapter.Record) {
	for _, w := range websites {
		view, ok := s.View(w.Get("default_store_id").Int())
		switch {
		case !ok:
		case w.Get("is_default").Int() == 1:
			s.DefaultView = view
			return
		case s.DefaultView.Id == 0:
			s.DefaultView = view
		}
	}
}

// GuestsID is the customer group of Guests.
const GuestsID = 0
