package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestDeepPages reads pages deep in lists of products whose ids have gaps, from the beginning and from a cursor on, and
// the lengths of the lists, while products are added, removed and listed elsewhere.
func TestDeepPages(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		db := OpenWith(t, Options{DSN: NewDemo(t, e)})
		if got, want := db.records.Products.counted, e.Name == "postgres"; got != want {
			t.Fatalf("products are counted: %t, want %t", got, want)
		}
		addMany(t, db, 7000)
		changes := []string{
			"SELECT 1 WHERE 1 = 0",
			"DELETE FROM product WHERE entity_id % 7 = 3 AND entity_id < 15000",
			"DELETE FROM product_listing WHERE store_id = 2 AND product_id % 5 = 1",
			"UPDATE product_listing SET store_id = 1 WHERE store_id = 2 AND product_id % 11 = 0 AND product_id >= 1000",
			"UPDATE product SET entity_id = entity_id + 100000 WHERE entity_id % 13 = 0 AND entity_id BETWEEN 3000 AND 9000 AND NOT EXISTS (SELECT 1 FROM product_listing WHERE product_id = entity_id)",
			"UPDATE product SET entity_id = entity_id + 1 WHERE entity_id % 17 = 0 AND entity_id BETWEEN 3000 AND 9000 AND NOT EXISTS (SELECT 1 FROM product_listing WHERE product_id = entity_id)",
			"INSERT INTO product_listing (store_id, product_id) SELECT 3, entity_id FROM product WHERE entity_id > 4000",
			"DELETE FROM product WHERE entity_id BETWEEN 5000 AND 9500",
			// 5,000 ids apart, so that nearBlockSQL finds too few
			"INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at, nulls) SELECT 20000000 + 5000 * entity_id, 4, 'simple', 'few', created_at, created_at, '' FROM product WHERE entity_id BETWEEN 1000 AND 1500",
			"INSERT INTO product_listing (store_id, product_id) SELECT 1, entity_id FROM product WHERE entity_id > 20000000",
		}
		for _, change := range changes {
			execute(t, db, change)
			checkDeepPages(t, db, random)
			if t.Failed() {
				t.Fatalf("after %s", change)
			}
		}
		if e.Name != "postgres" {
			return
		}
		execute(t, db, "ALTER TABLE product DISABLE TRIGGER USER", "DELETE FROM product WHERE entity_id % 4 = 1 AND entity_id > 1000", "ALTER TABLE product ENABLE TRIGGER USER")
		if err := db.RebuildListing(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkDeepPages(t, db, random)
		// Two transactions may change one block at the same time, and the rows of both are merged later.
		tx, err := db.records.Writer.BeginTx(t.Context(), nil)
		if err == nil {
			// A temporary table of the same name is not taken for the counts.
			_, err = tx.ExecContext(t.Context(), "CREATE TEMPORARY TABLE product_count (LIKE product_count) ON COMMIT DROP; DELETE FROM product WHERE entity_id BETWEEN 2000 AND 2100")
		}
		if err != nil {
			t.Fatal(err)
		}
		execute(t, db, "DELETE FROM product WHERE entity_id BETWEEN 2101 AND 2200")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		checkDeepPages(t, db, random)
		execute(t, db, "BEGIN ISOLATION LEVEL REPEATABLE READ; DELETE FROM product WHERE entity_id BETWEEN 2301 AND 2400; COMMIT")
		checkDeepPages(t, db, random)
		execute(t, db, "DELETE FROM product WHERE entity_id > 100")
		rows, err := engine.SelectColumn[int](t.Context(), db.records.ReadStatements.Query, "SELECT COUNT(*) FROM product_count WHERE store_id = -1")
		if err != nil || len(rows) != 1 || rows[0] > 1 {
			t.Errorf("%v rows count the products of one block, %v", rows, err)
		}
	})
}

