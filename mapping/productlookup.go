package mapping

import (
	"context"
	"regexp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// findProduct returns the product that id, its number or SKU, names at view, if
// the caller may see it there; otherwise the fault of a product that does not
// exist (products 3.6 and 3.7). with names attributes on demand.
func (s *Service) findProduct(ctx context.Context, c *Call, id string, view storeView, with ...string) (adapter.Record, error) {
	bounds := adapter.ProductParams{StoreID: view.id, WebsiteID: view.website}
	shopper := c.Principal.Role != contract.Admin
	if shopper && view.id == 0 {
		bounds.WebsiteID = adapter.AnyWebsite
	}
	product, err := s.products.lookUp(ctx, id, bounds, with)
	switch {
	case adapter.KindOf(err) == adapter.NotFound && err != nil, err == nil && shopper && !onSale(product):
		return adapter.Record{}, s.dialect.Fault(contract.NotFound)
	default:
		return product, err
	}
}

// onSale reports whether Customers and Guests see a single product, by its values
// at their store view.
func onSale(product adapter.Record) bool {
	visibility := product.Get("visibility").Int()
	return product.Get("status").Int() == enabled && visibility > notVisible && visibility <= visibleEverywhere
}

// Values of status and visibility (Allowed values).
const (
	enabled           = 1
	notVisible        = 1
	visibleEverywhere = 4
)

// plainNumber is what is taken for a number without a look at the SKUs.
var plainNumber = regexp.MustCompile(`^(?:[+-]?[1-9][0-9]*|0)$`)

// lookUp finds a product by its number or SKU. Errors are of kind NotFound, or
// those of the store.
func (p *products) lookUp(ctx context.Context, id string, bounds adapter.ProductParams, with []string) (adapter.Record, error) {
	key, isNumber := numeric.ID(id)
	_, loosely := numeric.Parse(id)
	switch {
	case plainNumber.MatchString(id):
	case !loosely:
		return p.bySKU(ctx, id, bounds, with)
	default:
		// The SKU goes first even where it is of a product the bounds leave out.
		found, err := p.bySKU(ctx, id, adapter.ProductParams{}, nil)
		if err == nil {
			key, isNumber = found.Get(p.schema.Key).Int(), true
		} else if adapter.KindOf(err) != adapter.NotFound {
			return found, err
		}
	}
	if !isNumber {
		return adapter.Record{}, noProduct(id)
	}
	return p.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(key), With: with, Products: bounds})
}

// bySKU finds a product by its SKU, letter case and accents ignored.
func (p *products) bySKU(ctx context.Context, sku string, bounds adapter.ProductParams, with []string) (adapter.Record, error) {
	query := adapter.Query{Where: where("sku", adapter.Eq, sku), Limit: 1}
	found, _, err := p.query(ctx, &query, adapter.ListParams{With: with, Products: bounds})
	if err == nil && len(found) == 0 {
		err = noProduct(sku)
	}
	if err != nil {
		return adapter.Record{}, err
	}
	return found[0], nil
}

func noProduct(id string) error {
	return &adapter.Error{Kind: adapter.NotFound, Op: "find product " + id}
}
