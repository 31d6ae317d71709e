package handlers

import (
	"context"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A ProductFinder finds the products and the store views that calls name.
type ProductFinder struct {
	dialect  *contract.Dialect
	products resource.Source
	Shops    *resource.ShopCache
}

// NewFinder returns the finder of a shop's products.
func NewFinder(d *contract.Dialect, backend *resource.Backend, shops *resource.ShopCache) (*ProductFinder, error) {
	products, err := backend.Source(adapter.Products)
	return &ProductFinder{d, products, shops}, err
}

// View returns the store view in the path or the query of c (wire 2; products 3.6).
// Without one, or with 0, it returns the default scope for an Admin, and the shop's
// default store view for other callers.
func (s *ProductFinder) View(ctx context.Context, c *resource.Call) (resource.StoreView, error) {
	shop, err := s.Shops.Current(ctx)
	if err != nil {
		return resource.StoreView{}, err
	}
	fallback := shop.DefaultView
	if c.Principal.Role == contract.Admin {
		fallback = resource.StoreView{}
	}
	name, ok := c.PathOrQuery("store")
	switch {
	case !ok:
		return resource.StoreView{}, s.dialect.Fault(contract.StoreMisspelled)
	case name == "", name == "0":
		return fallback, nil
	case name == resource.AdminStore:
		return resource.StoreView{}, nil
	}
	for _, view := range shop.Views {
		if name == view.Code || name == strconv.FormatInt(view.Id, 10) {
			return view, nil
		}
	}
	if shop.MatchesLoosely(name) {
		return resource.StoreView{}, s.dialect.Fault(contract.StoreMisspelled)
	}
	return resource.StoreView{}, s.dialect.Fault(contract.StoreInvalid)
}

// InOtherView reports whether the query of c moves the original to another store view than the
// default one (products 3.8.5).
func (s *ProductFinder) InOtherView(ctx context.Context, c *resource.Call) (bool, error) {
	code, sent := c.Query.Get("___store")
	if !s.dialect.StoreParameter || !sent || code.Kind != codec.Text {
		return false, nil
	}
	shop, err := s.Shops.Current(ctx)
	if err != nil || code.Text == shop.DefaultView.Code {
		return false, err
	}
	return slices.ContainsFunc(shop.Views, func(v resource.StoreView) bool { return v.Code == code.Text }), nil
}

// Product returns the product that the id in the path of c names at the store view of c, as ProductAt does.
func (s *ProductFinder) Product(ctx context.Context, c *resource.Call, attributes attributes) (product adapter.Record, view resource.StoreView, err error) {
	if view, err = s.View(ctx, c); err == nil {
		product, err = s.ProductAt(ctx, c, view, attributes)
	}
	return product, view, err
}

// ProductAt returns the product that the id in the path of c names, by its number or SKU, at a
// store view (products 3.6 and 3.7). If there is none, or the caller may not see it there, the
// error is the route's fault for an unknown product. attributes are the attributes that the record
// must hold besides its id.
func (s *ProductFinder) ProductAt(ctx context.Context, c *resource.Call, view resource.StoreView, attributes attributes) (adapter.Record, error) {
	id := c.Param("id")
	shopper := c.Principal.Role != contract.Admin
	if shopper {
		attributes.Stored = append(attributes.Stored, "status", "visibility")
	}
	wanted := adapter.GetParams{StoreID: view.Id, With: attributes.OnDemand, Only: attributes.StoredOrNone(), Buyer: attributes.Buyer}
	if shopper || view.Id != 0 {
		wanted.Filters = []adapter.Filter{{Name: adapter.InWebsite, Value: view.WebsiteID}}
	}
	product, err := s.find(ctx, id, wanted)
	if err != nil && adapter.KindOf(err) == adapter.NotFound || err == nil && shopper && !isVisible(product) {
		err = s.dialect.Fault(c.Route.NotFound, id)
	}
	return product, err
}

// attributes names attributes of products: attributes on demand, and attributes of every
// record.
type attributes struct {
	OnDemand, Stored []string
	// Buyer is the only one for whom lists of prices matter; nil for none.
	Buyer *adapter.Buyer
}

// StoredOrNone returns the stored attributes as a query wants them: an empty list instead of
// nil, which would stand for all attributes.
func (p *attributes) StoredOrNone() []string {
	if p.Stored == nil {
		return []string{}
	}
	return p.Stored
}

// isVisible reports whether Customers and Guests may see a single product, by its values
// at their store view.
func isVisible(product adapter.Record) bool {
	visibility := product.Get("visibility").Int()
	return product.Get("status").Int() == enabled && visibility > notVisible && visibility <= visibleEverywhere
}

// rootCategory is the root of the category tree. It is not a record and has no products.
const rootCategory = 1

// Values of status and visibility (contract 3.3).
const (
	enabled           = 1
	notVisible        = 1
	visibleEverywhere = 4
)

// find returns a product by its number or SKU; it ignores wanted.Key. The error is of kind
// NotFound or comes from the store.
func (s *ProductFinder) find(ctx context.Context, id string, wanted adapter.GetParams) (adapter.Record, error) {
	key, isNumber := codec.ParseID(id)
	if s.dialect.TruncatesIDs {
		key, isNumber = codec.ParseIDPart(id)
	}
	_, isNumeric := codec.ParseNumber(id)
	switch {
	case codec.IsCanonicalNumber(id):
	case !isNumeric:
		return s.BySKU(ctx, id, wanted)
	default:
		// The SKU has priority even if wanted excludes its product.
		found, err := s.BySKU(ctx, id, adapter.GetParams{Only: []string{}})
		if err == nil {
			key, isNumber = int64(found.Key()), true
		} else if adapter.KindOf(err) != adapter.NotFound {
			return found, err
		}
	}
	if !isNumber {
		return adapter.Record{}, productNotFound()
	}
	wanted.Key = adapter.Key(key)
	return s.products.Store.Get(ctx, &wanted)
}

// BySKU returns a product by its SKU, ignoring case and accents.
func (s *ProductFinder) BySKU(ctx context.Context, sku string, wanted adapter.GetParams) (adapter.Record, error) {
	found, err := s.products.All(ctx, &adapter.ListParams{
		Query:        adapter.Query{Where: []adapter.Condition{resource.TextEquals("sku", sku)}, Limit: 1},
		StoreID:      wanted.StoreID,
		WebsiteScope: wanted.WebsiteScope,
		Filters:      wanted.Filters,
		With:         wanted.With,
		Only:         wanted.Only,
		Buyer:        wanted.Buyer,
	})
	switch {
	case err != nil:
		return adapter.Record{}, err
	case len(found) == 0:
		return adapter.Record{}, productNotFound()
	default:
		return found[0], nil
	}
}

func productNotFound() error { return &adapter.Error{Kind: adapter.NotFound, Op: "find a product"} }
