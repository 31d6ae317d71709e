package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// products is the resource behind /products, in two views: for Admins, and for Customers
// and Guests.
type products struct {
	resource // the view of Admins
	public   resource
	// assigned and publicAssigned are the two views of the product in place of a category
	// assignment.
	assigned, publicAssigned resource
	// stockData is the stock item inside a product.
	stockData resource
	writes    *productWrites
	types     map[string]contract.ProductType // by code
}

func newProducts(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas, stock *stockItems, settings Settings) (*products, error) {
	p := &products{types: map[string]contract.ProductType{}}
	for _, t := range contract.ProductTypes() {
		p.types[t.Code] = t
	}
	var err error
	if p.resource, err = newResource(d, fields.AdminProducts, backend, schemas, adapter.Products); err != nil {
		return nil, err
	}
	for _, view := range []struct {
		bound  *resource
		fields *contract.FieldTable
	}{
		{&p.public, fields.PublicProducts},
		{&p.assigned, fields.AssignedProducts},
		{&p.publicAssigned, fields.PublicAssignedProducts},
	} {
		if *view.bound, err = newResourceFrom(d, view.fields, p.source); err != nil {
			return nil, err
		}
	}
	if p.stockData, err = newResourceFrom(d, fields.ProductStock, stock.source); err != nil {
		return nil, err
	}
	groups, err := newSource(backend, schemas, adapter.CustomerGroups)
	if err != nil {
		return nil, err
	}
	countries, err := newSource(backend, schemas, adapter.Countries)
	if err != nil {
		return nil, err
	}
	p.writes = newProductWrites(&p.resource, &stock.rules, groups, countries, settings)
	return p, nil
}

// typeOf returns the type of a product. Types that the contract does not know are like simple
// ones.
func (p *products) typeOf(product adapter.Record) contract.ProductType {
	return p.types[product.Get("type_id").Text()]
}

// pricing says what the prices of a product follow from.
func (p *products) pricing(product adapter.Record) contract.Pricing { return p.typeOf(product).Pricing }

// viewFor returns the view for a role.
func (p *products) viewFor(role contract.Role) *resource {
	if role == contract.Admin {
		return &p.resource
	}
	return &p.public
}

// getProduct handles GET /products/:id, with or without a store view.
func (s *Service) getProduct(ctx context.Context, c *Call) (*Reply, error) {
	return s.answerProduct(ctx, c, s.products.viewFor(c.Principal.Role))
}

// answerProduct replies with the product in the path of c, as rendered by r.
func (s *Service) answerProduct(ctx context.Context, c *Call, r *resource) (*Reply, error) {
	fields, selectionFault := r.selectFields(c, contract.SingleView(c.Format))
	reply := s.newProductReply(c, r, fields, false)
	product, view, err := s.findProduct(ctx, c, reply.needed)
	reply.view = view
	if err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.load(ctx, []adapter.Record{product})
	}
	if err != nil {
		return nil, err
	}
	node := reply.render(c, product, fields)
	return &Reply{Body: &node}, nil
}

// listProducts handles GET /products, also below a store view, a category or both
// (products 3.6, 3.8 and 3.9).
func (s *Service) listProducts(ctx context.Context, c *Call) (*Reply, error) {
	view, err := s.storeView(ctx, c)
	if err != nil {
		return nil, err
	}
	category, err := s.category(ctx, c)
	if err != nil {
		return nil, err
	}
	r := s.products.viewFor(c.Principal.Role)
	wanted, err := r.listReader(c.Principal.Role).Parse(r.schema, &c.Query)
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
	fields, selectionFault := r.selectFields(c, shape)
	reply := s.newProductReply(c, r, fields, true)
	reply.view = view
	byFinalPrice := s.ordersByFinalPrice(c, view, wanted)
	bounds := productBounds(c, wanted, view, category, byFinalPrice)
	bounds.With, bounds.Only = reply.needed.onDemand, reply.needed.storedOrNone()
	readRows := s.productRows
	if byFinalPrice {
		readRows = s.rowsByFinalPrice
	}
	if c.Principal.Role == contract.Customer {
		// The original joins its lists with the prices of the customer's group.
		if err := reply.findBuyer(ctx); err != nil {
			return nil, err
		}
		if reply.buyer.groupGone {
			readRows = noRows
		}
	}
	records, err := readRows(ctx, c, wanted, bounds, func(ctx context.Context, products []adapter.Record) ([]adapter.Record, error) {
		return products, reply.load(ctx, products)
	})
	if err == nil && len(records.batch) > 0 {
		err = selectionFault
	}
	if err != nil {
		return nil, err
	}
	return reply.listReplyWith(c, records, fields), nil
}

// productBounds returns the bounds of the products that the caller may list, and adds the
// conditions that go with them to wanted. Nobody sees values that only a store view has.
// Customers and Guests see values of the default scope, except those that are set per
// website. An Admin sees all products; but in a category at a store view, and when sorted by
// final price, only those that are enabled and sold by its website.
func productBounds(c *Call, wanted *listquery.List, view storeView, category int64, byFinalPrice bool) adapter.ListParams {
	// The original joins the values of a store view to those of the default scope.
	bounds := adapter.ListParams{StoreID: view.id, OverridesOnly: true}
	if category != 0 {
		bounds.Filters = append(bounds.Filters, adapter.Filter{Name: adapter.InCategory, Value: category})
	}
	switch {
	case c.Principal.Role != contract.Admin:
		bounds.WebsiteScope = true
		bounds.Filters = append(bounds.Filters, adapter.Filter{Name: adapter.Listed})
	case view.id != 0 && (category != 0 || byFinalPrice):
		bounds.Filters = append(bounds.Filters, adapter.Filter{Name: adapter.InWebsite, Value: view.websiteID})
		wanted.Query.Where = append(wanted.Query.Where, integerEquals("status", enabled))
	}
	return bounds
}

// noRows returns an empty list.
func noRows(context.Context, *Call, *listquery.List, adapter.ListParams, batchHook) (*rows, error) {
	return &rows{ended: true}, nil
}

// productRows returns the requested products. Customers and Guests see none at the
// default scope.
func (s *Service) productRows(ctx context.Context, c *Call, wanted *listquery.List, bounds adapter.ListParams, hook batchHook) (*rows, error) {
	if c.Principal.Role != contract.Admin && bounds.StoreID == 0 {
		return &rows{ended: true}, nil
	}
	return s.products.rows(ctx, wanted, bounds, s.rowLimits(c), hook)
}

// rootCategory is the root of the category tree. It is not a record and has no products.
const rootCategory = 1

// category returns the id of the category in the path or the query of c, or 0 for none
// (products 3.9).
func (s *Service) category(ctx context.Context, c *Call) (int64, error) {
	text, ok := c.pathOrQuery("category_id")
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
