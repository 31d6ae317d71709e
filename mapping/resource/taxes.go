package resource

import (
	"cmp"
	"github.com/portico-commerce/portico/adapter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A taxRate is the tax rate of one product tax class in one place. Its texts are folded.
type taxRate struct {
	class         int64
	customerClass int64 // 0: of any customer
	country       string
	// region and regionName are code and name of a region, regionID its id; all are empty
	// for a whole country.
	region, regionName string
	regionID           int64
	// postcode is a postcode or, if isPrefix, how postcodes begin; "" for any. If isRange,
	// from and to count in place of it.
	postcode          string
	isPrefix, isRange bool
	from, to          int64
	rule, priority    int64
	percent           Money
}

// A TaxAddress is the place whose tax rates apply. Its texts are folded; region is a code
// or a name.
type TaxAddress struct {
	Country, Region string
	RegionID        int64
	Postcode        string
}

// appliesTo reports whether the rate applies to customers at address p: in its country, and
// in its region and at its postcode, if it has them.
func (t *taxRate) appliesTo(p TaxAddress) bool {
	return t.country == p.Country && t.appliesToRegion(p) && t.appliesToPostcode(p.Postcode)
}

// hasRegion reports whether the rate applies to a part of its country.
func (t *taxRate) hasRegion() bool { return t.region != "" || t.regionID != 0 }

// appliesToRegion compares regions by id where both have an id and by name otherwise.
func (t *taxRate) appliesToRegion(p TaxAddress) bool {
	switch {
	case !t.hasRegion():
		return true
	case t.regionID != 0 && p.RegionID != 0:
		return t.regionID == p.RegionID
	default:
		return p.Region != "" && (p.Region == t.region || p.Region == t.regionName)
	}
}

// appliesToPostcode reports whether the rate applies at a postcode, "" for an unknown one.
func (t *taxRate) appliesToPostcode(postcode string) bool {
	switch {
	case t.isRange:
		number, err := strconv.ParseInt(postcode, 10, 64)
		return err == nil && t.from <= number && number <= t.to
	case t.isPrefix:
		return strings.HasPrefix(postcode, t.postcode)
	default:
		return t.postcode == "" || t.postcode == postcode
	}
}

// setPostcode sets the postcodes to which the rate applies from a record.
func (t *taxRate) setPostcode(rate adapter.Record) {
	if from, to := rate.Get("zip_from"), rate.Get("zip_to"); !from.Empty() {
		t.isRange, t.from, t.to = true, from.Int(), to.Int()
		if to.Empty() {
			t.to = t.from
		}
		return
	}
	t.postcode, _, t.isPrefix = strings.Cut(FoldPostcode(rate.Get("postcode").Text()), "*")
}

// FoldPostcode returns a postcode in a form that is the same for all spellings.
func FoldPostcode(text string) string { return adapter.Fold(strings.TrimSpace(text)) }

// specificity orders the rates of one rule that apply at the same address, the most specific
// one last: first by postcode (a postcode is more specific than a beginning of postcodes,
// and a beginning than a range), then by region.
func (t *taxRate) specificity() (postcode, region int) {
	switch {
	case t.isRange:
		postcode = 1
	case t.isPrefix && t.postcode != "":
		postcode = 1 + len(t.postcode)
	case !t.isPrefix && t.postcode != "":
		postcode = math.MaxInt
	}
	if t.hasRegion() {
		region = 1
	}
	return postcode, region
}

// isMoreSpecificThan compares two rates of one rule that apply at the same address.
func (t *taxRate) isMoreSpecificThan(other *taxRate) bool {
	postcode, region := t.specificity()
	otherPostcode, otherRegion := other.specificity()
	return cmp.Or(cmp.Compare(postcode, otherPostcode), cmp.Compare(region, otherRegion)) > 0
}

// A ClassTax is the tax on products of one tax class.
type ClassTax struct {
	Class  int64
	Factor TaxFactor
}

// ClassTaxes are the taxes on products by tax class.
type ClassTaxes []ClassTax

// On returns the tax on products of a tax class.
func (t ClassTaxes) On(class int64) TaxFactor {
	for i := range t {
		if t[i].Class == class {
			return t[i].Factor
		}
	}
	return NoTax
}

// TaxesAt returns the taxes that customers of a tax class pay at an address (products 3.5):
// of each rule the most specific rate. Rates of equal priority are added up, and rates of a
// higher number are calculated on top of the lower.
func TaxesAt(rates []taxRate, at TaxAddress, customerClass int64) ClassTaxes {
	var chosen []*taxRate
	for i := range rates {
		rate := &rates[i]
		if rate.customerClass != 0 && rate.customerClass != customerClass || !rate.appliesTo(at) {
			continue
		}
		same := slices.IndexFunc(chosen, func(other *taxRate) bool { return other.class == rate.class && other.rule == rate.rule })
		switch {
		case same < 0:
			chosen = append(chosen, rate)
		case rate.isMoreSpecificThan(chosen[same]):
			chosen[same] = rate
		}
	}
	slices.SortStableFunc(chosen, func(a, b *taxRate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.priority, b.priority))
	})
	var taxes ClassTaxes
	for i := 0; i < len(chosen); {
		first, sum := chosen[i], Money(0)
		for ; i < len(chosen) && chosen[i].class == first.class && chosen[i].priority == first.priority; i++ {
			sum += chosen[i].percent
		}
		if len(taxes) == 0 || taxes[len(taxes)-1].Class != first.class {
			taxes = append(taxes, ClassTax{first.class, NoTax})
		}
		last := &taxes[len(taxes)-1]
		last.Factor = last.Factor.With(sum)
	}
	return taxes
}
