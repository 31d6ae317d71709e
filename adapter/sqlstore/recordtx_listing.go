package sqlstore

import (
	"context"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// stockStateSQL is the column stock_state of product_listing: 1 for a product that is in stock at
// the store view, 2 for a product that is only where stock is not managed by default, and 0 for a
// product that is sold out. The stock status at the store view (own) decides, or else the stock item.
const stockStateSQL = `CASE
	WHEN own.value IS NOT NULL THEN CASE own.value WHEN '1' THEN 1 WHEN '2' THEN 2 ELSE 0 END
	WHEN own.product_id IS NULL AND product.stock_status IS NOT NULL THEN CASE product.stock_status WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 0 END
	WHEN stock_item.is_in_stock = 1 THEN 1
	WHEN stock_item.use_config_manage_stock <> 0 THEN 2
	WHEN stock_item.manage_stock = 0 THEN 1
	ELSE 0 END`

// listingRowsSQL selects the rows of product_listing.
const listingRowsSQL = `SELECT store.store_id, product.entity_id, ` + stockStateSQL + ` FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	LEFT JOIN product_value ON product_value.product_id = product.entity_id
		AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
	LEFT JOIN product_value AS own ON own.product_id = product.entity_id
		AND own.store_id = store.store_id AND own.attribute = 'stock_status'
	LEFT JOIN stock_item ON stock_item.product_id = product.entity_id
	WHERE product.status = 1 AND product.visibility <> 1
		AND (product_value.product_id IS NULL OR product_value.value = '1')`

// listingRowsOfSQL selects the rows of product_listing for some products, with a condition on their
// ids after it. It looks up everything by the ids: the subquery in place of a join,
// the sum and LOWER keep servers without statistics, as they are after an import, from using
// the indexes of status and attribute, which find most products.
const listingRowsOfSQL = `SELECT store.store_id, product.entity_id, ` + stockStateSQL + ` FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	LEFT JOIN product_value AS own ON own.product_id = product.entity_id
		AND own.store_id = store.store_id AND LOWER(own.attribute) = 'stock_status'
	LEFT JOIN stock_item ON stock_item.product_id = product.entity_id
	WHERE product.status + 0 = 1 AND product.visibility <> 1
		AND COALESCE((SELECT CASE WHEN product_value.value = '1' THEN 1 ELSE 0 END FROM product_value
			WHERE product_value.product_id = product.entity_id
			AND product_value.store_id = store.store_id AND LOWER(product_value.attribute) = 'status'), 1) = 1`

// restockListingSQL sets the stock of rows of product_listing that have another one, with a condition
// after it.
const restockListingSQL = `UPDATE product_listing SET stock_state = ` + stockOfRowSQL + ` WHERE stock_state <> ` + stockOfRowSQL + ` AND `

// stockOfRowSQL is stockStateSQL for a row of product_listing. LOWER is as in listingRowsOfSQL.
const stockOfRowSQL = `(SELECT ` + stockStateSQL + ` FROM product
	LEFT JOIN product_value AS own ON own.product_id = product.entity_id
		AND own.store_id = product_listing.store_id AND LOWER(own.attribute) = 'stock_status'
	LEFT JOIN stock_item ON stock_item.product_id = product.entity_id
	WHERE product.entity_id = product_listing.product_id)`

// insertListingSQL inserts the rows that a statement behind it selects.
const insertListingSQL = "INSERT INTO product_listing (store_id, product_id, stock_state) "

// RebuildListing rebuilds all rows of the product listing. A transaction must call it
// at its end if it moved a store view to another website or changed several products.
// Deletions need no rebuild: the database deletes listing rows with their products.
func (db *Database) RebuildListing(ctx context.Context, tx *engine.Tx) error {
	if !db.hasListingTable {
		return nil
	}
	if _, err := tx.Run(ctx, "DELETE FROM product_listing"); err != nil {
		return err
	}
	_, err := tx.Run(ctx, insertListingSQL+listingRowsSQL)
	return err
}
