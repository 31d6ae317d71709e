package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// listProductCategories handles GET /products/:id/categories: by ascending id of
// the category, and for everybody but Admin active ones only (product_parts 4.1).
func (s *Service) listProductCategories(ctx context.Context, c *Call) (*Reply, error) {
	product, _, err := s.findProduct(ctx, c)
	if err != nil {
		return nil, err
	}
	assignments, err := s.productCategories.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{numberIs("product_id", product.Get("entity_id").Int())}, OrderBy: "category_id", Limit: s.settings.MaxRows,
	}})
	if err == nil && c.Principal.Role != contract.Admin && len(assignments) > 0 {
		assignments, err = s.toActiveCategories(ctx, assignments)
	}
	if err != nil {
		return nil, err
	}
	return s.productCategories.many(c, arrayOfRecords, assignments)
}

// toActiveCategories returns the assignments whose category is active.
func (s *Service) toActiveCategories(ctx context.Context, assignments []adapter.Record) ([]adapter.Record, error) {
	ids := make([]string, len(assignments))
	for i, assignment := range assignments {
		ids[i] = assignment.Get("category_id").Text()
	}
	categories, err := s.categories.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{condition("category_id", adapter.In, ids...), numberIs("is_active", 1)},
	}})
	if err != nil {
		return nil, err
	}
	active := make(map[int64]bool, len(categories))
	for _, category := range categories {
		active[category.Get("category_id").Int()] = true
	}
	var kept []adapter.Record
	for _, assignment := range assignments {
		if active[assignment.Get("category_id").Int()] {
			kept = append(kept, assignment)
		}
	}
	return kept, nil
}
