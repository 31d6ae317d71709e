package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
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

// presentListingSQL adds the present rows of product_listing to the rows of listingRowsOfSQL, with a condition on their
// products behind it. A stock state n is returned as -1 - n, which is negative, to distinguish these rows.
const presentListingSQL = ` UNION ALL SELECT store_id, product_id, -1 - stock_state FROM product_listing WHERE `

// restockListingSQL sets the stock of rows of product_listing that have another one, with a condition
// after it.
const restockListingSQL = `UPDATE product_listing SET stock_state = ` + stockOfRowSQL + ` WHERE stock_state <> ` + stockOfRowSQL + ` AND `

// stockOfRowSQL is stockStateSQL for a row of product_listing. LOWER is as in listingRowsOfSQL.
const stockOfRowSQL = `(SELECT ` + stockStateSQL + ` FROM product
	LEFT JOIN product_value AS own ON own.product_id = product.entity_id
		AND own.store_id = product_listing.store_id AND LOWER(own.attribute) = 'stock_status'
	LEFT JOIN stock_item ON stock_item.product_id = product.entity_id
	WHERE product.entity_id = product_listing.product_id)`

// Saved updates the listing rows of some products, or of all. It reads the rows first, as most writes of a product
// change none.
func (t *Tx) Saved(ctx context.Context, products ...adapter.Key) error {
	if len(products) == 0 {
		return t.records.RebuildListing(ctx, t.Tx)
	}
	if !t.records.hasListingTable {
		return nil
	}
	for chunk := range slices.Chunk(products, engine.IDsPerStatement) {
		arguments := engine.KeyArguments(chunk)
		text := listingRowsOfSQL + " AND " + engine.InList("product.entity_id", arguments) + presentListingSQL + engine.InList("product_id", arguments)
		wanted, present := map[listingID]int64{}, map[listingID]int64{} // stock states
		err := engine.EachRow(ctx, t.Query, func(rows engine.Rows) error {
			var id listingID
			var state int64
			err := rows.Scan(&id.store, &id.product, &state)
			if state < 0 {
				present[id] = -1 - state
			} else {
				wanted[id] = state
			}
			return err
		}, text, slices.Concat(arguments, arguments)...)
		if err != nil {
			return err
		}
		for id, state := range wanted {
			if is, ok := present[id]; ok && is == state {
				delete(wanted, id)
				delete(present, id)
			}
		}
		if err := t.relist(ctx, wanted, present); err != nil {
			return err
		}
	}
	return nil
}

// A listingID identifies a row of product_listing.
type listingID struct{ store, product int64 }

// relist deletes rows of product_listing and then inserts rows with their stock states.
func (t *Tx) relist(ctx context.Context, missing, gone map[listingID]int64) error {
	products := map[int64][]any{} // by store view
	for _, id := range slices.SortedFunc(maps.Keys(gone), listingID.compare) {
		products[id.store] = append(products[id.store], id.product)
	}
	for _, store := range slices.Sorted(maps.Keys(products)) {
		arguments := engine.PadToPowerOfTwo(products[store])
		text := "DELETE FROM product_listing WHERE " + engine.InList("product_id", arguments) + " AND store_id = ?"
		if err := t.Exec(ctx, text, append(arguments, store)...); err != nil {
			return err
		}
	}
	var rows [][]any
	for _, id := range slices.SortedFunc(maps.Keys(missing), listingID.compare) {
		rows = append(rows, []any{id.store, id.product, missing[id]})
	}
	return t.InsertValues(ctx, "product_listing", []string{"store_id", "product_id", "stock_state"}, rows, "")
}

// compare compares two rows in the order of the primary key, in which all transactions change them.
func (id listingID) compare(other listingID) int {
	return cmp.Or(cmp.Compare(id.store, other.store), cmp.Compare(id.product, other.product))
}

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
	_, err := tx.Run(ctx, "INSERT INTO product_listing (store_id, product_id, stock_state) "+listingRowsSQL)
	if err == nil && db.Products.counted {
		_, err = tx.Run(ctx, "SELECT recount_products()")
	}
	return err
}
