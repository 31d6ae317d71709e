package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// products is the resource behind /products, in the two views it has: that of
// an Admin, and that of Customers and Guests.
type products struct {
	resource // the Admin's
	public   resource
	// stockData is the stock item as a product shows it.
	stockData resource
}

func newProducts(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas, stock source) (*products, error) {
	p := &products{}
	var err error
	if p.resource, err = newResource(d, contract.AdminProductFields(), upstream, schemas, adapter.Products); err != nil {
		return nil, err
	}
	if p.public, err = bind(d, contract.PublicProductFields(), p.source); err != nil {
		return nil, err
	}
	p.stockData, err = bind(d, contract.ProductStockFields(), stock)
	return p, err
}

// of returns the view that role has.
func (p *products) of(role contract.Role) *resource {
	if role == contract.Admin {
		return &p.resource
	}
	return &p.public
}

// getProduct handles GET /products/:id, with or without a store view.
func (s *Service) getProduct(ctx context.Context, c *Call) (*Reply, error) {
	r := s.products.of(c.Principal.Role)
	fields, selectionFault := r.selected(c, contract.SingleView(c.Format))
	reply := s.newProductReply(c, r, fields, false)
	product, _, err := s.findProduct(ctx, c, reply.with...)
	if err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.gather(ctx, []adapter.Record{product})
	}
	if err != nil {
		return nil, err
	}
	node := reply.render(c, product, fields)
	return &Reply{Body: &node}, nil
}

// listProducts handles GET /products and its forms with a store view, a category
// or both (products 3.6, 3.8 and 3.9).
func (s *Service) listProducts(ctx context.Context, c *Call) (*Reply, error) {
	view, err := s.storeView(ctx, c)
	if err != nil {
		return nil, err
	}
	category, err := s.category(ctx, c)
	if err != nil {
		return nil, err
	}
	r := s.products.of(c.Principal.Role)
	wanted, err := r.reader(c.Principal.Role).Parse(r.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	shape := contract.ListView(c.Format)
	if category != 0 && s.dialect.CategoryView {
		shape = contract.InCategory
		if _, sent := c.Query.Get("order"); !sent {
			wanted.Query.OrderBy = "category_position"
		}
	}
	fields, selectionFault := r.selected(c, shape)
	reply := s.newProductReply(c, r, fields, true)
	bounds := productBounds(c, wanted, view, category)
	bounds.With = reply.with
	records, err := s.productPage(ctx, c, wanted, bounds)
	if len(records) > 0 && err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.gather(ctx, records)
	}
	if err != nil {
		return nil, err
	}
	if ordered, ok := r.schema.Index(wanted.Query.OrderBy); ok && s.dialect.OrderedByNull {
		for _, product := range records {
			if product.Values[ordered].Kind() == adapter.Absent {
				product.Values[ordered] = adapter.NullValue()
			}
		}
	}
	return reply.manyCut(c, keyedByID, records, fields), nil
}

// productBounds returns which products the caller may list, and adds to wanted
// the conditions that go with them. Customers and Guests see values of the
// default scope, except those a website has of its own, and a product has to be
// enabled in both. An Admin sees all, but of a category at a store view only
// what its website sells.
func productBounds(c *Call, wanted *listquery.List, view storeView, category int64) adapter.ListParams {
	bounds := adapter.ListParams{StoreID: view.id, Products: adapter.ProductParams{CategoryID: category}}
	conditions := &wanted.Query.Where
	switch {
	case c.Principal.Role != contract.Admin:
		bounds.Products.WebsiteScope, bounds.Products.WebsiteID = true, view.website
		*conditions = append(*conditions, condition("visibility", adapter.NotEq, strconv.Itoa(notVisible)), numberIs("default_status", enabled))
	case category == 0 || view.id == 0:
		return bounds
	default:
		bounds.Products.WebsiteID = view.website
	}
	*conditions = append(*conditions, numberIs("status", enabled))
	return bounds
}

// productPage returns the records of the wanted page. Of the default scope itself
// Customers and Guests see none.
func (s *Service) productPage(ctx context.Context, c *Call, wanted *listquery.List, bounds adapter.ListParams) ([]adapter.Record, error) {
	if c.Principal.Role != contract.Admin && bounds.StoreID == 0 {
		return nil, nil
	}
	return s.products.page(ctx, wanted, bounds, s.settings.MaxRows)
}

// rootCategory is the root of the tree of categories, which is no record and has
// no products.
const rootCategory = 1

// category finds the category c names in its path or else its query; 0 is none
// (products 3.9).
func (s *Service) category(ctx context.Context, c *Call) (int64, error) {
	text, ok := c.parameter("category_id")
	if ok && (text == "" || text == "0") {
		return 0, nil
	}
	id, isID := numeric.ID(text)
	if id == rootCategory {
		return id, nil
	}
	if ok && isID {
		_, err := s.categories.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
		if err == nil || adapter.KindOf(err) != adapter.NotFound {
			return id, err
		}
	}
	return 0, s.dialect.Fault(contract.CategoryNotFound)
}
