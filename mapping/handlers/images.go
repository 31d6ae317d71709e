package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Images is the resource behind /products/:id/images (product_parts 2).
type Images struct {
	resource.Resource
	finder  *ProductFinder
	checker *adapter.ImageChecker
}

// NewImages returns the handler of images. links are the addresses in replies. checker checks new images.
func NewImages(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, finder *ProductFinder, links *resource.Links, checker *adapter.ImageChecker) (*Images, error) {
	images, err := resource.NewResource(d, fields.ProductImages, backend, adapter.ProductImages)
	images.Compute = func(c *resource.Call, _ *contract.Field, image adapter.Record) (codec.Node, bool) { // the address
		return codec.TextNode(links.Media(c, mediaPath, image.Get("file").Text())), true
	}
	return &Images{images, finder, checker}, err
}

// ListProductImages handles GET /products/:id/images, with or without a store view. The
// list is sorted by ascending position at that view, images without one first. It has no
// pages, and attrs is its only modifier.
func (h *Images) ListProductImages(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, view, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	var included []adapter.Condition
	if c.Principal.Role != contract.Admin {
		included = append(included, resource.IntegerEquals("exclude", 0))
		included[0].Any = append(included[0].Any, adapter.Test{Attribute: "exclude", Op: adapter.IsNull})
	}
	images, err := h.AllRows(ctx, imageList(product, view.Id, included...), c.Limits, resource.NoHook)
	if err != nil {
		return nil, err
	}
	return h.ListReply(c, images)
}

// imageList selects the images of a product at a store view, by ascending
// position.
func imageList(product adapter.Record, storeID int64, where ...adapter.Condition) adapter.ListParams {
	where = append(where, resource.IntegerEquals("product_id", product.Get("entity_id").Int()))
	return adapter.ListParams{StoreID: storeID, Query: adapter.Query{Where: where, OrderBy: "position"}}
}

// GetProductImage handles GET /products/:id/images/:image, with or without a store view.
func (h *Images) GetProductImage(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, view, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	missing := h.Dialect.Fault(contract.ImageNotFound)
	if c.Principal.Role != contract.Admin {
		missing = h.Dialect.Fault(contract.ImageHidden)
	}
	id, ok := codec.LeadingInteger(c.Param("image"))
	if !ok {
		return nil, missing
	}
	image, err := h.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id), StoreID: view.Id})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.NotFound:
		return nil, missing
	case err != nil:
		return nil, err
	case image.Get("product_id").Int() != product.Get("entity_id").Int():
		return nil, missing
	case c.Principal.Role != contract.Admin && image.Get("exclude").Int() != 0:
		return nil, missing
	}
	return h.SingleReply(c, image)
}
