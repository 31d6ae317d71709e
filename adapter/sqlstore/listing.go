package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// The table product_listing holds which products shoppers may list at which store
// view (adapter.ProductParams.Listed). All it says follows from other tables, but
// not by any index of theirs: to skip or count products one would have to look at
// each and at its status in the website. In the listing that is a walk along the
// primary key, for a deep page some thirty times as fast.

// listing selects what the listing has to hold.
const listing = `SELECT store.store_id, product.entity_id FROM product
	JOIN product_website ON product_website.product_id = product.entity_id
	JOIN store ON store.website_id = product_website.website_id
	LEFT JOIN product_value ON product_value.product_id = product.entity_id
		AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
	WHERE product.status = 1 AND product.visibility <> 1
		AND (product_value.product_id IS NULL OR product_value.value = '1')`

// relist makes the listing of all products anew. It belongs at the end of every
// transaction that has changed of which website a store view is, or more products
// than one; what is deleted leaves the listing by itself.
func (db *DB) relist(ctx context.Context, tx *sql.Tx) error {
	if !db.keepsListing {
		return nil
	}
	if _, err := db.exec(ctx, tx, "DELETE FROM product_listing"); err != nil {
		return err
	}
	_, err := db.exec(ctx, tx, "INSERT INTO product_listing (store_id, product_id) "+listing)
	return err
}

// relist makes the listing of the product anew that is saved.
func (s *saving) relist(ctx context.Context, product adapter.Key) error {
	if !s.db.keepsListing {
		return nil
	}
	if err := s.exec(ctx, "DELETE FROM product_listing WHERE product_id = ?", int64(product)); err != nil {
		return err
	}
	return s.exec(ctx, "INSERT INTO product_listing (store_id, product_id) "+listing+" AND product.entity_id = ?", int64(product))
}

// Relist makes the listing of products anew (product_listing), after others have
// changed the tables it follows from. Kinds: Unavailable, Internal.
func (db *DB) Relist(ctx context.Context) error {
	return db.write(ctx, "list products", func(tx *sql.Tx) error { return db.relist(ctx, tx) })
}

const listedProduct = "product_listing.product_id"

// byListing returns the products of t as the listing alone has them: their ids.
func byListing(t *table) *table {
	ids := *t
	ids.columns, ids.nulls = make([]column, len(t.columns)), false
	ids.column(t.schema.Key).name = listedProduct
	return &ids
}

// listed returns what p selects where no more than the listing decides: in the
// order of ids, and by conditions on them alone. ok is false when more does. The
// products of the page are read once it has been found, so that those skipped on
// the way to it are never looked at.
func (s products) listed(ctx context.Context, p *adapter.ListParams, wanted wantedParts) (result *adapter.ListResult, ok bool, err error) {
	key := s.table.schema.Key
	other := func(name string) bool { return name != key }
	if !p.Products.Listed || p.Products.CategoryID != 0 || p.Products.WebsiteID != 0 || slices.ContainsFunc(named(&p.Query), other) {
		return nil, false, nil
	}
	if p.Count {
		page, err := s.listedIDs(p)
		if page == nil || err != nil {
			return nil, false, err
		}
		result, err = s.count(ctx, page.Select("COUNT(*)"))
		return result, true, err
	}
	text, arguments, at, err := s.selectPage(p, wanted)
	if text == "" || err != nil {
		return nil, false, err
	}
	sc := s.scanners.Get().(*scanner)
	defer s.free(sc)
	found := sieve{limit: p.Query.Limit, maxBytes: p.MaxBytes}
	err = s.rowsOf(ctx, s.db.reading.query, text, arguments, s.reader(sc, at), found.take)
	if err == nil {
		err = s.addParts(ctx, s.db.reading.query, found.records, wanted, p)
	}
	if err != nil {
		return nil, true, s.db.fault(ctx, "list products", err)
	}
	return &adapter.ListResult{Records: found.records, More: found.more()}, true, nil
}

// listedIDs returns a statement that finds the ids of the products p selects, in
// no order and whatever the page. It returns nil when SQL cannot.
func (s products) listedIDs(p *adapter.ListParams) (*sqlbuilder.SelectBuilder, error) {
	ids := s.db.engine.flavor.NewSelectBuilder()
	q := p.Query
	if p.Count {
		q.After = nil
	}
	selected, err := selectRecords(s.db.engine, ids, s.byListing, &q)
	if err != nil || len(selected.rest) > 0 {
		return nil, err
	}
	ids.From("product_listing").Where(ids.Equal("product_listing.store_id", p.StoreID)).Where(selected.where...)
	if selected.after != "" { // always told in SQL, and without a tail, as keys are never null
		ids.Where(selected.after)
	}
	return ids, nil
}
