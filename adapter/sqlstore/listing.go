package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// The table product_listing materializes which products shoppers may list at which
// store view (the filter adapter.Listed). It follows from other tables, but no index
// of theirs could answer the question: to skip or count products, a statement would
// have to read each product and its status in the website. A scan of the primary key of
// product_listing reads a deep page some thirty times as fast.

// listingRowsSQL selects the rows that product_listing has to hold.
const listingRowsSQL = `SELECT store.store_id, product.entity_id FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	LEFT JOIN product_value ON product_value.product_id = product.entity_id
		AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
	WHERE product.status = 1 AND product.visibility <> 1
		AND (product_value.product_id IS NULL OR product_value.value = '1')`

// listingRowsOfSQL selects the rows that product_listing has to hold of some products, in two
// conditions on their ids that follow it. It looks up everything by the ids: the subquery in
// place of a join, the sum and LOWER keep servers without statistics, as they are after an
// import, from using the indexes of status and attribute, which find most products.
const listingRowsOfSQL = `SELECT store.store_id, product.entity_id FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	WHERE product.status + 0 = 1 AND product.visibility <> 1
		AND COALESCE((SELECT CASE WHEN product_value.value = '1' THEN 1 ELSE 0 END FROM product_value
			WHERE product_value.product_id = product.entity_id
			AND product_value.store_id = store.store_id AND LOWER(product_value.attribute) = 'status'), 1) = 1`

// rebuildListing rebuilds all rows of the product listing. A transaction must call it
// at its end if it moved a store view to another website or changed several products.
// Deletions need no rebuild: the database deletes listing rows with their products.
func (db *DB) rebuildListing(ctx context.Context, tx *sql.Tx) error {
	if !db.hasListingTable {
		return nil
	}
	if _, err := db.exec(ctx, tx, "DELETE FROM product_listing"); err != nil {
		return err
	}
	_, err := db.exec(ctx, tx, "INSERT INTO product_listing (store_id, product_id) "+listingRowsSQL)
	return err
}

// RebuildListing rebuilds the product listing, the table product_listing, after another
// program has changed the tables it is derived from. Kinds: Unavailable, Internal.
func (db *DB) RebuildListing(ctx context.Context) error {
	return db.write(ctx, "list products", func(tx *sql.Tx) error { return db.rebuildListing(ctx, tx) })
}

const listingProductID = "product_listing.product_id"

// newListingTable returns a table with the columns that product_listing alone can
// answer for t: the key.
func newListingTable(t *table) *table {
	ids := *t
	ids.columns, ids.nulls = make([]column, len(t.columns)), false
	ids.column(t.schema.Key).name = listingProductID
	return &ids
}

// listFromListing answers p from product_listing, reading the products of the page
// only, so that skipped products are never read. ok is false if p concerns more than
// the listing: another order than by id, conditions on other attributes, a category or
// a website.
func (s products) listFromListing(ctx context.Context, p *productList, wanted requestedParts) (result *adapter.ListResult, ok bool, err error) {
	key := s.table.schema.Key
	isOther := func(name string) bool { return name != key }
	if !p.listed || p.inCategory || p.inWebsite || slices.ContainsFunc(queriedAttributes(&p.Query), isOther) {
		return nil, false, nil
	}
	if p.Count {
		page, err := s.listingSelect(p)
		if page == nil || err != nil {
			return nil, false, err
		}
		result, err = s.count(ctx, page.Select("COUNT(*)"))
		return result, true, err
	}
	text, arguments, indexes, err := s.pageStatement(p, wanted)
	if text == "" || err != nil {
		return nil, false, err
	}
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	found := postFilter{limit: p.Query.Limit, maxBytes: p.MaxBytes}
	err = s.eachRecordOf(ctx, s.db.readStatements.query, text, arguments, s.rowReader(sc, indexes), found.add)
	if err == nil {
		err = s.addParts(ctx, s.db.readStatements.query, found.records, wanted, p.ListParams)
	}
	if err != nil {
		return nil, true, s.db.wrapError(ctx, "list products", err)
	}
	return &adapter.ListResult{Records: found.records, More: found.truncated()}, true, nil
}

// listingSelect returns a statement that finds the ids of the products that p selects,
// without order and page. It returns nil if SQL cannot evaluate p exactly.
func (s products) listingSelect(p *productList) (*sqlbuilder.SelectBuilder, error) {
	ids := s.db.engine.flavor.NewSelectBuilder()
	q := p.Query
	if p.Count {
		q.After = nil
	}
	selected, err := selectRecords(s.db.engine, ids, s.listingTable, &q)
	if err != nil || len(selected.residual) > 0 {
		return nil, err
	}
	ids.From("product_listing").Where(ids.Equal("product_listing.store_id", p.StoreID)).Where(selected.where...)
	if selected.after != "" { // for keys, which are never null, always exact and without a tail
		ids.Where(selected.after)
	}
	return ids, nil
}
