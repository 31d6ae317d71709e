package mapping

import (
	"context"
	"net/url"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// listProductCategories handles GET /products/:id/categories. The list is sorted by
// ascending category id. Only an Admin sees inactive categories (product_parts 4.1).
func (s *Service) listProductCategories(ctx context.Context, c *Call) (*Reply, error) {
	product, _, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	shown := batchHook(noBatchHook)
	if c.Principal.Role != contract.Admin {
		shown = s.onlyActiveCategories
	}
	assignments, err := s.productCategories.allRows(ctx, adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{integerEquals("product_id", product.Get("entity_id").Int())}, OrderBy: "category_id",
	}}, s.limits, shown)
	if err != nil {
		return nil, err
	}
	return s.productCategories.listReply(c, assignments)
}

// getProductCategory handles GET /products/:id/categories/:category_id. The original
// replies with the product, whatever the category (product_parts 4.5).
func (s *Service) getProductCategory(ctx context.Context, c *Call) (*Reply, error) {
	if c.Principal.Role == contract.Admin {
		return s.answerProduct(ctx, c, &s.products.assigned)
	}
	return s.answerProduct(ctx, c, &s.products.publicAssigned)
}

// onlyActiveCategories returns the assignments to active categories.
func (s *Service) onlyActiveCategories(ctx context.Context, assignments []adapter.Record) ([]adapter.Record, error) {
	ids := make([]string, len(assignments))
	for i, assignment := range assignments {
		ids[i] = assignment.Get("category_id").Text()
	}
	categories, err := s.categories.all(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{condition("category_id", adapter.In, ids...), integerEquals("is_active", 1)},
	}})
	if err != nil {
		return nil, err
	}
	active := make(map[int64]bool, len(categories))
	for _, category := range categories {
		active[category.Get("category_id").Int()] = true
	}
	var shown []adapter.Record
	for _, assignment := range assignments {
		if active[assignment.Get("category_id").Int()] {
			shown = append(shown, assignment)
		}
	}
	return shown, nil
}

// createProductCategory handles POST /products/:id/categories. It checks the category id
// before it looks up the product; the store checks the rest in one transaction
// (product_parts 4.3).
func (s *Service) createProductCategory(ctx context.Context, c *Call) (*Reply, error) {
	category, err := s.readCategoryID(&c.Body)
	if err != nil {
		return nil, err
	}
	found, _, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	if category == rootCategory {
		return nil, s.dialect.Fault(contract.CategoryIsRoot)
	}
	product := found.Get("entity_id")
	assignment := adapter.NewRecord(s.productCategories.schema)
	assignment.Set("product_id", product)
	assignment.Set("category_id", adapter.IntegerValue(category))
	_, err = s.productCategories.store.Create(ctx, &adapter.CreateParams{Record: assignment})
	switch {
	case isStoreError(err, adapter.Invalid, "product_id"):
		return nil, s.dialect.Fault(c.Route.NotFound)
	case isStoreError(err, adapter.Invalid, "category_id"):
		return nil, s.dialect.Fault(contract.CategoryUnknown)
	case isStoreError(err, adapter.Conflict, "category_id"):
		return nil, s.dialect.Fault(contract.CategoryAssigned, product.Int(), category)
	case err != nil:
		return nil, err
	}
	return createdReply("/products/"+url.PathEscape(c.Param("id"))+"/categories/", adapter.Key(category)), nil
}

// readCategoryID parses category_id, the only field of an assignment.
func (s *Service) readCategoryID(body *codec.Node) (int64, error) {
	const field = "category_id"
	sent, ok := body.Get(field)
	var faults contract.Faults
	if !ok || isMissing(sent) || sent.Kind == codec.Text && strings.Trim(sent.Text, trimCutset) == "" {
		faults = append(faults, s.dialect.Fault(contract.RequiredValue, field))
	}
	if ok {
		category, isWhole := wholeNumber(sent)
		if isWhole {
			return category, nil
		}
		faults = append(faults, s.dialect.Fault(contract.CategoryIDInvalid))
	}
	return 0, append(faults, s.dialect.Fault(contract.PreValidation))
}

// deleteProductCategory handles DELETE /products/:id/categories/:category_id.
func (s *Service) deleteProductCategory(ctx context.Context, c *Call) (*Reply, error) {
	found, _, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	category, ok := numeric.LeadingInteger(c.Param("category_id"))
	if !ok {
		return nil, s.dialect.Fault(contract.CategoryUnknown)
	}
	if category != rootCategory {
		_, err := s.categories.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(category)})
		switch {
		case err != nil && adapter.KindOf(err) == adapter.NotFound:
			return nil, s.dialect.Fault(contract.CategoryUnknown)
		case err != nil:
			return nil, err
		}
	}
	product := found.Get("entity_id").Int()
	return s.removeAssignment(ctx, &s.productCategories, product, integerEquals("category_id", category), s.dialect.Fault(contract.CategoryUnassigned, product, category))
}
