package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// GetProduct handles GET /products/:id, with or without a store view.
func (p *Products) GetProduct(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	return p.answerProduct(ctx, c, p.viewFor(c.Principal.Role))
}

// GetProductCategory handles GET /products/:id/categories/:category_id. The original
// replies with the product, whatever the category (product_parts 4.5).
func (p *Products) GetProductCategory(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	if c.Principal.Role == contract.Admin {
		return p.answerProduct(ctx, c, &p.assigned)
	}
	return p.answerProduct(ctx, c, &p.publicAssigned)
}

// answerProduct replies with the product in the path of c, as rendered by r.
func (p *Products) answerProduct(ctx context.Context, c *resource.Call, r *resource.Resource) (*resource.Reply, error) {
	fields, selectionFault := r.SelectFields(c, contract.SingleView(c.Format))
	reply := p.newProductReply(c, r, fields, replyShape{countsStock: true})
	var product adapter.Record
	view, err := p.finder.View(ctx, c)
	if reply.view = view; err == nil {
		err = reply.needBuyersPrices(ctx)
	}
	if err == nil {
		product, err = p.finder.ProductAt(ctx, c, view, reply.needed)
	}
	if err == nil {
		err = selectionFault
	}
	if err == nil {
		err = reply.load(ctx, []adapter.Record{product})
	}
	if err != nil {
		return nil, err
	}
	node := reply.Render(c, product, fields)
	return &resource.Reply{Body: &node}, nil
}

// ListProducts handles GET /products, also below a store view, a category or both
// (products 3.6, 3.8 and 3.9).
func (p *Products) ListProducts(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	view, err := p.finder.View(ctx, c)
	if err != nil {
		return nil, err
	}
	category, err := p.category(ctx, c)
	if err != nil {
		return nil, err
	}
	r := p.viewFor(c.Principal.Role)
	wanted, err := r.ListReader(c.Principal.Role).Parse(r.Schema, &c.Query)
	if err != nil {
		return nil, err
	}
	shape := contract.ListView(c.Format)
	if category != 0 && p.Dialect.CategoryView {
		shape = contract.InCategory
		if _, sent := c.Query.Get("order"); !sent {
			wanted.Query.OrderBy = "category_position"
		}
	}
	fields, selectionFault := r.SelectFields(c, shape)
	countsStock, err := p.finder.InOtherView(ctx, c)
	if err != nil {
		return nil, err
	}
	reply := p.newProductReply(c, r, fields, replyShape{inList: true, countsStock: countsStock})
	reply.view = view
	if err := reply.needPartsTaxClass(ctx, view); err != nil {
		return nil, err
	}
	if err := p.rankOptions(ctx, wanted, view); err != nil {
		return nil, err
	}
	byFinalPrice := p.ordersByFinalPrice(c, view, wanted)
	bounds := p.bounds(c, wanted, view, category, byFinalPrice)
	bounds.With, bounds.Only = reply.needed.OnDemand, reply.needed.StoredOrNone()
	readRows := p.productRows
	if byFinalPrice {
		readRows = p.rowsByFinalPrice
	}
	if c.Principal.Role == contract.Customer {
		// The original joins its lists with the prices of the customer's group.
		if err := reply.findBuyer(ctx); err != nil {
			return nil, err
		}
		if reply.buyer.GroupGone {
			readRows = noRows
		}
	}
	if err := reply.needBuyersPrices(ctx); err != nil {
		return nil, err
	}
	bounds.Buyer = reply.needed.Buyer
	records, err := readRows(ctx, c, wanted, bounds, func(ctx context.Context, products []adapter.Record) ([]adapter.Record, error) {
		products, err := reply.listedPrices(ctx, products)
		if err != nil {
			return nil, err
		}
		if err := p.showLabels(ctx, &bounds, wanted, products); err != nil {
			return nil, err
		}
		return products, reply.load(ctx, products)
	})
	if err == nil && len(records.Batch) > 0 {
		err = selectionFault
	}
	if err != nil {
		return nil, err
	}
	return reply.ListReplyWith(c, records, fields), nil
}

// bounds returns the bounds of the products that the caller may list, and adds the
// conditions that go with them to wanted. No caller sees values that only a store view has.
// Customers and Guests see values of the default scope, except values that are set per
// website. An Admin sees all products; but in a category at a store view, and when sorted by
// final price, only products that are enabled and sold by its website.
func (p *Products) bounds(c *resource.Call, wanted *input.List, view resource.StoreView, category int64, byFinalPrice bool) adapter.ListParams {
	// The original joins the values of a store view to the values of the default scope.
	bounds := adapter.ListParams{StoreID: view.Id, OverridesOnly: true}
	if category != 0 {
		bounds.Filters = append(bounds.Filters, adapter.Filter{Name: adapter.InCategory, Value: category})
	}
	switch {
	case c.Principal.Role != contract.Admin:
		bounds.WebsiteScope = true
		bounds.Filters = append(bounds.Filters, p.listed...)
	case view.Id != 0 && (category != 0 || byFinalPrice):
		bounds.Filters = append(bounds.Filters, adapter.Filter{Name: adapter.InWebsite, Value: view.WebsiteID})
		wanted.Query.Where = append(wanted.Query.Where, resource.IntegerEquals("status", enabled))
	}
	return bounds
}

// noRows returns an empty list.
func noRows(context.Context, *resource.Call, *input.List, adapter.ListParams, resource.RecordsHook) (*resource.Rows, error) {
	return &resource.Rows{Ended: true}, nil
}

// productRows returns the requested products. Customers and Guests see none at the
// default scope.
func (p *Products) productRows(ctx context.Context, c *resource.Call, wanted *input.List, bounds adapter.ListParams, hook resource.RecordsHook) (*resource.Rows, error) {
	if c.Principal.Role != contract.Admin && bounds.StoreID == 0 {
		return &resource.Rows{Ended: true}, nil
	}
	limits := c.Limits
	limits.RefuseAbove = c.RefuseAbove
	return p.Rows(ctx, wanted, bounds, limits, hook)
}

// category returns the id of the category in the path or the query of c, or 0 for none
// (products 3.9).
func (p *Products) category(ctx context.Context, c *resource.Call) (int64, error) {
	text, ok := c.PathOrQuery("category_id")
	switch {
	case ok && (text == "" || text == "0"):
		return 0, nil
	case !ok && p.Dialect.CategoryLists:
		list, _ := c.Query.Get("category_id")
		if len(list.Members) != 1 || list.Members[0].Value.Kind != codec.Text {
			return 0, p.Dialect.Fault(contract.CategoryListCrash)
		}
		text, ok = list.Members[0].Value.Text, true
	}
	id, isID := codec.ParseID(text)
	if id == rootCategory {
		return id, nil
	}
	if ok && isID {
		_, err := p.categories.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(id)})
		if err == nil || adapter.KindOf(err) != adapter.NotFound {
			return id, err
		}
	}
	return 0, p.Dialect.Fault(contract.CategoryNotFound)
}
