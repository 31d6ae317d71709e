package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A listedPrice is an entry of group_price or tier_price, as a website shows it.
type listedPrice struct {
	adapter.Record
	website   int64
	price     resource.Money
	converted bool // the price was multiplied by the website's rate
}

// node renders the price: as it is stored, or if it was converted, as a number or a text with four places.
func (p *listedPrice) node(asNumber bool) codec.Node {
	switch {
	case p.converted && asNumber:
		return doubleNode(p.price)
	case p.converted:
		return fourPlacesNode(p.price.FourPlaces())
	}
	return codec.TextNode(p.Get("price").Text())
}

// pricesAt returns the entries of a list of prices that a single product shows (configurations 4.2).
// While prices are global, these are the entries of all websites. Where prices differ between websites,
// the default scope shows every entry, and a store view the entries of its website and, converted to its
// base currency, those of all websites that it does not replace. Prices of bundles are percentages, which
// are not converted.
func pricesAt(site *resource.PriceSite, list []adapter.Record, pricing contract.Pricing) []listedPrice {
	if len(list) == 0 {
		return nil
	}
	shown := make([]listedPrice, 0, len(list))
	type slot struct {
		group int64
		qty   string
	}
	var taken map[slot]int
	for _, r := range list {
		entry := listedPrice{Record: r, website: r.Get("website_id").Int(), price: resource.ParseMoney(r.Get("price"))}
		ofAll := entry.website == 0
		if !site.ByWebsite || site.WebsiteID == 0 {
			if ofAll || site.ByWebsite {
				shown = append(shown, entry)
			}
			continue
		}
		if !ofAll && entry.website != site.WebsiteID {
			continue
		}
		entry.website = site.WebsiteID
		if ofAll && pricing != contract.PricedAsBundle {
			entry.price, entry.converted = entry.price*site.Rate, true
		}
		key := slot{r.Get("cust_group").Int(), r.Get("price_qty").Text()}
		if i, ok := taken[key]; !ok {
			if taken == nil {
				taken = map[slot]int{}
			}
			taken[key] = len(shown)
			shown = append(shown, entry)
		} else if !ofAll {
			shown[i] = entry
		}
	}
	return shown
}

// members returns the members that group and tier prices have in common in dialect d.
func (p *listedPrice) members(d *contract.Dialect) []codec.Member {
	return []codec.Member{
		{Key: "website_id", Value: resource.IntegerNode(d, p.website)},
		{Key: "cust_group", Value: resource.IntegerNode(d, p.Get("cust_group").Int())},
		{Key: "price", Value: p.node(d.StoredPriceForm)},
	}
}

// listedPrices returns the products of a batch of a public list with the prices that the list shows: at
// all store views of a website those of its default store view (configurations 4.3).
func (p *productReply) listedPrices(ctx context.Context, products []adapter.Record) ([]adapter.Record, error) {
	shop, err := p.of.finder.Shops.Current(ctx)
	if err != nil || !p.isPublic() || !p.needsBuyer || p.view.Id == 0 {
		return products, err
	}
	at := shop.PriceScope(p.view).ListedAt
	if at == 0 {
		return products, nil
	}
	priced := make([]adapter.Record, 0, len(products))
	names := finalPriceValues()[2:] // the type is the same everywhere
	for start := 0; start < len(products); start += stockItemsPerQuery {
		batch := products[start:min(start+stockItemsPerQuery, len(products))]
		ids := make([]string, len(batch))
		for i, r := range batch {
			ids[i] = r.Get("entity_id").Text()
		}
		found, err := p.of.Source.All(ctx, &adapter.ListParams{
			Query: adapter.Query{Where: []adapter.Condition{resource.NewCondition("entity_id", adapter.In, ids...)}},
			// Unlike the other values of lists, prices count that only the store view has.
			StoreID: at, WebsiteScope: true, Only: names,
		})
		if err != nil {
			return nil, err
		}
		byKey := make(map[adapter.Key]adapter.Record, len(found))
		for _, r := range found {
			byKey[r.Key()] = r
		}
		for _, r := range batch {
			if other, ok := byKey[r.Key()]; ok {
				r = r.Clone()
				for _, name := range names {
					r.Set(name, other.Get(name))
				}
			}
			priced = append(priced, r)
		}
	}
	return priced, nil
}
