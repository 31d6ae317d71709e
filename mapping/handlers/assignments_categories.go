package handlers

import (
	"context"
	"net/url"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// CategoryAssignments is the resource behind /products/:id/categories (product_parts 4).
type CategoryAssignments struct {
	resource.Resource
	finder     *ProductFinder
	categories resource.Source
	parser     *input.Parser
}

// NewCategoryAssignments returns the handler of assignments to categories.
func NewCategoryAssignments(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, finder *ProductFinder) (*CategoryAssignments, error) {
	base, err := resource.NewResource(d, fields.ProductCategories, backend, adapter.ProductCategories)
	if err != nil {
		return nil, err
	}
	categories, err := backend.Source(adapter.Categories)
	return &CategoryAssignments{base, finder, categories, input.NewParser(d, fields.ProductCategories, base.Schema, nil, base.Locale)}, err
}

// ListProductCategories handles GET /products/:id/categories. The list is sorted by
// ascending category id. Only an Admin sees inactive categories (product_parts 4.1).
func (h *CategoryAssignments) ListProductCategories(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	product, _, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	shown := resource.RecordsHook(resource.NoHook)
	if c.Principal.Role != contract.Admin {
		shown = h.onlyActiveCategories
	}
	assignments, err := h.AllRows(ctx, adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{resource.IntegerEquals("product_id", product.Get("entity_id").Int())}, OrderBy: "category_id",
	}, Only: h.ListAttributes(c)}, c.Limits, shown)
	if err != nil {
		return nil, err
	}
	return h.ListReply(c, assignments)
}

// onlyActiveCategories returns the assignments to active categories.
func (h *CategoryAssignments) onlyActiveCategories(ctx context.Context, assignments []adapter.Record) ([]adapter.Record, error) {
	ids := make([]string, len(assignments))
	for i, assignment := range assignments {
		ids[i] = assignment.Get("category_id").Text()
	}
	categories, err := h.categories.All(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{resource.NewCondition("category_id", adapter.In, ids...), resource.IntegerEquals("is_active", 1)},
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

// CreateProductCategory handles POST /products/:id/categories. It checks the category id
// before it looks up the product; the store checks the rest in one transaction
// (product_parts 4.3).
func (h *CategoryAssignments) CreateProductCategory(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	category, err := h.readCategoryID(&c.Body)
	if err != nil {
		return nil, err
	}
	found, _, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	if category == rootCategory {
		return nil, h.Dialect.Fault(contract.CategoryIsRoot)
	}
	product := found.Get("entity_id")
	assignment := adapter.NewRecord(h.Schema)
	assignment.Set("product_id", product)
	assignment.Set("category_id", adapter.IntegerValue(category))
	_, err = h.Store.Create(ctx, &adapter.CreateParams{Record: assignment})
	switch {
	case resource.IsStoreError(err, adapter.Invalid, "product_id"):
		return nil, h.Dialect.Fault(c.Route.NotFound)
	case resource.IsStoreError(err, adapter.Invalid, "category_id"):
		return nil, h.Dialect.Fault(contract.CategoryUnknown)
	case resource.IsStoreError(err, adapter.Conflict, "category_id"):
		return nil, h.Dialect.Fault(contract.CategoryAssigned, product.Int(), category)
	case err != nil:
		return nil, err
	}
	return resource.Created("/products/"+url.PathEscape(c.Param("id"))+"/categories/", adapter.Key(category)), nil
}

// readCategoryID parses category_id, the only field of an assignment.
func (h *CategoryAssignments) readCategoryID(body *codec.Node) (int64, error) {
	const field = "category_id"
	read := input.Body{Parser: h.parser, Node: body}
	read.CheckDemanded()
	sent, ok := body.Get(field)
	if ok {
		read.CheckAll(field, sent)
	}
	if len(read.Faults) > 0 {
		return 0, read.Err()
	}
	category, _ := input.WholeNumber(sent)
	return category, nil
}

// DeleteProductCategory handles DELETE /products/:id/categories/:category_id.
func (h *CategoryAssignments) DeleteProductCategory(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	found, _, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, err
	}
	category, ok := codec.LeadingInteger(c.Param("category_id"))
	if !ok {
		return nil, h.Dialect.Fault(contract.CategoryUnknown)
	}
	if category != rootCategory {
		_, err := h.categories.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(category)})
		switch {
		case err != nil && adapter.KindOf(err) == adapter.NotFound:
			return nil, h.Dialect.Fault(contract.CategoryUnknown)
		case err != nil:
			return nil, err
		}
	}
	product := found.Get("entity_id").Int()
	return removeAssignment(ctx, &h.Resource, product, resource.IntegerEquals("category_id", category), h.Dialect.Fault(contract.CategoryUnassigned, product, category))
}
