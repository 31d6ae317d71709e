package sqlstore

import (
	"context"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// listingRowsSQL selects the rows of product_listing.
const listingRowsSQL = `SELECT store.store_id, product.entity_id FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	LEFT JOIN product_value ON product_value.product_id = product.entity_id
		AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
	WHERE product.status = 1 AND product.visibility <> 1
		AND (product_value.product_id IS NULL OR product_value.value = '1')`

// listingRowsOfSQL selects the rows of product_listing for some products, with two conditions
// on their ids after it. It looks up everything by the ids: the subquery in place of a join,
// the sum and LOWER keep servers without statistics, as they are after an import, from using
// the indexes of status and attribute, which find most products.
const listingRowsOfSQL = `SELECT store.store_id, product.entity_id FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	WHERE product.status + 0 = 1 AND product.visibility <> 1
		AND COALESCE((SELECT CASE WHEN product_value.value = '1' THEN 1 ELSE 0 END FROM product_value
			WHERE product_value.product_id = product.entity_id
			AND product_value.store_id = store.store_id AND LOWER(product_value.attribute) = 'status'), 1) = 1`

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
	_, err := tx.Run(ctx, "INSERT INTO product_listing (store_id, product_id) "+listingRowsSQL)
	return err
}
