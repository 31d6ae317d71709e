package sqlstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"

	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/pressly/goose/v3"
)

// TestRebuildListing changes the tables that the product listing is derived from and
// rebuilds it.
func TestRebuildListing(t *testing.T) {
	sqltest.EachEngine(t, testRebuildListing)
}

func testRebuildListing(t *testing.T, e sqltest.Engine) {
	db := openTest(t, e)
	for _, c := range []struct {
		name    string
		change  string
		changed adapter.Key       // 0 rebuilds the whole listing
		want    map[int64][]int64 // products by store view
	}{
		{"nothing", "", 1, map[int64][]int64{1: {1, 2}, 2: {1, 2}, 3: {2}}},
		{"disabled", "UPDATE product SET status = 2 WHERE entity_id = 1", 1, map[int64][]int64{1: {2}, 2: {2}, 3: {2}}},
		{"enabled", "UPDATE product SET status = 1 WHERE entity_id = 3", 3, map[int64][]int64{1: {1, 2, 3}, 2: {1, 2, 3}, 3: {2}}},
		{"no status", "UPDATE product SET status = NULL WHERE entity_id = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"hidden", "UPDATE product SET visibility = 1 WHERE entity_id = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"no visibility", "UPDATE product SET visibility = NULL WHERE entity_id = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"visibility 0", "UPDATE product SET visibility = 0 WHERE entity_id = 2", 2, map[int64][]int64{1: {1, 2}, 2: {1, 2}, 3: {2}}},
		{"disabled in a website", "INSERT INTO product_value VALUES (2, 3, 'status', '2', '2')", 2, map[int64][]int64{1: {1, 2}, 2: {1, 2}}},
		{"no status in a website", "INSERT INTO product_value VALUES (2, 3, 'status', NULL, NULL)", 2, map[int64][]int64{1: {1, 2}, 2: {1, 2}}},
		{"enabled in a website alone", "INSERT INTO product_value VALUES (3, 1, 'status', '1', '1')", 3, map[int64][]int64{1: {1, 2}, 2: {1, 2}, 3: {2}}},
		{"hidden at a store view alone", "INSERT INTO product_value VALUES (2, 3, 'visibility', '1', '1')", 2, map[int64][]int64{1: {1, 2}, 2: {1, 2}, 3: {2}}},
		{"sold in another website", "INSERT INTO product_website (product_id, website_id) VALUES (1, 2)", 1, map[int64][]int64{1: {1, 2}, 2: {1, 2}, 3: {1, 2}}},
		{"sold nowhere", "DELETE FROM product_website WHERE product_id = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"other products than the rebuilt one changed", "UPDATE product SET status = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"store view moved", "UPDATE store SET website_id = 2 WHERE store_id = 2", 0, map[int64][]int64{1: {1, 2}, 2: {2}, 3: {2}}},
		{"deleted", "DELETE FROM product WHERE entity_id = 2", 2, map[int64][]int64{1: {1}, 2: {1}}},
		{"store view deleted", "DELETE FROM store WHERE store_id = 2", 2, map[int64][]int64{1: {1, 2}, 3: {2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := db.Reset(t.Context(), &adapter.Dataset{}); err != nil {
				t.Fatal(err)
			}
			execute(t, db,
				"INSERT INTO website (website_id, code, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two')",
				"INSERT INTO store (store_id, website_id, code, name) VALUES (1, 1, 'a', 'A'), (2, 1, 'b', 'B'), (3, 2, 'c', 'C')",
				`INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at, status, visibility) VALUES
					(1, 4, 'simple', 'p', '2012-01-01', '2012-01-01', 1, 4), (2, 4, 'simple', 'q', '2012-01-01', '2012-01-01', 1, 2),
					(3, 4, 'simple', 'r', '2012-01-01', '2012-01-01', 2, 4)`,
				"INSERT INTO product_website (product_id, website_id) VALUES (1, 1), (2, 1), (2, 2), (3, 1)")
			if err := db.RebuildListing(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.change != "" {
				execute(t, db, c.change)
			}
			relist := db.RebuildListing
			if c.changed != 0 {
				relist = func(ctx context.Context) error {
					return ruled{DB: db.records}.Write(ctx, "relist", func(tx rules.Tx) error { return tx.Saved(ctx, c.changed) })
				}
			}
			if err := relist(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := storeOf(t, db, adapter.Products)
			for view := int64(1); view <= 3; view++ {
				p := adapter.ListParams{StoreID: view, Filters: []adapter.Filter{{Name: adapter.Listed}}}
				result := adaptertest.MustList(t, s, p)
				var got []int64
				for _, r := range result.Records {
					got = append(got, r.Get("entity_id").Int())
				}
				if !slices.Equal(got, c.want[view]) {
					t.Errorf("store view %d lists %v, want %v", view, got, c.want[view])
				}
			}
		})
	}
}

// TestStockState changes what decides whether a listed product is in stock. The rebuilt listing,
// the listing of one product that is saved or restocked, and that of a migration agree.
func TestStockState(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		dsn := NewDemo(t, e)
		db := OpenWith(t, Options{DSN: dsn, Migrate: true})
		dropIndex := "DROP INDEX product_listing_stock_state"
		if e.Name == "mariadb" {
			dropIndex += " ON product_listing"
		}
		const item = "UPDATE stock_item SET is_in_stock = %d, use_config_manage_stock = %d, manage_stock = %d WHERE product_id = 1"
		status := func(view int, value string) string {
			return fmt.Sprintf("INSERT INTO product_value (product_id, store_id, attribute, value) VALUES (1, %d, 'stock_status', %s)", view, value)
		}
		for _, c := range []struct {
			name    string
			change  string
			managed [2]bool // in stock at the store views 1 and 2 if stock is managed by default
			not     [2]bool // if it is not
		}{
			{"in stock", fmt.Sprintf(item, 1, 1, 0), [2]bool{true, true}, [2]bool{true, true}},
			{"sold out", fmt.Sprintf(item, 0, 1, 1), [2]bool{}, [2]bool{true, true}},
			{"sold out, managed itself", fmt.Sprintf(item, 0, 0, 1), [2]bool{}, [2]bool{}},
			{"sold out, not managed itself", fmt.Sprintf(item, 0, 0, 0), [2]bool{true, true}, [2]bool{true, true}},
			{"stored as sold out at a view", fmt.Sprintf(item, 1, 1, 0) + ";" + status(1, "'0'"), [2]bool{false, true}, [2]bool{false, true}},
			{"stored as in stock at a view", fmt.Sprintf(item, 0, 0, 1) + ";" + status(2, "'1'"), [2]bool{false, true}, [2]bool{false, true}},
			{"stored as in stock where stock is not managed", fmt.Sprintf(item, 0, 0, 1) + ";" + status(2, "'2'"), [2]bool{}, [2]bool{false, true}},
			{"stored as neither", fmt.Sprintf(item, 1, 1, 0) + ";" + status(1, "NULL"), [2]bool{true, true}, [2]bool{true, true}},
			{"no stock item", "DELETE FROM stock_item WHERE product_id = 1", [2]bool{}, [2]bool{}},
		} {
			t.Run(c.name, func(t *testing.T) {
				execute(t, db, "DELETE FROM product_value WHERE product_id = 1 AND attribute = 'stock_status'")
				execute(t, db, strings.Split(c.change, ";")...)
				for name, derive := range map[string]func() error{
					"rebuilt": func() error { return db.RebuildListing(t.Context()) },
					"saved": func() error {
						return ruled{DB: db.records}.Write(t.Context(), "relist", func(tx rules.Tx) error { return tx.Saved(t.Context(), 1) })
					},
					"restocked": func() error {
						return ruled{DB: db.records}.Write(t.Context(), "restock", func(tx rules.Tx) error { return tx.Restocked(t.Context(), 1, 2) })
					},
					"migrated": func() error {
						execute(t, db, dropIndex, "ALTER TABLE product_listing DROP COLUMN stock_state",
							"ALTER TABLE product DROP COLUMN components", "ALTER TABLE product DROP COLUMN component_of", "DELETE FROM goose_db_version WHERE version_id = 24")
						migrateAgain(t, db)
						return nil
					},
				} {
					execute(t, db, "UPDATE product_listing SET stock_state = 7")
					if err := derive(); err != nil {
						t.Fatal(err)
					}
					for _, managed := range []int64{1, 0} {
						want := c.managed
						if managed == 0 {
							want = c.not
						}
						for view := int64(1); view <= 2; view++ {
							p := adapter.GetParams{Key: 1, StoreID: view, Filters: []adapter.Filter{{Name: adapter.InStock, Value: managed}}}
							if _, err := storeOf(t, db, adapter.Products).Get(t.Context(), &p); (err == nil) != want[view-1] {
								t.Errorf("%s, store view %d, managed %d: %v, want in stock %t", name, view, managed, err, want[view-1])
							}
						}
					}
				}
			})
		}
	})
}

// TestMigrateListing removes product_listing from a database with products: a migration
// creates it again, or a view of that name replaces it.
func TestMigrateListing(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		dsn := NewDemo(t, e)
		reopen := func(migrate bool) *DB {
			t.Helper()
			return OpenWith(t, Options{DSN: dsn, Migrate: migrate})
		}
		db := reopen(true)
		listed := func(db *DB) (all [3][]string) {
			t.Helper()
			for i := range all {
				for _, r := range adaptertest.MustList(t, storeOf(t, db, adapter.Products), adapter.ListParams{StoreID: int64(i + 1), Filters: []adapter.Filter{{Name: adapter.Listed}}}).Records {
					all[i] = append(all[i], r.Get("sku").Text())
				}
			}
			return all
		}
		want := listed(db)
		execute(t, db, "DROP TABLE product_listing", "ALTER TABLE product DROP COLUMN components", "ALTER TABLE product DROP COLUMN component_of",
			"DELETE FROM goose_db_version WHERE version_id IN (3, 24)")
		migrateAgain(t, db)
		db = reopen(true)
		if got := listed(db); !reflect.DeepEqual(got, want) || len(want[0]) == 0 {
			t.Errorf("migrated: %v, want %v", got, want)
		}
		execute(t, db, "DROP TABLE product_listing", `CREATE VIEW product_listing (store_id, product_id) AS SELECT store.store_id, product.entity_id FROM product
			JOIN product_website ON product_website.product_id = product.entity_id
			JOIN store ON store.website_id = product_website.website_id
			LEFT JOIN product_value ON product_value.product_id = product.entity_id
				AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
			WHERE product.status = 1 AND product.visibility <> 1
				AND (product_value.product_id IS NULL OR product_value.value = '1')`)
		if got := listed(reopen(false)); !reflect.DeepEqual(got, want) {
			t.Errorf("by a view: %v, want %v", got, want)
		}
	})
}

// migrateAgain runs only migrations that a test has undone.
func migrateAgain(t *testing.T, db *DB) {
	t.Helper()
	if _, err := db.records.Engine.Migrate(t.Context(), db.records.Writer, db.records.Name, nil, goose.WithAllowOutofOrder(true)); err != nil {
		t.Fatal(err)
	}
}
