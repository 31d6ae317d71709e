package products

import (
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/calls"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/products/lookup"
	"github.com/portico-commerce/portico/mapping/products/prices"
	"github.com/portico-commerce/portico/mapping/records"
)

// Products is the resource behind /products, in two views: for Admins, and for Customers
// and Guests.
type Products struct {
	calls.Resource // the view of Admins
	public         calls.Resource
	// assigned and publicAssigned are the two views of the product in place of a category
	// assignment.
	assigned, publicAssigned calls.Resource
	// stockData is the stock item inside a product.
	stockData calls.Resource
	// images are the images in the gallery of a product.
	images      calls.Resource
	types       map[string]contract.ProductType // by code
	finder      *lookup.Finder
	buyers      *prices.Buyers
	categories  records.Source
	manageStock bool
	publicURL   string
}

// New returns the handler that reads products. manageStock is the shop's setting, and
// publicURL the base URL of the shop in replies, if it does not follow from requests.
func New(d *contract.Dialect, fields *contract.Fields, backend *records.Backend, finder *lookup.Finder, images calls.Resource, manageStock bool, publicURL string, now func() time.Time) (*Products, error) {
	p := &Products{types: map[string]contract.ProductType{}, images: images, finder: finder, manageStock: manageStock, publicURL: publicURL}
	for _, t := range contract.ProductTypes() {
		p.types[t.Code] = t
	}
	var err error
	if p.Resource, err = calls.NewResource(d, fields.AdminProducts, backend, adapter.Products); err != nil {
		return nil, err
	}
	for _, view := range []struct {
		bound  *calls.Resource
		fields *contract.FieldTable
	}{
		{&p.public, fields.PublicProducts},
		{&p.assigned, fields.AssignedProducts},
		{&p.publicAssigned, fields.PublicAssignedProducts},
	} {
		if *view.bound, err = calls.NewResourceFrom(d, view.fields, p.Source); err != nil {
			return nil, err
		}
	}
	if p.stockData, err = calls.NewResource(d, fields.ProductStock, backend, adapter.StockItems); err != nil {
		return nil, err
	}
	if p.buyers, err = prices.NewBuyers(backend, finder.Shops, now); err != nil {
		return nil, err
	}
	p.categories, err = backend.Source(adapter.Categories)
	return p, err
}

// typeOf returns the type of a product. Types that the contract does not know are like simple
// ones.
func (p *Products) typeOf(product adapter.Record) contract.ProductType {
	return p.types[product.Get("type_id").Text()]
}

// pricing returns the source of the prices of a product.
func (p *Products) pricing(product adapter.Record) contract.Pricing { return p.typeOf(product).Pricing }

// viewFor returns the view for a role.
func (p *Products) viewFor(role contract.Role) *calls.Resource {
	if role == contract.Admin {
		return &p.Resource
	}
	return &p.public
}
