package mapping

import (
	"context"
	"regexp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// findProduct returns the product that the id in the path of c names, by its number or
// SKU, at the store view of c (products 3.6 and 3.7). If there is none, or the caller may
// not see it there, the error is the route's fault for an unknown product. attributes are
// those that the record must hold besides its id.
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
	wanted := adapter.GetParams{StoreID: view.id, With: attributes.onDemand, Only: attributes.storedOrNone()}
	if shopper || view.id != 0 {
		wanted.Filters = []adapter.Filter{{Name: adapter.InWebsite, Value: view.websiteID}}
	}
	product, err = s.products.find(ctx, id, wanted)
	if err != nil && adapter.KindOf(err) == adapter.NotFound || err == nil && shopper && !isVisible(product) {
		err = s.dialect.Fault(c.Route.NotFound, id)
	}
	return product, view, err
}

// productAttributes names attributes of products: attributes on demand, and those of
// every record.
type productAttributes struct{ onDemand, stored []string }

// storedOrNone returns the stored attributes as a query wants them: an empty list instead of
// nil, which would stand for all attributes.
func (p *productAttributes) storedOrNone() []string {
	if p.stored == nil {
		return []string{}
	}
	return p.stored
}

// isVisible reports whether Customers and Guests may see a single product, by its values
// at their store view.
func isVisible(product adapter.Record) bool {
	visibility := product.Get("visibility").Int()
	return product.Get("status").Int() == enabled && visibility > notVisible && visibility <= visibleEverywhere
}

// Values of status and visibility (contract 3.3).
const (
	enabled           = 1
	notVisible        = 1
	visibleEverywhere = 4
)

// canonicalInteger matches the ids that are always taken for a product's number, never
// for a SKU.
var canonicalInteger = regexp.MustCompile(`^(?:[+-]?[1-9][0-9]*|0)$`)

// find returns a product by its number or SKU; it ignores wanted.Key. The error is of
// kind NotFound or that of the store.
func (p *products) find(ctx context.Context, id string, wanted adapter.GetParams) (adapter.Record, error) {
	key, isNumber := numeric.ID(id)
	if p.dialect.TruncatesIDs {
		key, isNumber = numeric.IDPart(id)
	}
	_, isNumeric := numeric.Parse(id)
	switch {
	case canonicalInteger.MatchString(id):
	case !isNumeric:
		return p.findBySKU(ctx, id, wanted)
	default:
		// The SKU has priority even if wanted excludes its product.
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

// findBySKU returns a product by its SKU, ignoring case and accents.
func (p *products) findBySKU(ctx context.Context, sku string, wanted adapter.GetParams) (adapter.Record, error) {
	found, err := p.all(ctx, &adapter.ListParams{
		Query:        adapter.Query{Where: []adapter.Condition{textEquals("sku", sku)}, Limit: 1},
		StoreID:      wanted.StoreID,
		WebsiteScope: wanted.WebsiteScope,
		Filters:      wanted.Filters,
		With:         wanted.With,
		Only:         wanted.Only,
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
