package sqlstore

import (
	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
)

// A productList is a list of products with its filters.
type productList struct {
	*adapter.ListParams
	listed                bool
	stockState            string // condition on the rows of product_listing, "" for none
	inWebsite, inCategory bool
	website, category     int64 // ids; website is 0 for any
}

// restrict adds the conditions of the filters to a statement.
func (l *productList) restrict(sb *sqlbuilder.SelectBuilder) {
	if l.listed {
		row := sb.Equal("product_listing.store_id", l.StoreID) + " AND " + listingProductID + " = product.entity_id"
		if l.stockState != "" {
			row += " AND " + l.stockState
		}
		sb.Where("EXISTS (SELECT 1 FROM product_listing WHERE " + row + ")")
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

// The conditions of the filter InStock. Where stock is managed by default, an index has the
// products in stock by their ids. Where it is not, only products that manage their own stock can
// be sold out: the sum keeps servers from reading all products by that index and sorting them.
const (
	inStockIfManaged   = "product_listing.stock_state = 1"
	inStockIfUnmanaged = "product_listing.stock_state + 0 <> 0"
)
