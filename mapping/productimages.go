package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// newProductImages returns the resource behind /products/:id/images
// (product_parts 2).
func newProductImages(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas, settings Settings) (resource, error) {
	images, err := newResource(d, fields.ProductImages, backend, schemas, adapter.ProductImages)
	images.compute = map[string]func(*Call, adapter.Record) (codec.Node, bool){
		"url": func(c *Call, image adapter.Record) (codec.Node, bool) {
			return codec.TextNode(baseURL(c, settings.PublicURL) + mediaPath + image.Get("file").Text()), true
		},
	}
	return images, err
}

// listProductImages handles GET /products/:id/images, with or without a store view. The
// list is sorted by ascending position at that view, images without one first. It has no
// pages, and attrs is its only modifier.
func (s *Service) listProductImages(ctx context.Context, c *Call) (*Reply, error) {
	product, view, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	var included []adapter.Condition
	if c.Principal.Role != contract.Admin {
		included = append(included, integerEquals("exclude", 0))
		included[0].Any = append(included[0].Any, adapter.Test{Attribute: "exclude", Op: adapter.IsNull})
	}
	images, err := s.productImages.allRows(ctx, productImageList(product, view.id, included...), s.limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	return s.productImages.listReply(c, images)
}

// productImageList selects the images of a product at a store view, by ascending
// position.
func productImageList(product adapter.Record, storeID int64, where ...adapter.Condition) adapter.ListParams {
	where = append(where, integerEquals("product_id", product.Get("entity_id").Int()))
	return adapter.ListParams{StoreID: storeID, Query: adapter.Query{Where: where, OrderBy: "position"}}
}

// getProductImage handles GET /products/:id/images/:image, with or without a store view.
func (s *Service) getProductImage(ctx context.Context, c *Call) (*Reply, error) {
	product, view, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	missing := s.dialect.Fault(contract.ImageNotFound)
	if c.Principal.Role != contract.Admin {
		missing = s.dialect.Fault(contract.ImageHidden)
	}
	id, ok := numeric.LeadingInteger(c.Param("image"))
	if !ok {
		return nil, missing
	}
	image, err := s.productImages.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id), StoreID: view.id})
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
	return s.productImages.singleReply(c, image)
}
