package handlers

import (
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Products is the resource behind /products, in two views: for Admins, and for Customers
// and Guests.
type Products struct {
	resource.Resource // the view of Admins
	public            resource.Resource
	// assigned and publicAssigned are the two views of the product in place of a category
	// assignment.
	assigned, publicAssigned resource.Resource
	// stockData is the stock item inside a product.
	stockData resource.Resource
	// images are the images in the gallery of a product.
	images      resource.Resource
	types       map[string]contract.ProductType // by code
	finder      *ProductFinder
	buyers      *buyers
	categories  resource.Source
	manageStock bool
	// listed are the filters of the products that Customers and Guests may list.
	listed []adapter.Filter
	links  *resource.Links
}

// NewProducts returns the handler that reads products. stock has the shop's settings, and links are
// the addresses in replies.
func NewProducts(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, finder *ProductFinder, images resource.Resource, stock StockSettings, links *resource.Links, now func() time.Time) (*Products, error) {
	p := &Products{types: map[string]contract.ProductType{}, images: images, finder: finder, manageStock: stock.ManageStock, listed: listedFilters(stock), links: links}
	for _, t := range contract.ProductTypes() {
		p.types[t.Code] = t
	}
	var err error
	if p.Resource, err = resource.NewResource(d, fields.AdminProducts, backend, adapter.Products); err != nil {
		return nil, err
	}
	for _, view := range []struct {
		bound  *resource.Resource
		fields *contract.FieldTable
	}{
		{&p.public, fields.PublicProducts},
		{&p.assigned, fields.AssignedProducts},
		{&p.publicAssigned, fields.PublicAssignedProducts},
	} {
		if *view.bound, err = resource.NewResourceFrom(d, view.fields, p.Source); err != nil {
			return nil, err
		}
	}
	if p.stockData, err = resource.NewResource(d, fields.ProductStock, backend, adapter.StockItems); err != nil {
		return nil, err
	}
	if p.buyers, err = newBuyers(backend, finder.Shops, now); err != nil {
		return nil, err
	}
	p.categories, err = backend.Source(adapter.Categories)
	return p, err
}

// listedFilters returns the filters of the products that Customers and Guests may list: all that
// are listed, or those of them that are in stock (configurations 5).
func listedFilters(stock StockSettings) []adapter.Filter {
	switch {
	case !stock.HideSoldOut:
		return []adapter.Filter{{Name: adapter.Listed}}
	case stock.ManageStock:
		return []adapter.Filter{{Name: adapter.InStock, Value: 1}}
	default:
		return []adapter.Filter{{Name: adapter.InStock}}
	}
}

// typeOf returns the type of a product. Types that the contract does not know are like simple
// ones.
func (p *Products) typeOf(product adapter.Record) contract.ProductType {
	return p.types[product.Get("type_id").Text()]
}

// pricing returns the source of the prices of a product.
func (p *Products) pricing(product adapter.Record) contract.Pricing { return p.typeOf(product).Pricing }

// viewFor returns the view for a role.
func (p *Products) viewFor(role contract.Role) *resource.Resource {
	if role == contract.Admin {
		return &p.Resource
	}
	return &p.public
}
