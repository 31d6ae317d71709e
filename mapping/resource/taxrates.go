package resource

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A taxRate is the tax rate of one rule on products of one tax class in one place. Its texts are
// folded.
type taxRate struct {
	class         int64
	customerClass int64 // 0: of any customer
	country       string
	// regionID is the id of a region, and region the code of one without an id; 0 and "" for a
	// whole country.
	region   string
	regionID int64
	// postcode is a postcode, or how postcodes begin, with an asterisk behind it; "" or an
	// asterisk for any. If isRange, the numbers from and to count in place of it.
	postcode string
	// noPostcode: the postcode is NULL, which sorts behind an empty one.
	noPostcode     bool
	isRange        bool
	from, to       int64
	rule, priority int64
	// addsToSubtotal: the rates of the priority are on the price alone, if the rule is the last of
	// its priority.
	addsToSubtotal bool
	percent        float64
}

// A TaxAddress is the place whose tax rates apply. Its texts are folded; region is a code
// or a name, for an address whose region has no id.
type TaxAddress struct {
	Country, Region string
	RegionID        int64
	Postcode        string
}

// anyPostcode is the postcode of an address to which every rate applies that is no range.
const anyPostcode = "*"

// FoldPostcode returns a postcode in a form that is the same for all spellings.
func FoldPostcode(text string) string { return adapter.Fold(strings.TrimSpace(text)) }

// TaxRates are the tax rates of a shop, indexed by the place where they apply.
type TaxRates struct {
	places  map[ratePlace]placeRates
	regions map[regionName]int64 // ids by code and by name
}

// A ratePlace is a country or one region of it, for customers of one tax class.
type ratePlace struct {
	customerClass int64
	country       string
	region        int64
}

// A regionName is the code or the name of a region, folded.
type regionName struct{ country, name string }

// placeRates are the rates of a place. As most places of a shop with tens of thousands of rates have one, they
// are sorted slices: with maps, the rates took more than twice the memory.
type placeRates struct {
	byPostcode []*taxRate  // the rates that are no ranges, by postcode
	ranges     []rateRange // by ascending first number
	firsts     []*taxRate  // of every rule and product tax class, the first of byPostcode
}

// A rateRange is a rate for a range of numbers. furthest is the greatest end of it and of the ranges
// before it.
type rateRange struct {
	*taxRate
	furthest int64
}

// newTaxRates indexes rates. regions has the ids of regions by code and by name.
func newTaxRates(rates []taxRate, regions map[regionName]int64) *TaxRates {
	t := &TaxRates{places: map[ratePlace]placeRates{}, regions: regions}
	sorted := make([]*taxRate, len(rates))
	for i := range rates {
		rate := &rates[i]
		rate.regionID = t.regionID(rate.country, rate.region, rate.regionID)
		if rate.region != "" && rate.regionID == 0 {
			// No address but one with the same text is in a region that the directory lacks.
			rate.regionID = -int64(len(regions)) - 1
			regions[regionName{rate.country, rate.region}] = rate.regionID
		}
		sorted[i] = rate
	}
	slices.SortStableFunc(sorted, func(a, b *taxRate) int {
		return cmp.Or(cmp.Compare(a.customerClass, b.customerClass), cmp.Compare(a.country, b.country), cmp.Compare(a.regionID, b.regionID), cmp.Compare(a.postcode, b.postcode))
	})
	for len(sorted) > 0 {
		place := sorted[0].place()
		end := slices.IndexFunc(sorted, func(r *taxRate) bool { return r.place() != place })
		if end < 0 {
			end = len(sorted)
		}
		t.places[place] = newPlaceRates(sorted[:end:end])
		sorted = sorted[end:]
	}
	return t
}

// place returns the place of a rate, whose region has an id.
func (r *taxRate) place() ratePlace { return ratePlace{r.customerClass, r.country, r.regionID} }

// newPlaceRates returns the rates of a place, which are sorted by postcode. It takes rates over.
func newPlaceRates(rates []*taxRate) (p placeRates) {
	for _, rate := range rates {
		if rate.isRange {
			p.ranges = append(p.ranges, rateRange{taxRate: rate})
		}
	}
	slices.SortStableFunc(p.ranges, func(a, b rateRange) int { return cmp.Compare(a.from, b.from) })
	furthest := int64(math.MinInt64)
	for i := range p.ranges {
		furthest = max(furthest, p.ranges[i].to)
		p.ranges[i].furthest = furthest
	}
	p.byPostcode = slices.DeleteFunc(rates, func(r *taxRate) bool { return r.isRange })
	p.firsts = p.byPostcode
	if len(p.firsts) > 1 {
		p.firsts = slices.Clone(p.firsts)
		slices.SortStableFunc(p.firsts, func(a, b *taxRate) int {
			return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.class, b.class), compareRates(a, b))
		})
		p.firsts = slices.Clip(slices.CompactFunc(p.firsts, func(a, b *taxRate) bool { return a.rule == b.rule && a.class == b.class }))
	}
	return p
}

// regionID returns the id of a region, 0 for none.
func (t *TaxRates) regionID(country, name string, id int64) int64 {
	if id != 0 || name == "" {
		return id
	}
	return t.regions[regionName{country, name}]
}

// A ruleOfClass is a rule of rates for one product tax class.
type ruleOfClass struct{ rule, class int64 }

