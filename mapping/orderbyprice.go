package mapping

import (
	"cmp"
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// ordersByFinalPrice reports whether the original answers a list of products from its
// price index: for an Admin at a store view, ordered by price (wire 10).
func (s *Service) ordersByFinalPrice(c *Call, view storeView, wanted *listquery.List) bool {
	return s.dialect.PriceIndex && c.Principal.Role == contract.Admin && view.id != 0 && wanted.Query.OrderBy == "price"
}

// A pricedProduct is the key of a product and its price for Guests.
type pricedProduct struct {
	key   adapter.Key
	price money
}

// rowsByFinalPrice returns the requested products in the order of their prices for
// Guests, ties by ascending id. It holds only the keys and prices of all products in
// memory.
func (s *Service) rowsByFinalPrice(ctx context.Context, _ *Call, wanted *listquery.List, bounds adapter.ListParams, hook batchHook) (*rows, error) {
	priced, err := s.finalPrices(ctx, wanted, bounds)
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
	for i, p := range priced {
		keys[i] = p.key
	}
	r := &rows{from: s.products.source, next: bounds, limits: s.limits, hook: hook, keys: keys, byKeys: true, shownNull: wanted.ShownNull}
	return r, r.nextBatch(ctx)
}

// finalPrices returns the products of a list by ascending id, with their prices.
func (s *Service) finalPrices(ctx context.Context, wanted *listquery.List, bounds adapter.ListParams) ([]pricedProduct, error) {
	bounds.Query = adapter.Query{Where: wanted.Query.Where}
	bounds.With, bounds.Only = finalPriceLists(), finalPriceValues()
	shop, err := s.shops.current(ctx)
	if err != nil {
		return nil, err
	}
	view, _ := shop.view(bounds.StoreID)
	guest := s.newBuyer(shop.site(view.websiteID))
	var priced []pricedProduct
	_, err = s.products.allRows(ctx, bounds, s.limits, func(_ context.Context, products []adapter.Record) ([]adapter.Record, error) {
		for _, product := range products {
			priced = append(priced, pricedProduct{product.Key(), guest.finalPrice(product, s.products.pricing(product), true)})
		}
		return nil, nil // keep no record in memory
	})
	return priced, err
}
