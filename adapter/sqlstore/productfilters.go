package sqlstore

import (
	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// A productList is a list of products with its filters.
type productList struct {
	*adapter.ListParams
	listed                bool
	inWebsite, inCategory bool
	website, category     int64 // ids; website is 0 for any
}

// newProductList returns the list of p. It fails with kind Unsupported for filters that
// products do not have.
func (s products) newProductList(p *adapter.ListParams) (productList, error) {
	l := productList{ListParams: p}
	for _, f := range p.Filters {
		switch f.Name {
		case adapter.Listed:
			l.listed = true
		case adapter.InWebsite:
			l.inWebsite, l.website = true, f.Value
		case adapter.InCategory:
			l.inCategory, l.category = true, f.Value
		}
	}
	return l, s.table.schema.CheckFilters(p.Filters)
}

// restrict adds the conditions of the filters to a statement.
func (l *productList) restrict(sb *sqlbuilder.SelectBuilder) {
	if l.listed {
		sb.Where("EXISTS (SELECT 1 FROM product_listing WHERE " + sb.Equal("product_listing.store_id", l.StoreID) + " AND " + listingProductID + " = product.entity_id)")
	}
	if l.inCategory {
		sb.Join("product_category", "product_category.product_id = product.entity_id", sb.Equal("product_category.category_id", l.category))
	}
	if !l.inWebsite {
		return
	}
	sold := "SELECT 1 FROM product_website WHERE product_website.product_id = product.entity_id"
	if l.website != 0 {
		sold += " AND product_website.website_id = " + sb.Var(l.website)
	}
	sb.Where("EXISTS (" + sold + ")")
}
