package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// listProductWebsites handles GET /products/:product_id/websites: by ascending
// id of the website. The product is not looked up by SKU, and the store views of
// other calls mean nothing here (product_parts 2.2 and 3.1).
func (s *Service) listProductWebsites(ctx context.Context, c *Call) (*Reply, error) {
	id := c.Param("product_id")
	missing := s.dialect.Fault(c.Route.NotFound, id)
	number, ok := numeric.LeadingInteger(id)
	if !ok {
		return nil, missing
	}
	_, err := s.products.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(number)})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.NotFound:
		return nil, missing
	case err != nil:
		return nil, err
	}
	websites, err := s.productWebsites.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{numberIs("product_id", number)}, OrderBy: "website_id", Limit: s.settings.MaxRows,
	}})
	if err != nil {
		return nil, err
	}
	return s.productWebsites.many(c, arrayOfRecords, websites)
}
