package handlers

import (
	"cmp"
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// ordersByFinalPrice reports whether the original answers a list of products from its
// price index: for an Admin at a store view, ordered by price (wire 10).
func (p *Products) ordersByFinalPrice(c *resource.Call, view resource.StoreView, wanted *input.List) bool {
	return p.Dialect.PriceIndex && c.Principal.Role == contract.Admin && view.Id != 0 && wanted.Query.OrderBy == "price"
}

// A pricedProduct is the key of a product and its price for Guests.
type pricedProduct struct {
	key   adapter.Key
	price resource.Money
}

// rowsByFinalPrice returns the requested products in the order of their prices for
// Guests, ties by ascending id. It holds only the keys and prices of all products in
// memory.
func (p *Products) rowsByFinalPrice(ctx context.Context, c *resource.Call, wanted *input.List, bounds adapter.ListParams, hook resource.RecordsHook) (*resource.Rows, error) {
	priced, err := p.finalPrices(ctx, c, wanted, bounds)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(priced, func(a, b pricedProduct) int {
		if wanted.Query.Desc {
			a, b = b, a
		}
		return cmp.Compare(a.price, b.price)
	})
	if limit := wanted.Paging.Limit; limit > 0 {
		total := int64(len(priced))
		offset := min(wanted.Paging.OffsetIn(total), total)
		priced = priced[offset:min(offset+limit, total)]
	}
	keys := make([]adapter.Key, len(priced))
	for i, one := range priced {
		keys[i] = one.key
	}
	return p.RowsByKeys(ctx, keys, wanted.ShownNull, bounds, c.Limits, hook)
}

// finalPrices returns the products of a list by ascending id, with their prices.
func (p *Products) finalPrices(ctx context.Context, c *resource.Call, wanted *input.List, bounds adapter.ListParams) ([]pricedProduct, error) {
	bounds.Query = adapter.Query{Where: wanted.Query.Where}
	bounds.With, bounds.Only = finalPriceLists(), finalPriceValues()
	shop, err := p.finder.Shops.Current(ctx)
	if err != nil {
		return nil, err
	}
	view, _ := shop.View(bounds.StoreID)
	guest := p.buyers.Guest(shop.PriceScope(view))
	bounds.Buyer = &adapter.Buyer{Group: guest.group, WebsiteID: guest.WebsiteID}
	if guest.ListedAt != 0 {
		bounds.StoreID = guest.ListedAt
	}
	var priced []pricedProduct
	_, err = p.AllRows(ctx, bounds, c.Limits, func(_ context.Context, products []adapter.Record) ([]adapter.Record, error) {
		for _, product := range products {
			priced = append(priced, pricedProduct{product.Key(), guest.FinalPrice(product, p.pricing(product), true)})
		}
		return nil, nil // keep no record in memory
	})
	return priced, err
}
