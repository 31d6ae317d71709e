package handlers

import (
	"cmp"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// regularPriceValues names the stored values of a regular price.
func regularPriceValues() []string { return []string{"type_id", "price_type", "price"} }

// finalPriceValues names the stored values of a final price.
func finalPriceValues() []string {
	return append(regularPriceValues(), "special_price", "special_from_date", "special_to_date")
}

// finalPriceLists names the lists on demand of a final price.
func finalPriceLists() []string { return []string{"group_price", "rule_price"} }

// regularPrice returns the price of one unit of the product for all customers, without tax.
func regularPrice(product adapter.Record, pricing contract.Pricing, inList bool) resource.Money {
	if !hasOwnPrice(product, pricing) || pricing == contract.PricedAsBundle && inList {
		return 0
	}
	return resource.ParseMoney(product.Get("price"))
}

// hasOwnPrice reports whether the price of a product is its own, not the price of its parts.
func hasOwnPrice(product adapter.Record, pricing contract.Pricing) bool {
	return pricing == contract.PricedItself || pricing == contract.PricedAsBundle && product.Get("price_type").Int() == fixedPrice
}

// fixedPrice is the price_type of bundles with a price of their own.
const fixedPrice = 1

// FinalPrice returns the price of one unit of the product for b, without tax: the lowest of
// its price, its special price while that applies, the price for b's group, and today's price
// of the rules of the catalog. Tier prices do not count.
func (b *buyer) FinalPrice(product adapter.Record, pricing contract.Pricing, inList bool) resource.Money {
	if !hasOwnPrice(product, pricing) {
		return 0
	}
	price := resource.ParseMoney(product.Get("price"))
	final := price
	if special := product.Get("special_price"); !special.Empty() && b.specialPriceApplies(product, inList) {
		reduced := resource.ParseMoney(special)
		if pricing == contract.PricedAsBundle {
			reduced = price.Percent(reduced)
		}
		final = min(final, reduced)
	}
	final = min(final, b.groupPrice(product, final, pricing, inList))
	return min(final, b.rulePrice(product, final))
}

// groupPrice returns the price for b's group, or otherwise if there is none. Lists count the lowest entry;
// single records one that holds at the website in place of one that holds at all.
func (b *buyer) groupPrice(product adapter.Record, otherwise resource.Money, pricing contract.Pricing, inList bool) resource.Money {
	entries := product.Get("group_price").Records()
	if !inList && b.ByWebsite {
		for _, p := range pricesAt(&b.PriceSite, entries, pricing) {
			if b.isFor(p.Record) {
				otherwise = min(otherwise, p.price)
			}
		}
		return otherwise
	}
	for _, p := range entries {
		website := p.Get("website_id").Int()
		switch {
		case !b.isFor(p) || website != 0 && (website != b.WebsiteID || !inList):
		case website == 0 && b.ByWebsite:
			otherwise = min(otherwise, (resource.ParseMoney(p.Get("price")) * b.Rate).FourPlaces())
		default:
			otherwise = min(otherwise, resource.ParseMoney(p.Get("price")))
		}
	}
	return otherwise
}

// isFor reports whether an entry of a price list is for b's customer group.
func (b *buyer) isFor(price adapter.Record) bool {
	group := price.Get("cust_group").Int()
	return !b.GroupGone && (group == b.group || group == adapter.AllGroupsID)
}

// rulePrice returns today's price of the rules of the catalog, or otherwise if there is none.
// It also notes that the answer changes at midnight.
func (b *buyer) rulePrice(product adapter.Record, otherwise resource.Money) resource.Money {
	prices, today := product.Get("rule_price").Records(), dateOnly(b.now)
	if len(prices) > 0 {
		b.notePriceChange(time.DateOnly, today, 24*time.Hour)
	}
	for _, p := range prices {
		if p.Get("cust_group").Int() == b.group && !b.GroupGone && p.Get("website_id").Int() == b.WebsiteID && dateOnly(p.Get("rule_date").Text()) == today {
			return resource.ParseMoney(p.Get("price"))
		}
	}
	return otherwise
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
	if at > b.now && (b.At == "" || at < b.At) {
		b.At = at
	}
}

// dateOnly returns the date of a stored time, or "" for an empty one.
func dateOnly(t string) string { return t[:min(len(t), len(time.DateOnly))] }

// TierPrices returns the public tier_price: the quantity prices that apply to b by
// ascending quantity, and for each quantity the lowest. keepsForm: prices that the original shows as
// they are stored keep their form.
func (b *buyer) TierPrices(product adapter.Record, pricing contract.Pricing, keepsForm bool) codec.Node {
	var mine []listedPrice
	for _, t := range pricesAt(&b.PriceSite, product.Get("tier_price").Records(), pricing) {
		if group := t.Get("cust_group").Int(); group == adapter.AllGroupsID || group == b.group && !b.GroupGone {
			mine = append(mine, t)
		}
	}
	slices.SortStableFunc(mine, func(a, b listedPrice) int {
		return cmp.Or(compareMoney(a.Record, b.Record, "price_qty"), cmp.Compare(a.price, b.price))
	})
	mine = slices.CompactFunc(mine, func(a, b listedPrice) bool { return compareMoney(a.Record, b.Record, "price_qty") == 0 })
	class := product.Get("tax_class_id").Int()
	rows := make([]codec.Node, len(mine))
	for i := range mine {
		t := &mine[i]
		with, without := centsNode(b.Taxes.WithTax(t.price, class)), centsNode(b.Taxes.WithoutTax(t.price, class))
		if keepsForm && b.Taxes.KeepsPrice(class) {
			with, without = t.node(true), t.node(true)
		}
		rows[i] = codec.RecordNode(
			codec.Member{Key: "qty", Value: codec.TextNode(t.Get("price_qty").Text())},
			codec.Member{Key: "price_with_tax", Value: with},
			codec.Member{Key: "price_without_tax", Value: without},
		)
	}
	return codec.ListNode(rows)
}

// compareMoney compares an amount of two records.
func compareMoney(a, b adapter.Record, attribute string) int {
	return cmp.Compare(resource.ParseMoney(a.Get(attribute)), resource.ParseMoney(b.Get(attribute)))
}
