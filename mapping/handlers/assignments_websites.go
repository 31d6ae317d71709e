package handlers

import (
	"context"
	"log/slog"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// WebsiteAssignments is the resource behind /products/:product_id/websites (product_parts 3).
type WebsiteAssignments struct {
	resource.Resource
	products resource.Source
	shops    *resource.ShopCache
	urlKeys  urlKeys
	log      *slog.Logger
}

// NewWebsiteAssignments returns the handler of assignments to websites.
func NewWebsiteAssignments(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, shops *resource.ShopCache, log *slog.Logger) (*WebsiteAssignments, error) {
	base, err := resource.NewResource(d, fields.ProductWebsites, backend, adapter.ProductWebsites)
	if err != nil {
		return nil, err
	}
	products, err := backend.Source(adapter.Products)
	return &WebsiteAssignments{base, products, shops, newURLKeys(d), log}, err
}

// websitesProductID returns the id of the product in the path of a call on its websites.
// Unlike other calls, this one looks up no SKU and ignores the store view (product_parts
// 2.2 and 3.1).
func (h *WebsiteAssignments) websitesProductID(ctx context.Context, c *resource.Call) (int64, error) {
	id := c.Param("product_id")
	missing := h.Dialect.Fault(c.Route.NotFound, id)
	number, ok := codec.LeadingInteger(id)
	if leading := codec.LeadingNumber(id); !ok || leading != math.Trunc(leading) {
		return 0, missing
	}
	_, err := h.products.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(number)})
	if err != nil && adapter.KindOf(err) == adapter.NotFound {
		return 0, missing
	}
	return number, err
}

// productWebsiteList selects the assignments of a product, by ascending website id.
func productWebsiteList(product int64) adapter.ListParams {
	return adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{resource.IntegerEquals("product_id", product)}, OrderBy: "website_id"}}
}

// ListProductWebsites handles GET /products/:product_id/websites.
func (h *WebsiteAssignments) ListProductWebsites(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, err := h.websitesProductID(ctx, c)
	if err != nil {
		return nil, err
	}
	websites, err := h.AllRows(ctx, productWebsiteList(product), c.Limits, resource.NoHook)
	if err != nil {
		return nil, err
	}
	return h.ListReply(c, websites)
}

// DeleteProductWebsite handles DELETE /products/:product_id/websites/:website_id.
func (h *WebsiteAssignments) DeleteProductWebsite(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, err := h.websitesProductID(ctx, c)
	if err != nil {
		return nil, err
	}
	shop, err := h.shops.Current(ctx)
	if err != nil {
		return nil, err
	}
	name := c.Param("website_id")
	website, ok := shop.Website(name)
	if !ok {
		return nil, h.Dialect.Fault(contract.WebsiteNotFound, name)
	}
	notAssigned := contract.Faults{h.Dialect.Fault(contract.WebsiteUnassigned, product, website), h.Dialect.Fault(contract.PreValidation)}
	return removeAssignment(ctx, &h.Resource, product, resource.IntegerEquals("website_id", website), notAssigned)
}

// removeAssignment removes the one assignment of a product that target selects.
// notAssigned is the error if there is none.
func removeAssignment(ctx context.Context, of *resource.Resource, product int64, target adapter.Condition, notAssigned error) (*resource.Reply, error) {
	found, err := of.All(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{resource.IntegerEquals("product_id", product), target}, Limit: 1,
	}})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, notAssigned
	}
	err = of.Store.Delete(ctx, &adapter.DeleteParams{Key: found[0].Key()})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.NotFound:
		return nil, notAssigned
	case err != nil:
		return nil, err
	}
	return &resource.Reply{}, nil
}
