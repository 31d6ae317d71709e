package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
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
	stockData  resource
	categories adapter.Store
	customers  adapter.Store
	addresses  adapter.Store
}

func newProducts(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas, stock *stockItems) (*products, error) {
	store, schema, err := storeOf(upstream, schemas, adapter.Products)
	if err != nil {
		return nil, err
	}
	p := &products{}
	if p.resource, err = bind(d, contract.AdminProductFields(), schema, store); err != nil {
		return nil, err
	}
	if p.public, err = bind(d, contract.PublicProductFields(), schema, store); err != nil {
		return nil, err
	}
	if p.stockData, err = bind(d, contract.ProductStockFields(), stock.schema, stock.store); err != nil {
		return nil, err
	}
	if p.categories, err = upstream.Store(adapter.Categories); err != nil {
		return nil, err
	}
	if p.customers, err = upstream.Store(adapter.Customers); err != nil {
		return nil, err
	}
	p.addresses, err = upstream.Store(adapter.CustomerAddresses)
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
	view, err := s.storeView(ctx, c)
	if err != nil {
		return nil, err
	}
	r := s.products.of(c.Principal.Role)
	fields, selectionFault := r.selected(c, contract.SingleView(c.Format))
	reply := s.newProductReply(c, r, fields, false)
	product, err := s.findProduct(ctx, c, c.Param("id"), view, reply.with...)
	if err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.gather(ctx, []adapter.Record{product})
	}
	if err != nil {
		return nil, err
	}
	if created := product.Get("created_at"); s.dialect.OffsetCreatedAt && !created.Empty() {
		product.Set("created_at", adapter.TextValue(withOffset(created.Text())))
	}
	node := reply.render(product)
	return &Reply{Body: &node}, nil
}

// withOffset writes a stored time with a T and its offset.
func withOffset(t string) string {
	if len(t) <= len("2006-01-02 ") {
		return t
	}
	return t[:10] + "T" + t[11:] + "+00:00"
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
	records, err := s.productPage(ctx, c, wanted, adapter.ListParams{With: reply.with, Products: s.productBounds(c, wanted, view, category)})
	if len(records) > 0 && err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.gather(ctx, records)
	}
	if err != nil {
		return nil, err
	}
	ordered, byField := r.schema.Index(wanted.Query.OrderBy)
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records))}
	key, _ := r.schema.Index(r.schema.Key)
	for i, product := range records {
		if byField && s.dialect.OrderedByNull && product.Values[ordered].Kind() == adapter.Absent {
			product.Values[ordered] = adapter.NullValue()
		}
		entries.Members[i] = codec.Member{Key: product.Values[key].Text(), Value: reply.render(product)}
	}
	return &Reply{Body: &entries}, nil
}

// productBounds returns which products the caller may list, and adds to wanted
// the conditions that go with them. Customers and Guests see values of the
// default scope, except those a website has of its own, and a product has to be
// enabled in both. An Admin sees all, but of a category at a store view only
// what its website sells.
func (s *Service) productBounds(c *Call, wanted *listquery.List, view storeView, category int64) adapter.ProductParams {
	bounds := adapter.ProductParams{StoreID: view.id, CategoryID: category}
	conditions := &wanted.Query.Where
	switch {
	case c.Principal.Role != contract.Admin:
		bounds.WebsiteScope, bounds.WebsiteID = true, view.website
		*conditions = append(*conditions, where("visibility", adapter.NotEq, strconv.Itoa(notVisible))...)
		*conditions = append(*conditions, where("default_status", adapter.Eq, strconv.Itoa(enabled))...)
	case category == 0 || view.id == 0:
		return bounds
	default:
		bounds.WebsiteID = view.website
	}
	*conditions = append(*conditions, where("status", adapter.Eq, strconv.Itoa(enabled))...)
	return bounds
}

// productPage returns the records of the wanted page. Of the default scope itself
// Customers and Guests see none.
func (s *Service) productPage(ctx context.Context, c *Call, wanted *listquery.List, bounds adapter.ListParams) ([]adapter.Record, error) {
	if c.Principal.Role != contract.Admin && bounds.Products.StoreID == 0 {
		return nil, nil
	}
	return s.products.pageOf(ctx, wanted, bounds, s.settings.MaxRows)
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
		_, err := s.products.categories.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
		if err == nil || adapter.KindOf(err) != adapter.NotFound {
			return id, err
		}
	}
	return 0, s.dialect.Fault(contract.CategoryNotFound)
}