// TestCountsCallNobodyElse checks that the triggers, which have the rights of their owner, call no function and no operator of
// somebody who may create some in their schema, and that nobody else may create triggers with them.
func TestCountsCallNobodyElse(t *testing.T) {
	t.Parallel()
	db := OpenWith(t, Options{DSN: NewDemo(t, sqltest.Servers()[0])}) // PostgreSQL, which alone counts
	for _, arguments := range []string{
		"array_agg(BIGINT) RETURNS BIGINT[]", "pg_advisory_xact_lock(INTEGER) RETURNS VOID", "hashtext(VARCHAR) RETURNS INTEGER", "current_setting(VARCHAR) RETURNS TEXT",
		"unnest(BIGINT[]) RETURNS BIGINT", "differs(NUMERIC, INTEGER) RETURNS BOOLEAN", "add_product_counts(INTEGER[], BIGINT[], INTEGER[]) RETURNS VOID",
	} {
		execute(t, db, "CREATE FUNCTION public."+arguments+" LANGUAGE plpgsql AS 'BEGIN RAISE ''a foreign function is called''; END'")
	}
	execute(t, db, "CREATE OPERATOR public.<> (LEFTARG = NUMERIC, RIGHTARG = INTEGER, PROCEDURE = public.differs)")
	addMany(t, db, 10)
	execute(t, db, "DELETE FROM product_listing WHERE product_id = 1003", "UPDATE product SET entity_id = 101003 WHERE entity_id = 1003",
		"UPDATE product_listing SET store_id = 1 WHERE store_id = 2 AND product_id = 1000", "DELETE FROM product WHERE entity_id = 1006")
	if err := db.RebuildListing(t.Context()); err != nil {
		t.Fatal(err)
	}
	public, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(db.records.Readers.QueryContext),
		"SELECT proname FROM pg_proc WHERE prosecdef AND prorettype = CAST('trigger' AS REGTYPE) AND has_function_privilege('public', oid, 'EXECUTE')")
	if err != nil || len(public) > 0 {
		t.Errorf("everyone may create triggers with %v; %v", public, err)
	}
}

// checkDeepPages checks the lists of all products and of three store views.
func checkDeepPages(t *testing.T, db *DB, random *rand.Rand) {
	t.Helper()
	checkPages(t, db, random, adapter.ListParams{})
	for view := range int64(3) {
		checkPages(t, db, random, adapter.ListParams{StoreID: 1 + view, Filters: []adapter.Filter{{Name: adapter.Listed}}})
	}
}

// checkPages compares random pages of a list, and its length, with the ids that it has.
func checkPages(t *testing.T, db *DB, random *rand.Rand, p adapter.ListParams) {
	t.Helper()
	text := "SELECT entity_id FROM product ORDER BY entity_id"
	if len(p.Filters) > 0 {
		text = fmt.Sprintf("SELECT product_id FROM product_listing WHERE store_id = %d ORDER BY product_id", p.StoreID)
	}
	ids, err := engine.SelectColumn[int64](t.Context(), db.records.ReadStatements.Query, text)
	if err != nil {
		t.Fatal(err)
	}
	store := storeOf(t, db, adapter.Products)
	p.Count = true
	if total := adaptertest.MustList(t, store, p).Total; total != int64(len(ids)) {
		t.Errorf("store view %d has %d products, want %d", p.StoreID, total, len(ids))
	}
	p.Count, p.Only, p.Query.Limit = false, []string{"sku"}, 2
	for range 20 {
		p.Query.After, p.Query.Offset = nil, random.Int64N(int64(len(ids))+100)
		first := p.Query.Offset
		if random.IntN(2) == 0 {
			place := random.IntN(len(ids))
			p.Query.After = &adapter.Cursor{Key: adapter.Key(ids[place])}
			first += int64(place) + 1
		}
		var want []int64
		if first < int64(len(ids)) {
			want = ids[first:min(first+2, int64(len(ids)))]
		}
		var got []int64
		for _, r := range adaptertest.MustList(t, store, p).Records {
			got = append(got, int64(r.Key()))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("store view %d, %d after %v: %v, want %v", p.StoreID, p.Query.Offset, p.Query.After, got, want)
		}
	}
}

// addMany adds products with the ids 1000, 1003 and so on, which store view 2 lists.
func addMany(t *testing.T, db *DB, products int) {
	t.Helper()
	numbers := fmt.Sprintf("WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d) ", products-1)
	insert := "INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at, nulls) "
	rows := "SELECT 1000 + 3 * n, 4, 'simple', 'many', '2020-01-01 00:00:00', '2020-01-01 00:00:00', '' FROM numbers"
	switch db.records.Engine.System {
	case "sqlite":
		execute(t, db, numbers+insert+rows)
	case "postgresql":
		execute(t, db, insert+numbers+rows)
	default: // MariaDB ends a recursion after 1,000 rows by default
		execute(t, db, fmt.Sprintf("SET STATEMENT max_recursive_iterations = %d FOR ", products)+insert+numbers+rows)
	}
	execute(t, db, "INSERT INTO product_listing (store_id, product_id) SELECT 2, entity_id FROM product WHERE entity_id >= 1000")
}
