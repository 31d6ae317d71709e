package mapping

import (
	"context"
	"regexp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A source is where the records of one resource come from.
type source struct {
	schema *adapter.Schema
	store  adapter.Store
}

// all returns the records p selects, and finishes what the store could only do
// in part.
func (s source) all(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	result, err := s.store.List(ctx, p)
	if err != nil {
		return nil, err
	}
	if result.Partial {
		records, _, err := adapter.Apply(s.schema, result.Records, &p.Query)
		return records, err
	}
	return result.Records, nil
}

// Values of a product's status and visibility (States and transitions).
const (
	statusEnabled        = 1
	leastShownVisibility = 2
	mostShownVisibility  = 4
)

// findProduct returns the product id names in a path, with its values at view,
// if the caller may see it there (products 3.6 and 3.7). Otherwise it fails with
// the route's text for a product that is not found.
func (s *Service) findProduct(ctx context.Context, c *Call, id string, view storeView) (adapter.Record, error) {
	product, found, err := s.productCalled(ctx, id, view)
	if found && err == nil {
		found, err = s.sees(ctx, c.Principal.Role, product, view)
	}
	if err == nil && !found {
		err = s.dialect.Fault(c.Route.NotFound, id)
	}
	return product, err
}

// numberForm is what is taken for a product's number before it is for a SKU.
var numberForm = regexp.MustCompile(`^(?:0|[+-]?[1-9][0-9]*)$`)

// productCalled finds a product by its number, or by its SKU where id is not a
// plain number; a looser number is the last resort (products 3.7).
func (s *Service) productCalled(ctx context.Context, id string, view storeView) (product adapter.Record, found bool, err error) {
	if !numberForm.MatchString(id) {
		bySKU, err := s.products.all(ctx, &adapter.ListParams{StoreID: view.id, Query: adapter.Query{
			Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "sku", Op: adapter.Eq, Operands: []string{id}}}}},
			Limit: 1,
		}})
		if err != nil || len(bySKU) > 0 {
			return first(bySKU), len(bySKU) > 0, err
		}
		if _, loose := numeric.Parse(id); !loose {
			return adapter.Record{}, false, nil
		}
	}
	number, ok := numeric.ID(id)
	if !ok {
		return adapter.Record{}, false, nil
	}
	return s.productNumbered(ctx, number, view)
}

func (s *Service) productNumbered(ctx context.Context, number int64, view storeView) (product adapter.Record, found bool, err error) {
	product, err = s.products.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(number), StoreID: view.id})
	if err != nil && adapter.KindOf(err) == adapter.NotFound {
		return product, false, nil
	}
	return product, err == nil, err
}

func first(records []adapter.Record) adapter.Record {
	if len(records) == 0 {
		return adapter.Record{}
	}
	return records[0]
}

// sees reports whether role sees product at view (products 3.6): in a store view
// only if it is assigned to its website, and for customers and guests only if it
// is enabled, visible and assigned to some website.
func (s *Service) sees(ctx context.Context, role contract.Role, product adapter.Record, view storeView) (bool, error) {
	where := []adapter.Condition{numberIs("product_id", product.Get("entity_id").Int())}
	switch visibility := product.Get("visibility").Int(); {
	case role != contract.Admin && (product.Get("status").Int() != statusEnabled || visibility < leastShownVisibility || visibility > mostShownVisibility):
		return false, nil
	case view.websiteID != 0:
		where = append(where, numberIs("website_id", view.websiteID))
	case role == contract.Admin:
		return true, nil
	}
	assigned, err := s.productWebsites.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: where, Limit: 1}})
	return len(assigned) > 0, err
}
