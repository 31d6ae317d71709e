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
	Websites       []int64               // ids a customer may have, including 0
	websitesByCode map[string]int64      // by lower-case code
	scopes         map[int64]*PriceScope // by store view; that of the default scope has the key 0
	Groups         []int64               // ids a customer may have, without the group of Guests
	taxClasses     map[int64]int64       // of customers, by group
	rates          *TaxRates
	Options        *Options
	converts       map[int64]bool // websites with a base currency of their own
	readAt         time.Time
	generation     uint64 // of the cache, before it was read
}

// ConvertsPrices reports whether a website has a base currency of its own.
func (s *Shop) ConvertsPrices(website int64) bool { return s.converts[website] }

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
