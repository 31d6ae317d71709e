package mapping

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A taxFactor is the factor by which taxes multiply a price, in 10^-12.
type taxFactor uint64

// noTax leaves prices as they are.
const noTax taxFactor = 1e12

// with returns f with a further tax on top.
func (f taxFactor) with(percent money) taxFactor {
	const whole = 100 * moneyUnit
	product, ok := mulDiv(uint64(f), min(uint64(percent), math.MaxUint64-whole)+whole, whole)
	if !ok {
		return math.MaxUint64
	}
	return taxFactor(product)
}

// A taxRate is the tax rate of one product tax class in one place. Its texts are folded.
type taxRate struct {
	class         int64
	customerClass int64 // 0: that of any customer
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
	percent           money
}

// A taxAddress is the place whose tax rates apply. Its texts are folded; region is a code
// or a name.
type taxAddress struct {
	country, region string
	regionID        int64
	postcode        string
}

// appliesTo reports whether the rate applies to customers at address p: in its country, and
// in its region and at its postcode, if it has them.
func (t *taxRate) appliesTo(p taxAddress) bool {
	return t.country == p.country && t.appliesToRegion(p) && t.appliesToPostcode(p.postcode)
}

// hasRegion reports whether the rate applies to a part of its country.
func (t *taxRate) hasRegion() bool { return t.region != "" || t.regionID != 0 }

// appliesToRegion compares regions by id where both have an id and by name otherwise.
func (t *taxRate) appliesToRegion(p taxAddress) bool {
	switch {
	case !t.hasRegion():
		return true
	case t.regionID != 0 && p.regionID != 0:
		return t.regionID == p.regionID
	default:
		return p.region != "" && (p.region == t.region || p.region == t.regionName)
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
	t.postcode, _, t.isPrefix = strings.Cut(foldPostcode(rate.Get("postcode").Text()), "*")
}

// foldPostcode returns a postcode in a form that is the same for all spellings.
func foldPostcode(text string) string { return adapter.Fold(strings.TrimSpace(text)) }

// specificity orders the rates of one rule that apply at the same address, the most specific
// one last: first by postcode, of which one postcode is more specific than the beginning of
// some, and that than a range; then by region.
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

// A classTax is the tax on products of one tax class.
type classTax struct {
	class  int64
	factor taxFactor
}

// taxesAt returns the taxes that customers of a tax class pay at an address (products 3.5):
// of each rule the most specific rate. Rates of equal priority are added up, and those of a
// higher number are calculated on top of the lower.
func taxesAt(rates []taxRate, at taxAddress, customerClass int64) []classTax {
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
	var taxes []classTax
	for i := 0; i < len(chosen); {
		first, sum := chosen[i], money(0)
		for ; i < len(chosen) && chosen[i].class == first.class && chosen[i].priority == first.priority; i++ {
			sum += chosen[i].percent
		}
		if len(taxes) == 0 || taxes[len(taxes)-1].class != first.class {
			taxes = append(taxes, classTax{first.class, noTax})
		}
		last := &taxes[len(taxes)-1]
		last.factor = last.factor.with(sum)
	}
	return taxes
}

// readRates reads the tax rates, with the ids and names of their regions.
func (s *shopConfigCache) readRates(ctx context.Context) ([]taxRate, error) {
	listed, err := s.rates.all(ctx, &adapter.ListParams{})
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
			percent:       parseMoney(r.Get("rate")),
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
func (s *shopConfigCache) nameRegions(ctx context.Context, rates []taxRate, countries []string) error {
	if len(countries) == 0 {
		return nil
	}
	regions, err := s.regions.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{condition("country_id", adapter.In, countries...)},
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
