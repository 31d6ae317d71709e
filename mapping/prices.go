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

// PriceSettings are the settings that prices depend on, besides products and customers.
type PriceSettings struct {
	// TimeZone is that of the shop; special prices begin and end in it. nil means UTC.
	TimeZone *time.Location
	// TaxCountry and TaxRegion are where a caller without a shipping address pays tax.
	// TaxRegion is the code of a region or "".
	TaxCountry, TaxRegion string
}

// money is an amount or a percentage, in ten-thousandths. It is never negative.
type money uint64

// moneyUnit is 1 in ten-thousandths.
const moneyUnit = 10000

// parseMoney parses a decimal with four places. Anything else, and any negative amount,
// is 0: no price is negative (products 3.5).
func parseMoney(v adapter.Value) money {
	whole, fraction, _ := strings.Cut(v.Text(), ".")
	n, err := strconv.ParseUint(whole+fraction, 10, 63)
	if err != nil || len(fraction) != 4 {
		return 0
	}
	return money(n)
}

// withPercent returns m plus percent of it, in cents, with half cents rounded up.
func (m money) withPercent(percent money) (cents uint64) {
	// The product of m and the factor has a unit of 10^-10.
	const inCent = 100 * moneyUnit * 100
	high, low := bits.Mul64(uint64(m), uint64(percent)+100*moneyUnit)
	low, carry := bits.Add64(low, inCent/2, 0)
	high += carry
	if high >= inCent {
		return 1<<64 - 1 // more than any column can hold
	}
	cents, _ = bits.Div64(high, low, inCent)
	return cents
}

// centsNode returns cents as a number in its shortest form: 43.29, 119.5, 99.
func centsNode(cents uint64) codec.Node {
	text := strconv.FormatUint(cents/100, 10)
	if part := cents % 100; part != 0 {
		text += strings.TrimRight("."+strconv.FormatUint(part/10, 10)+strconv.FormatUint(part%10, 10), "0")
	}
	return codec.NumberNode(text)
}

// A taxRate is the tax rate of one product tax class in one country or region. Its texts
// are folded.
type taxRate struct {
	class              int64
	country            string
	region, regionName string // code and name, or "" for the whole country
	regionID           int64
	percent            money
}

// A taxAddress is the place whose tax rates apply. Its texts are folded; region is a code
// or a name.
type taxAddress struct {
	country, region string
	regionID        int64
}

// appliesTo reports whether the rate applies to customers at address p: in its country, and
// in its region, if it has one, by id where both have an id and by name otherwise.
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

// A buyer is the customer group and the tax rates for which prices are computed.
type buyer struct {
	group int64
	rates []taxRate // rates of the buyer's region before those of the country
	now   string    // the current time in the shop, in the format of stored times
	// nextChange is the time, in the same format, at which a special price that was
	// computed begins or ends next; "" if none does.
	nextChange string
}

// allGroupsID is the customer group of tier prices that apply to everybody.
const allGroupsID = 32000

// findBuyer determines the caller's customer group and tax address (products 3.5). A
// Customer without a default shipping address pays the same tax as a Guest.
func (s *Service) findBuyer(ctx context.Context, c *Call) (*buyer, error) {
	shop, err := s.shops.current(ctx)
	if err != nil {
		return nil, err
	}
	settings := s.settings.Prices
	b := &buyer{now: s.settings.storeTime(s.settings.Now()).Format(time.DateTime)}
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

// customerTaxAddress returns a customer's group and the place of their default shipping
// address, or fallback without one. It reads both in one query if there is such an
// address.
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

// percent returns the tax rate for a product tax class.
func (b *buyer) percent(class int64) money {
	for i := range b.rates {
		if b.rates[i].class == class {
			return b.rates[i].percent
		}
	}
	return 0
}

// finalPrice returns what one unit of the product costs b, without tax: the lowest of its
// price, its special price while that applies, and the price for b's group. Tier prices
// do not count.
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

// specialPriceApplies reports whether the special price applies now. Lists compare whole
// days; otherwise the price applies to the second, and until 24 hours after its end. A
// missing bound is open. It also notes when the answer changes.
func (b *buyer) specialPriceApplies(product adapter.Record, inList bool) bool {
	from, to, now := product.Get("special_from_date").Text(), product.Get("special_to_date").Text(), b.now
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

// notePriceChange notes that a price changes at the given delay after the time from,
// which is written in layout.
func (b *buyer) notePriceChange(layout, from string, after time.Duration) {
	start, err := time.Parse(layout, from)
	if err != nil {
		return
	}
	at := start.Add(after).Format(time.DateTime)
	if at > b.now && (b.nextChange == "" || at < b.nextChange) {
		b.nextChange = at
	}
}

// dateOnly returns the date of a stored time, or "" for an empty one.
func dateOnly(t string) string { return t[:min(len(t), len(time.DateOnly))] }

// tierPrices returns the public tier_price: the quantity prices that apply to b by
// ascending quantity, and for each quantity the lowest.
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
