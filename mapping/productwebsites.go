package mapping

import (
	"context"
	"math"
	"net/url"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// websitesProductID returns the id of the product in the path of a call on its websites.
// Unlike other calls, this one looks up no SKU and ignores the store view (product_parts
// 2.2 and 3.1).
func (s *Service) websitesProductID(ctx context.Context, c *Call) (int64, error) {
	id := c.Param("product_id")
	missing := s.dialect.Fault(c.Route.NotFound, id)
	number, ok := numeric.LeadingInteger(id)
	if leading := numeric.Leading(id); !ok || leading != math.Trunc(leading) {
		return 0, missing
	}
	_, err := s.products.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(number)})
	if err != nil && adapter.KindOf(err) == adapter.NotFound {
		return 0, missing
	}
	return number, err
}

// productWebsiteList selects the assignments of a product, by ascending website id.
func productWebsiteList(product int64) adapter.ListParams {
	return adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{integerEquals("product_id", product)}, OrderBy: "website_id"}}
}

// listProductWebsites handles GET /products/:product_id/websites.
func (s *Service) listProductWebsites(ctx context.Context, c *Call) (*Reply, error) {
	product, err := s.websitesProductID(ctx, c)
	if err != nil {
		return nil, err
	}
	websites, err := s.productWebsites.allRows(ctx, productWebsiteList(product), s.limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	return s.productWebsites.listReply(c, websites)
}

// createProductWebsites handles POST /products/:product_id/websites, with one assignment
// or a list of them.
func (s *Service) createProductWebsites(ctx context.Context, c *Call) (*Reply, error) {
	a, err := s.newWebsiteAssigner(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.List {
		return a.assignMany(ctx)
	}
	website, err := a.assign(ctx, &c.Body)
	if err != nil {
		return nil, a.singleFaults(err)
	}
	reply := createdReply("/products/"+url.PathEscape(c.Param("product_id"))+"/websites/", adapter.Key(website))
	if s.dialect.SingleSuccessList {
		batch := a.newBatch()
		batch.succeed(website, s.dialect.Fault(contract.ItemUpdated))
		reply.Body = batch.body()
	}
	return reply, nil
}

// deleteProductWebsite handles DELETE /products/:product_id/websites/:website_id.
func (s *Service) deleteProductWebsite(ctx context.Context, c *Call) (*Reply, error) {
	product, err := s.websitesProductID(ctx, c)
	if err != nil {
		return nil, err
	}
	shop, err := s.shops.current(ctx)
	if err != nil {
		return nil, err
	}
	name := c.Param("website_id")
	website, ok := shop.website(name)
	if !ok {
		return nil, s.dialect.Fault(contract.WebsiteNotFound, name)
	}
	notAssigned := contract.Faults{s.dialect.Fault(contract.WebsiteUnassigned, product, website), s.dialect.Fault(contract.PreValidation)}
	return s.removeAssignment(ctx, &s.productWebsites, product, integerEquals("website_id", website), notAssigned)
}

// removeAssignment removes the one assignment of a product that target selects.
// notAssigned is the error if there is none.
func (s *Service) removeAssignment(ctx context.Context, of *resource, product int64, target adapter.Condition, notAssigned error) (*Reply, error) {
	found, err := of.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{integerEquals("product_id", product), target}, Limit: 1,
	}})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, notAssigned
	}
	err = of.store.Delete(ctx, &adapter.DeleteParams{Key: found[0].Key()})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.NotFound:
		return nil, notAssigned
	case err != nil:
		return nil, err
	}
	return &Reply{}, nil
}