// compareRates orders the rates of one rule and product tax class that apply at an address. The first
// one counts.
func compareRates(a, b *taxRate) int {
	last := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(last(a.regionID == 0), last(b.regionID == 0)), cmp.Compare(b.postcode, a.postcode),
		cmp.Compare(last(a.noPostcode), last(b.noPostcode)), cmp.Compare(b.percent, a.percent))
}

// At returns the rates that customers of a tax class pay at an address, by product tax class
// (configurations 3.2).
func (t *TaxRates) At(address TaxAddress, customerClass int64) ClassRates {
	region := t.regionID(address.Country, address.Region, address.RegionID)
	wanted := parsePostcode(address.Postcode)
	firsts := map[ruleOfClass]*taxRate{}
	for _, class := range slices.Compact([]int64{0, customerClass}) {
		for _, region := range slices.Compact([]int64{0, region}) {
			at := t.places[ratePlace{class, address.Country, region}]
			at.find(&wanted, firsts)
		}
	}
	chosen := make([]*taxRate, 0, len(firsts))
	for _, rate := range firsts {
		chosen = append(chosen, rate)
	}
	slices.SortFunc(chosen, func(a, b *taxRate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.priority, b.priority), cmp.Compare(a.rule, b.rule))
	})
	return addRates(chosen)
}

// addRates adds up the rates of all rules, which are ordered by product tax class, priority and rule.
func addRates(chosen []*taxRate) (totals ClassRates) {
	sum := 0.0
	for i, rate := range chosen {
		if i == 0 || chosen[i-1].class != rate.class {
			totals = append(totals, ClassRate{Class: rate.class})
		}
		sum += rate.percent
		if i+1 < len(chosen) && chosen[i+1].class == rate.class && chosen[i+1].priority == rate.priority {
			continue
		}
		total := &totals[len(totals)-1].Percent
		if rate.addsToSubtotal {
			*total += sum
		} else {
			*total += float64((100 + *total) * (sum / 100))
		}
		sum = 0
	}
	return totals
}

// find adds the rates that apply at a postcode to firsts, unless others of the same rule come first.
func (p *placeRates) find(wanted *postcode, firsts map[ruleOfClass]*taxRate) {
	add := func(rate *taxRate) {
		key := ruleOfClass{rate.rule, rate.class}
		if first := firsts[key]; first == nil || compareRates(rate, first) < 0 {
			firsts[key] = rate
		}
	}
	if wanted.any {
		for _, rate := range p.firsts {
			add(rate)
		}
	}
	for _, text := range wanted.texts {
		at, _ := slices.BinarySearchFunc(p.byPostcode, text, func(r *taxRate, text string) int { return cmp.Compare(r.postcode, text) })
		for ; at < len(p.byPostcode) && p.byPostcode[at].postcode == text; at++ {
			add(p.byPostcode[at])
		}
	}
	if !wanted.isNumber && !wanted.isRange {
		return
	}
	// A number is within the ranges that begin at it or before; a range has those within it.
	end, _ := slices.BinarySearchFunc(p.ranges, wanted.to, func(r rateRange, to int64) int {
		if r.from <= to {
			return -1
		}
		return 1
	})
	for i := end - 1; i >= 0 && p.ranges[i].furthest >= wanted.from; i-- {
		r := &p.ranges[i]
		switch {
		case wanted.isRange && r.from < wanted.from:
			return
		case wanted.isRange && r.to <= wanted.to, !wanted.isRange && r.to >= wanted.from:
			add(r.taxRate)
		}
	}
}

// A postcode is the postcode of an address, with the postcodes of rates that it matches.
type postcode struct {
	any      bool     // it matches every rate that is no range
	texts    []string // the postcodes of rates, other than ranges
	isNumber bool     // it is within ranges around the number from, which is also to
	isRange  bool     // it contains the ranges between from and to
	from, to int64
}

// maxPostcode is the number of characters of a postcode that rates are compared with.
const maxPostcode = 10

// fewDigits is the number of digits behind a hyphen that make a range of a postcode.
const fewDigits = 5

// parsePostcode returns the postcode of an address, which is folded.
func parsePostcode(text string) (p postcode) {
	if text == anyPostcode {
		return postcode{any: true}
	}
	p.texts = []string{"", "*"}
	if hyphen := strings.LastIndexByte(text, '-'); hyphen > 0 && hyphen < len(text)-1 {
		left, right := text[:hyphen], text[hyphen+1:]
		if _, ok := parseDigits(right); !ok || len(right) >= fewDigits {
			p.isRange, p.from, p.to = true, leadingDigits(left), leadingDigits(right)
			p.texts = append(p.texts, text)
			return p
		}
		p.isNumber, p.from = true, leadingDigits(left)
	} else {
		p.from, p.isNumber = parseDigits(text)
	}
	p.to = p.from
	text = text[:min(len(text), maxPostcode)]
	if text == "" {
		return p
	}
	p.texts = append(p.texts, text)
	for end := len(text); end > 0; end-- {
		p.texts = append(p.texts, text[:end]+"*")
	}
	return p
}

// parseDigits parses a text of digits.
func parseDigits(text string) (n int64, ok bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// leadingDigits returns the number that a text begins with, 0 for none.
func leadingDigits(text string) int64 {
	n, _ := parseDigits(text[:len(text)-len(strings.TrimLeft(text, "0123456789"))])
	return n
}
