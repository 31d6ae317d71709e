package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// On PostgreSQL the table product_count holds the number of products in each block of ids: of all products, and of the
// products that each store view lists. Triggers keep it, as migration 31 describes.

const (
	blockBits   = 10 // the ids of a block differ in the last 10 bits only
	allProducts = -1 // store_id of the rows that count all products
	// areProductsCounted returns a row if the tables have their triggers (a table may have been replaced by a view), and if
	// the user may read the counts.
	areProductsCounted = `SELECT 1 FROM pg_trigger WHERE tgname LIKE 'product\_counted\_%' AND tgenabled IN ('O', 'A')
		AND tgrelid IN (to_regclass('product'), to_regclass('product_listing'))
		HAVING COUNT(*) = 8 AND has_table_privilege(to_regclass('product_count'), 'SELECT')`
	// blockSQL selects the block in which a page begins, and the number of products in the earlier blocks. Its parameters are
	// a store_id, the first block that counts, and the number of products before the page.
	blockSQL = fromBlocks + inOrder
	// nearBlockSQL is blockSQL for a number of blocks, its fourth parameter, from the first one with products. blockSQL reads
	// and sorts all blocks.
	nearBlockSQL = fromBlocks + " AND block < (SELECT MIN(block) FROM product_count WHERE store_id = $1 AND block >= $2) + $4" + inOrder
	fromBlocks   = "SELECT block, CAST(total - products AS BIGINT) FROM (" +
		"SELECT block, SUM(products) AS products, SUM(SUM(products)) OVER (ORDER BY block) AS total" +
		" FROM product_count WHERE store_id = $1 AND block >= $2"
	inOrder = " GROUP BY block) AS counted WHERE total > $3 ORDER BY block LIMIT 1"
)

// countsProducts reports whether db counts its products.
func countsProducts(ctx context.Context, db *engine.DB) (bool, error) {
	if db.Engine.System != "postgresql" {
		return false, nil
	}
	found, err := engine.SelectColumn[int](ctx, engine.QueryOf(db.Readers.QueryContext), areProductsCounted)
	return len(found) > 0, err
}

// isCounted reports whether product_count holds the numbers of products of l, and l is in the order of the ids.
func (s products) isCounted(l *productList) bool {
	q := &l.Query
	return s.counted && len(q.Where) == 0 && !l.inWebsite && !l.inCategory && l.stockState == "" && (q.OrderBy == "" || q.OrderBy == s.Table.Schema.Key && !q.Desc)
}

// countedList returns the store_id of the rows of product_count that count the products of l.
func (l *productList) countedList() int64 {
	if l.listed {
		return l.StoreID
	}
	return allProducts
}

// countByBlocks returns the length of a list that is counted.
func (s products) countByBlocks(ctx context.Context, l *productList) (*adapter.ListResult, error) {
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	sb.Select("CAST(COALESCE(SUM(products), 0) AS BIGINT)").From("product_count").Where(sb.Equal("store_id", l.countedList()))
	return s.count(ctx, sb)
}

// skipBlocks lets l begin at the block in which its page begins, so that a statement skips less than a block. l must be
// counted.
func (s products) skipBlocks(ctx context.Context, l *productList) error {
	page := *l.ListParams
	q := &page.Query
	skip, first := q.Offset, int64(math.MinInt64)
	if q.After != nil { // the offset counts from there
		first = int64(q.After.Key)>>blockBits + 1
		text, arguments := "SELECT COUNT(*) FROM product WHERE entity_id > ? AND entity_id < ?", []any{int64(q.After.Key), first << blockBits}
		if l.listed {
			text, arguments = "SELECT COUNT(*) FROM product_listing WHERE product_id > ? AND product_id < ? AND store_id = ?", append(arguments, l.StoreID)
		}
		var rest int64
		if err := engine.First(s.db.ReadStatements.Query(ctx, text, arguments...)).Scan(&rest); err != nil {
			return err
		}
		if skip -= rest; skip < 0 {
			return nil
		}
	}
	var block, before int64
	arguments := []any{l.countedList(), first, skip}
	near := skip>>blockBits*3/2 + 16 // enough if two of three ids are listed
	err := engine.First(s.db.ReadStatements.Query(ctx, nearBlockSQL, append(arguments, near)...)).Scan(&block, &before)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.First(s.db.ReadStatements.Query(ctx, blockSQL, arguments...)).Scan(&block, &before)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows): // it begins behind the end
		q.After, q.Offset = &adapter.Cursor{Key: math.MaxInt64}, 0
	case err != nil:
		return err
	default:
		q.After, q.Offset = &adapter.Cursor{Key: adapter.Key(block<<blockBits - 1)}, skip-before
	}
	l.ListParams = &page
	return nil
}
