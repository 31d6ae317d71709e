package mapping

import (
	"context"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// PriceSettings are what prices depend on besides products and customers.
type PriceSettings struct {
	// TimeZone is the store's: days begin and special prices change in it. nil is
	// UTC.
	TimeZone *time.Location
	// TaxCountry and TaxRegion, the code of one of its regions or "", are where
	// callers without a shipping address pay tax.
	TaxCountry, TaxRegion string
}

// money is an amount, or a percentage, in ten-thousandths. It is never negative.
type money uint64

// moneyUnit is 1 in ten-thousandths.
const moneyUnit = 10000

// parseMoney reads a decimal with four places. What is no such text, or below 0,
// is 0: no price goes below (products 3.5).
func parseMoney(v adapter.Value) money {
	whole, fraction, _ := strings.Cut(v.Text(), ".")
	n, err := strconv.ParseUint(whole+fraction, 10, 63)
	if err != nil || len(fraction) != 4 {
		return 0
	}
	return money(n)
}

// plus returns m with percent added, in cents, rounded half away from zero.
func (m money) withPercent(percent money) (cents uint64) {
	// m and the factor in ten-thousandths of a percent multiply to 10^-10.
	const inCent = 100 * moneyUnit * 100
	high, low := bits.Mul64(uint64(m), uint64(percent)+100*moneyUnit)
	low, carry := bits.Add64(low, inCent/2, 0)
	high += carry
	if high >= inCent {
		return 1<<64 - 1 // beyond what any column holds
	}
	cents, _ = bits.Div64(high, low, inCent)
	return cents
}

// number writes cents in the shortest form: 43.29, 119.5, 99.
func centsNode(cents uint64) codec.Node {
	text := strconv.FormatUint(cents/100, 10)
	if part := cents % 100; part != 0 {
		text += strings.TrimRight("."+strconv.FormatUint(part/10, 10)+strconv.FormatUint(part%10, 10), "0")
	}
	return codec.NumberNode(text)
}

// A taxRate is the percentage on products of a class in a place. Texts are
// folded.
type taxRate struct {
	class              int64
	country            string
	region, regionName string // code and name; "" for the whole country
	regionID           int64
	percent            money
}

// A place is where tax is due. Texts are folded; region is a code or a name.
type taxAddress struct {
	country, region string
	regionID        int64
}

// covers reports whether the rate applies in p.
func (t *taxRate) appliesTo(p taxAddress) bool {
	switch {
	case t.country != p.country:
		return false
	case t.region == "":
		return true
	case t.regionID != 0 && p.regionID != 0:
		return t.regionID == p.regionID
	default:
		return p.region == t.region || t.regionName != "" && p.region == t.regionName
	}
}

// A buyer is who prices are for.
type buyer struct {
	group int64
	rates []taxRate // those of the buyer's place, of a region before of a country
	clock string    // now in the store, as stored times are written
	// nextChange is when the next special price of those asked for begins or ends,
	// as the clock shows it; empty for none.
	nextChange string
}

// allGroups is the group of tier prices that hold for everybody.
const allGroupsID = 32000

// buyer finds the caller's group and place (products 3.5). A Customer's are read
// together; one without a shipping address pays tax where a Guest does.
func (s *Service) findBuyer(ctx context.Context, c *Call) (*buyer, error) {
	shop, err := s.shops.current(ctx)
	if err != nil {
		return nil, err
	}
	settings := s.settings.Prices
	b := &buyer{clock: s.settings.storeTime(s.settings.Now()).Format(time.DateTime)}
	at := taxAddress{country: adapter.Fold(settings.TaxCountry), region: adapter.Fold(settings.TaxRegion)}
	if c.Principal.Role == contract.Customer {
		if b.group, at, err = s.customerTaxAddress(ctx, c.Principal.CustomerID, at); err != nil {
			return nil, err
		}
	}
	for i := range shop.rates {
		if shop.rates[i].appliesTo(at) {
			b.rates = append(b.rates, shop.rates[i])
		}
	}
	slices.SortStableFunc(b.rates, func(a, b taxRate) int { return strings.Compare(b.region, a.region) })
	return b, nil
}

// customerPlace returns the group of a customer and the place of the default
// shipping address, or else usual.
func (s *Service) customerTaxAddress(ctx context.Context, id int64, fallback taxAddress) (group int64, at taxAddress, err error) {
	found, err := s.addresses.all(ctx, &adapter.ListParams{
		Query:   adapter.Query{Where: []adapter.Condition{integerEquals("is_default_shipping", 1)}, Limit: 1},
		OwnerID: id,
		With:    []string{"customer_group_id"},
	})
	if err != nil {
		return 0, fallback, err
	}
	if len(found) > 0 {
		address := found[0]
		return address.Get("customer_group_id").Int(), taxAddress{
			country:  adapter.Fold(address.Get("country_id").Text()),
			region:   adapter.Fold(address.Get("region").Text()),
			regionID: address.Get("region_id").Int(),
		}, nil
	}
	customer, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
	if err != nil {
		return 0, fallback, err
	}
	return customer.Get("group_id").Int(), fallback, nil
}

// percent returns the rate on products of a tax class.
func (b *buyer) percent(class int64) money {
	for i := range b.rates {
		if b.rates[i].class == class {
			return b.rates[i].percent
		}
	}
	return 0
}

// final returns what one unit of the product costs b without tax: the least of
// its price, the special price while it holds, and the price of b's group. Tier
// prices do not count.
func (b *buyer) finalPrice(product adapter.Record, inList bool) money {
	price := parseMoney(product.Get("price"))
	if special := product.Get("special_price"); !special.Empty() && b.specialPriceApplies(product, inList) {
		price = min(price, parseMoney(special))
	}
	for _, p := range product.Get("group_price").Records() {
		if p.Get("cust_group").Int() == b.group {
			price = min(price, parseMoney(p.Get("price")))
		}
	}
	return price
}

// specialHolds reports whether the window of the special price is open: in lists
// by whole days, else to the second and 24 hours beyond its end. A missing bound
// is open.
func (b *buyer) specialPriceApplies(product adapter.Record, inList bool) bool {
	from, to, now := product.Get("special_from_date").Text(), product.Get("special_to_date").Text(), b.clock
	if inList {
		from, to, now = dateOnly(from), dateOnly(to), dateOnly(now)
		b.notePriceChange(time.DateOnly, from, 0)
		b.notePriceChange(time.DateOnly, to, 24*time.Hour)
	} else {
		if end, err := time.Parse(time.DateTime, to); err == nil {
			to = end.Add(24 * time.Hour).Format(time.DateTime)
		}
		b.notePriceChange(time.DateTime, from, 0)
		b.notePriceChange(time.DateTime, to, time.Second)
	}
	return (from == "" || from <= now) && (to == "" || now <= to)
}

// changesAt notes that a price is another from a time on, written in layout, or
// from so long after it.
func (b *buyer) notePriceChange(layout, from string, after time.Duration) {
	start, err := time.Parse(layout, from)
	if err != nil {
		return
	}
	at := start.Add(after).Format(time.DateTime)
	if at > b.clock && (b.nextChange == "" || at < b.nextChange) {
		b.nextChange = at
	}
}

// day returns the date of a stored time, "" of none.
func dateOnly(t string) string { return t[:min(len(t), len(time.DateOnly))] }

// tiers returns the public tier_price: the prices from a quantity on that hold
// for b, by ascending quantity, of one quantity the least.
func (b *buyer) tierPrices(product adapter.Record) codec.Node {
	var mine []adapter.Record
	for _, t := range product.Get("tier_price").Records() {
		if group := t.Get("cust_group").Int(); group == b.group || group == allGroupsID {
			mine = append(mine, t)
		}
	}
	slices.SortStableFunc(mine, func(a, b adapter.Record) int {
		if byQty := compareMoney(a, b, "price_qty"); byQty != 0 {
			return byQty
		}
		return compareMoney(a, b, "price")
	})
	mine = slices.CompactFunc(mine, func(a, b adapter.Record) bool { return compareMoney(a, b, "price_qty") == 0 })
	percent := b.percent(product.Get("tax_class_id").Int())
	rows := make([]codec.Node, len(mine))
	for i, t := range mine {
		price := parseMoney(t.Get("price"))
		rows[i] = recordNode(
			codec.Member{Key: "qty", Value: codec.TextNode(t.Get("price_qty").Text())},
			codec.Member{Key: "price_with_tax", Value: centsNode(price.withPercent(percent))},
			codec.Member{Key: "price_without_tax", Value: centsNode(price.withPercent(0))},
		)
	}
	return listNode(rows)
}

func compareMoney(a, b adapter.Record, attribute string) int {
	x, y := parseMoney(a.Get(attribute)), parseMoney(b.Get(attribute))
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}
