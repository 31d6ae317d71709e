package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestPlans checks SQLite's plans for the most frequent statements: each table is
// searched by an index or scanned in the order of the result, and sorting is expected
// explicitly.
func TestPlans(t *testing.T) {
	var watched sqltest.Statements
	e := sqltest.Engines()[0]
	db := OpenWith(t, Options{DSN: NewDemo(t, e), Wrap: watched.Wrap})
	is := func(attribute string, op adapter.Op, operands ...string) adapter.Query {
		return adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}}, Limit: 10}
	}
	listed, inStock := []adapter.Filter{{Name: adapter.Listed}}, []adapter.Filter{{Name: adapter.InStock, Value: 1}}
	by := func(attribute string, desc bool, after *adapter.Cursor) adapter.Query {
		return adapter.Query{OrderBy: attribute, Desc: desc, After: after, Limit: 10}
	}
	prices := []string{"group_price", "tier_price", "image_file", "stock_is_in_stock"}
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		params   adapter.ListParams
		// walked names the tables that may be scanned, in the order of an index or of
		// their key.
		walked []string
		sorted bool // whether all selected rows are sorted before the page is taken
	}{
		{"SKU", adapter.Products, adapter.ListParams{Query: is("sku", adapter.Eq, "kettle-steel")}, nil, false},
		{"SKU at a store view", adapter.Products, adapter.ListParams{Query: is("sku", adapter.Eq, "kettle-steel"), StoreID: 1, With: prices}, nil, false},
		{"SKU, listed", adapter.Products, adapter.ListParams{Query: is("sku", adapter.Eq, "kettle-steel"), StoreID: 1, WebsiteScope: true, Filters: listed}, nil, false},
		{"first page", adapter.Products, adapter.ListParams{Query: adapter.Query{Limit: 10}}, []string{"product"}, false},
		{"page behind a mark", adapter.Products, adapter.ListParams{Query: by("", false, &adapter.Cursor{Key: 5})}, nil, false},
		{"page by offset", adapter.Products, adapter.ListParams{Query: adapter.Query{Offset: 4, Limit: 3}}, []string{"product"}, false},
		{"first page, listed", adapter.Products, adapter.ListParams{Query: adapter.Query{Limit: 10}, StoreID: 1, WebsiteScope: true, Filters: listed, With: prices}, []string{"product_listing"}, false},
		{"page behind a mark, listed", adapter.Products, adapter.ListParams{Query: by("", false, &adapter.Cursor{Key: 5}), StoreID: 1, WebsiteScope: true, Filters: listed}, []string{"product_listing"}, false},
		{"page by offset, listed", adapter.Products, adapter.ListParams{Query: adapter.Query{Offset: 4, Limit: 3}, StoreID: 1, WebsiteScope: true, Filters: listed}, []string{"product_listing"}, false},
		{"count, listed", adapter.Products, adapter.ListParams{StoreID: 1, WebsiteScope: true, Filters: listed, Count: true}, nil, false},
		{"first page, in stock", adapter.Products, adapter.ListParams{Query: adapter.Query{Limit: 10}, StoreID: 1, WebsiteScope: true, Filters: inStock, With: prices}, []string{"product_listing"}, false},
		{"page by offset, in stock", adapter.Products, adapter.ListParams{Query: adapter.Query{Offset: 4, Limit: 3}, StoreID: 1, WebsiteScope: true, Filters: inStock}, []string{"product_listing"}, false},
		{"count, in stock", adapter.Products, adapter.ListParams{StoreID: 1, WebsiteScope: true, Filters: inStock, Count: true}, nil, false},
		{"by name, in stock", adapter.Products, adapter.ListParams{Query: by("name", false, nil), StoreID: 1, WebsiteScope: true, Filters: inStock}, []string{"product"}, false},
		{"first page, in stock where stock is not managed", adapter.Products, adapter.ListParams{Query: adapter.Query{Limit: 10}, StoreID: 1, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.InStock}}}, []string{"product_listing"}, false},
		{"by name, listed", adapter.Products, adapter.ListParams{Query: by("name", false, nil), StoreID: 1, WebsiteScope: true, Filters: listed}, []string{"product"}, false},
		{"by name behind a mark, listed", adapter.Products, adapter.ListParams{Query: by("name", false, &adapter.Cursor{Value: adapter.TextValue("L"), Key: 5}), StoreID: 1, WebsiteScope: true, Filters: listed}, nil, false},
		{"category", adapter.Products, adapter.ListParams{Query: adapter.Query{Limit: 10}, StoreID: 1, WebsiteScope: true, Filters: append(listed, adapter.Filter{Name: adapter.InCategory, Value: 3})}, nil, true},
		{"stock items of products", adapter.StockItems, adapter.ListParams{Query: is("product_id", adapter.In, "1", "2", "3")}, nil, true},
		{"stock items", adapter.StockItems, adapter.ListParams{Query: adapter.Query{Limit: 10}}, []string{"stock_item"}, false},
		{"customer by e-mail", adapter.Customers, adapter.ListParams{Query: is("email", adapter.Eq, "ada@example.com")}, nil, false},
		{"addresses of a customer", adapter.CustomerAddresses, adapter.ListParams{OwnerID: 1}, nil, false},
		{"orders of a customer", adapter.Orders, adapter.ListParams{OwnerID: 1, Query: adapter.Query{Limit: 10}}, nil, false},
		{"items of orders", adapter.OrderItems, adapter.ListParams{Query: is("order_id", adapter.In, "1", "2")}, nil, true},
		{"websites of a product", adapter.ProductWebsites, adapter.ListParams{Query: is("product_id", adapter.Eq, "1")}, nil, true},
		{"categories of a product", adapter.ProductCategories, adapter.ListParams{Query: is("product_id", adapter.Eq, "1")}, nil, true},
		{"images of a product", adapter.ProductImages, adapter.ListParams{StoreID: 1, Query: is("product_id", adapter.Eq, "1")}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			watched.Take()
			result, err := storeOf(t, db, c.resource).List(t.Context(), &c.params)
			if err != nil || result.Partial {
				t.Fatalf("%+v, %v", result, err)
			}
			executed, _ := watched.Take()
			if len(executed) == 0 {
				t.Fatal("no statement")
			}
			for i, statement := range executed {
				for _, step := range plan(t, db, statement) {
					table, scanned := strings.CutPrefix(step, "SCAN ")
					table, _, _ = strings.Cut(table, " ")
					if scanned && !slices.Contains(c.walked, table) {
						t.Errorf("%s\n%s", step, statement)
					}
					// Later statements concern only the rows of the page.
					if i == 0 && !c.sorted && strings.Contains(step, "TEMP B-TREE") {
						t.Errorf("%s\n%s", step, statement)
					}
				}
			}
		})
	}
}

