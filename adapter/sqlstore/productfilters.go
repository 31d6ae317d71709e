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

const listingProductID = "product_listing.product_id"
