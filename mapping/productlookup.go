package mapping

import (
	"context"
	"regexp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// findProduct returns the product that the id in c's path, its number or SKU,
// names at the store view of c, if the caller may see it there (products 3.6 and
// 3.7). Otherwise it fails with the route's text for a product that is not found.
// parts are the attributes the record has to hold besides its id.
func (s *Service) findProduct(ctx context.Context, c *Call, attributes productAttributes) (product adapter.Record, view storeView, err error) {
	view, err = s.storeView(ctx, c)
	if err != nil {
		return product, view, err
	}
	id := c.Param("id")
	shopper := c.Principal.Role != contract.Admin
	if shopper {
		attributes.stored = append(attributes.stored, "status", "visibility")
	}
	wanted := adapter.GetParams{StoreID: view.id, With: attributes.onDemand, Only: attributes.storedOrNone(), Products: adapter.ProductParams{WebsiteID: view.websiteID}}
	if shopper && view.id == 0 {
		wanted.Products.WebsiteID = adapter.AnyWebsite
	}
	product, err = s.products.find(ctx, id, wanted)
	if err != nil && adapter.KindOf(err) == adapter.NotFound || err == nil && shopper && !isVisible(product) {
		err = s.dialect.Fault(c.Route.NotFound, id)
	}
	return product, view, err
}

// productParts names attributes of products: those on demand and the others.
type productAttributes struct{ onDemand, stored []string }

// named returns the others for a query, which takes nil for all there are.
func (p *productAttributes) storedOrNone() []string {
	if p.stored == nil {
		return []string{}
	}
	return p.stored
}

// onSale reports whether Customers and Guests see a single product, by its values
// at their store view.
func isVisible(product adapter.Record) bool {
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
var canonicalInteger = regexp.MustCompile(`^(?:[+-]?[1-9][0-9]*|0)$`)

// lookUp finds a product by its number or SKU, whatever key wanted has. Errors
// are of kind NotFound, or those of the store.
func (p *products) find(ctx context.Context, id string, wanted adapter.GetParams) (adapter.Record, error) {
	key, isNumber := numeric.ID(id)
	if p.dialect.IDsCut {
		key, isNumber = numeric.IDPart(id)
	}
	_, isNumeric := numeric.Parse(id)
	switch {
	case canonicalInteger.MatchString(id):
	case !isNumeric:
		return p.findBySKU(ctx, id, wanted)
	default:
		// The SKU goes first even where it is of a product the bounds leave out.
		found, err := p.findBySKU(ctx, id, adapter.GetParams{Only: []string{}})
		if err == nil {
			key, isNumber = found.Get(p.schema.Key).Int(), true
		} else if adapter.KindOf(err) != adapter.NotFound {
			return found, err
		}
	}
	if !isNumber {
		return adapter.Record{}, productNotFound()
	}
	wanted.Key = adapter.Key(key)
	return p.store.Get(ctx, &wanted)
}

// bySKU finds a product by its SKU, letter case and accents ignored.
func (p *products) findBySKU(ctx context.Context, sku string, wanted adapter.GetParams) (adapter.Record, error) {
	found, err := p.all(ctx, &adapter.ListParams{
		Query:    adapter.Query{Where: []adapter.Condition{textEquals("sku", sku)}, Limit: 1},
		StoreID:  wanted.StoreID,
		With:     wanted.With,
		Only:     wanted.Only,
		Products: wanted.Products,
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