// TestPlansOfCalls is TestPlans for the statements of the ID map, and for the frequent queries
// of the outbox. TestLargeOutbox measures these on all engines.
func TestPlansOfCalls(t *testing.T) {
	var watched sqltest.Statements
	db := OpenWith(t, Options{DSN: sqltest.Engines()[0].NewDSN(t), Wrap: watched.Wrap})
	local, box, ctx := db.Replica(), db.Outbox(), t.Context()
	mapping := idmap.Mapping{Resource: adapter.Products, Key: 1, BackendID: "a"}
	for name, call := range map[string]func() error{
		"MappingsByKey":            func() error { _, err := local.MappingsByKey(ctx, adapter.Products, []adapter.Key{1, 2}); return err },
		"VersionsByKey":            func() error { _, err := local.VersionsByKey(ctx, adapter.Products, []adapter.Key{1, 2}); return err },
		"VersionsByKey, far apart": func() error { _, err := local.VersionsByKey(ctx, adapter.Products, []adapter.Key{1, 200}); return err },
		"MappingsByBackendID": func() error {
			_, err := local.MappingsByBackendID(ctx, adapter.Products, []string{"a", "b"})
			return err
		},
		"MappingsOfParts":    func() error { _, err := local.MappingsOfParts(ctx, adapter.Products, 1); return err },
		"ListMappings":       func() error { _, err := local.ListMappings(ctx, adapter.Products, 0, 10); return err },
		"MappingsWithIntent": func() error { _, err := local.MappingsWithIntent(ctx, 10); return err },
		"PutMappings":        func() error { return local.PutMappings(ctx, mapping) },
		"CompleteIntent":     func() error { _, err := local.CompleteIntent(ctx, nil, mapping); return err },
		"DeleteMapping":      func() error { return local.DeleteMapping(ctx, adapter.Products, 1) },
		"Due":                func() error { _, err := box.Due(ctx, 8); return err },
		"ByID":               func() error { _, err := box.ByID(ctx, 1, 2); return err },
		"Entries": func() error {
			_, err := box.Entries(ctx, coordination.EntryFilter{Parked: true, After: 7, Limit: 10})
			return err
		},
		"Waiting": func() error { _, err := box.Waiting(ctx, outbox.Root{Resource: adapter.Products, Key: 1}); return err },
	} {
		watched.Take()
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		executed, _ := watched.Take()
		if len(executed) == 0 {
			t.Errorf("%s: no statement", name)
		}
		for _, statement := range executed {
			for _, step := range plan(t, db, statement) {
				// The index of notes holds nothing else, in the right order.
				walksNotes := strings.Contains(step, "backend_record_note")
				sortsParts := name == "MappingsOfParts" && strings.Contains(step, "TEMP B-TREE")
				if strings.HasPrefix(step, "SCAN ") && !walksNotes || strings.Contains(step, "TEMP B-TREE") && !sortsParts {
					t.Errorf("%s: %s\n%s", name, step, statement)
				}
			}
		}
	}
}

