package adapter

import "slices"

// A Filter restricts a list by a condition that is not on an attribute of the records, such
// as the websites that a product is assigned to.
type Filter struct {
	Name  string // one of [Schema.Filters]
	Value int64  // its meaning depends on the filter
}

// The filters of products.
const (
	// InWebsite keeps the products that are assigned to the website with the id Value, or
	// to any website if Value is 0.
	InWebsite = "in_website"
	// InCategory keeps the products that are assigned directly to the category with the id
	// Value, and sets their category_position.
	InCategory = "in_category"
	// Listed keeps the products that shoppers may list at the store view: products that its
	// website sells, that are enabled both in the default scope and in the website, and
	// whose visibility in the default scope is not 1. At the default scope itself there are
	// none. Value has no meaning.
	Listed = "listed"
	// InStock keeps listed products (see Listed) that are in stock at the store view:
	// their stock_status there says so, or they have none and their stock item is in stock or not
	// managed. Value is 1 if the shop manages stock by default, otherwise 0 (configurations 5).
	InStock = "in_stock"
)

// CheckFilters fails with kind Unsupported if filters has one that the resource does not
// have, or one twice.
func (s *Schema) CheckFilters(filters []Filter) error {
	for i, f := range filters {
		isSame := func(other Filter) bool { return other.Name == f.Name }
		if !slices.Contains(s.Filters, f.Name) || slices.ContainsFunc(filters[:i], isSame) {
			return &Error{Kind: Unsupported, Op: "filter " + string(s.Resource), Field: f.Name}
		}
	}
	return nil
}

// CheckAttributes fails with kind Unsupported if names, such as the names in With, has one
// that the resource does not have.
func (s *Schema) CheckAttributes(names []string) error {
	for _, name := range names {
		if _, ok := s.Index(name); !ok {
			return unknownAttribute(s, name)
		}
	}
	return nil
}