// TestStatementsPerRead counts the statements of each read.
func TestStatementsPerRead(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		var watched sqltest.Statements
		schemas, dsn := addedSchemas(t), e.NewDSN(t)
		extended, standard := OpenWith(t, Options{DSN: dsn, Schemas: schemas, Wrap: watched.Wrap}), OpenWith(t, Options{DSN: dsn, Wrap: watched.Wrap})
		if err := extended.Load(t.Context(), addedData(t, schemas), nil); err != nil {
			t.Fatal(err)
		}
		prices, sold := []string{"group_price", "tier_price", "image_file"}, []adapter.Filter{{Name: adapter.InWebsite, Value: 1}}
		single := 2
		if standard.records.Engine.Inlines {
			single = 1
		}
		for _, c := range []struct {
			name     string
			db       *DB
			resource adapter.Resource
			key      adapter.Key // 0 for a list
			params   adapter.ListParams
			want     int
		}{
			{"product", standard, adapter.Products, 2, adapter.ListParams{}, 1},
			{"product at a store view, with all on-demand attributes", standard, adapter.Products, 2, adapter.ListParams{With: prices, StoreID: 2, Filters: sold}, single},
			{"products", standard, adapter.Products, 0, adapter.ListParams{Query: adapter.Query{Limit: 10}}, 1},
			{"products at a store view, with all on-demand attributes", standard, adapter.Products, 0,
				adapter.ListParams{Query: adapter.Query{Limit: 10, OrderBy: "name"}, With: prices, StoreID: 2, Filters: sold}, 2},
			{"count", standard, adapter.Products, 0, adapter.ListParams{Count: true, StoreID: 2, Filters: sold}, 1},
			{"customers", standard, adapter.Customers, 0, adapter.ListParams{}, 1},
			{"customers with added attributes", extended, adapter.Customers, 0, adapter.ListParams{}, 2},
			{"products with added attributes", extended, adapter.Products, 0, adapter.ListParams{}, 2},
			{"product with added attributes and prices", extended, adapter.Products, 2, adapter.ListParams{StoreID: 2, With: prices[:2]}, 2},
		} {
			watched.Take()
			var err error
			if store := storeOf(t, c.db, c.resource); c.key == 0 {
				_, err = store.List(t.Context(), &c.params)
			} else {
				_, err = store.Get(t.Context(), &adapter.GetParams{Key: c.key, With: c.params.With, StoreID: c.params.StoreID, Filters: c.params.Filters})
			}
			if executed, _ := watched.Take(); len(executed) != c.want || err != nil {
				t.Errorf("%s: %d statements, %v, want %d", c.name, len(executed), err, c.want)
			}
		}
	})
}

// plan returns the steps of SQLite's plan for a statement.
func plan(t *testing.T, db *DB, statement string) []string {
	t.Helper()
	arguments := make([]any, strings.Count(statement, "?"))
	for i := range arguments {
		arguments[i] = 1
	}
	rows, err := db.records.Readers.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, arguments...)
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	defer func() { _ = rows.Close() }()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}
