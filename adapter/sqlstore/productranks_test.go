package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// rankedProducts is the number of products that addRanked adds.
const rankedProducts = 120

// addRanked adds products, and gives most products random values of two attributes in the default scope,
// and some at store view 2. Many values begin with the id of an option, others look like it.
func addRanked(t *testing.T, db *DB, random *rand.Rand) {
	t.Helper()
	var products, inDefault, atView, listed []string
	for id := 1; id <= 200+rankedProducts; id++ {
		if id <= 200 && id > 12 {
			continue // the ids of the products of the demo store end at 12
		}
		if id > 200 {
			products = append(products, fmt.Sprintf("(%d, 4, 'simple', 'ranked-%[1]d', '2012-01-01 00:00:00', '2012-01-01 00:00:00', '')", id))
			if id%3 > 0 {
				listed = append(listed, fmt.Sprintf("(2, %d)", id))
			}
		}
		for attribute, values := range map[string][]string{
			"store_integer": {"'1'", "'2'", "'3'", "'12'", "'40'", "NULL", "'-1'"},
			"global_text":   {"'1'", "'2,1'", "'3,'", "'12,2'", "'40'", "NULL", "''", "' 1'", "'+2'", "'x3'", "'03'", "'-1'", "'2x'"},
		} {
			pick := func() string { return values[random.IntN(len(values))] }
			if random.IntN(4) > 0 {
				inDefault = append(inDefault, fmt.Sprintf("(%d, '%s', %s)", id, attribute, pick()))
			}
			if random.IntN(4) == 0 {
				atView = append(atView, fmt.Sprintf("(%d, 2, '%s', %s)", id, attribute, pick()))
			}
		}
	}
	execute(t, db,
		"DELETE FROM product_default_value", "DELETE FROM product_value WHERE attribute IN ('store_integer', 'global_text')",
		"INSERT INTO product (entity_id, attribute_set_id, type_id, sku, created_at, updated_at, nulls) VALUES "+strings.Join(products, ","),
		"INSERT INTO product_default_value (product_id, attribute, value) VALUES "+strings.Join(inDefault, ","),
		"INSERT INTO product_value (product_id, store_id, attribute, value) VALUES "+strings.Join(atView, ","),
		"INSERT INTO product_listing (store_id, product_id) VALUES "+strings.Join(listed, ","))
}

// TestRanks compares random lists in the order of the places of options with adapter.Apply.
func TestRanks(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		schemas := addedSchemas(t)
		schema, seed := schemas.Of(adapter.Products), rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		db := openAdded(t, e, schemas)
		addRanked(t, db, random)
		store := storeOf(t, db, adapter.Products)
		for range 50 {
			p := adapter.ListParams{StoreID: 2 * int64(random.IntN(2)), WebsiteScope: random.IntN(3) == 0}
			switch random.IntN(6) {
			case 0, 1:
				p.Filters, p.StoreID = []adapter.Filter{{Name: adapter.Listed}}, 2
			case 2:
				p.Filters = []adapter.Filter{{Name: adapter.InCategory, Value: 3}}
			}
			q := &p.Query
			q.OrderBy, q.Desc = []string{"store_integer", "global_text"}[random.IntN(2)], random.IntN(2) == 0
			if random.IntN(3) == 0 {
				q.Where = Where("entity_id", adapter.Gt, fmt.Sprint(random.IntN(320)))
			}
			q.Ranks = map[int64]int{}
			for _, id := range []int64{1, 2, 3, 12, 40, 77, 78, 79} {
				if random.IntN(8) > 0 {
					q.Ranks[id] = random.IntN(9)
				}
			}
			all := rankedReference(t, store, schema, p)
			if random.IntN(2) == 0 {
				q.Limit = 1 + random.Int64N(60)
			}
			if random.IntN(3) == 0 {
				q.Offset = random.Int64N(140)
			}
			if random.IntN(3) == 0 && len(all) > 0 {
				one := all[random.IntN(len(all))]
				q.After = &adapter.Cursor{Key: one.Key() - adapter.Key(random.IntN(2)), Value: one.Get(q.OrderBy)}
			}
			want, _, err := adapter.Apply(t.Context(), schema, all, q)
			if err != nil {
				t.Fatal(err)
			}
			result := adaptertest.MustList(t, store, p)
			if result.Partial {
				t.Fatalf("%+v: not answered by SQL", p)
			}
			if got, wanted := valuesInOrder(result.Records, q.OrderBy), valuesInOrder(want, q.OrderBy); got != wanted {
				t.Fatalf("%+v:\n\t%s\nwant\t%s", p, got, wanted)
			}
		}
	})
}

// rankedReference returns the products that p selects before it orders and pages them, as it shows them.
func rankedReference(t *testing.T, store adapter.Store, schema *adapter.Schema, p adapter.ListParams) []adapter.Record {
	t.Helper()
	at, _ := schema.Index(p.Query.OrderBy)
	inDefault := adaptertest.MustList(t, store, adapter.ListParams{}).Records
	if p.Reads(&schema.Attributes[at]) == adapter.ReadsAny {
		inDefault = adaptertest.MustList(t, store, adapter.ListParams{StoreID: p.StoreID}).Records
	}
	selected := adaptertest.MustList(t, store, adapter.ListParams{StoreID: p.StoreID, Filters: p.Filters}).Records
	return slices.DeleteFunc(inDefault, func(r adapter.Record) bool {
		return !slices.ContainsFunc(selected, func(one adapter.Record) bool { return one.Key() == r.Key() })
	})
}

// valuesInOrder returns the keys of records, each with its value of an attribute.
func valuesInOrder(records []adapter.Record, attribute string) string {
	var all strings.Builder
	for _, r := range records {
		fmt.Fprintf(&all, " %d:%s", r.Key(), adaptertest.FormatValue(r.Get(attribute)))
	}
	return all.String()
}

// TestPlansOfRanks checks SQLite's plans of a list in the order of places: it reads each place by the
// index of options, and sorts nothing.
func TestPlansOfRanks(t *testing.T) {
	var watched sqltest.Statements
	schemas := addedSchemas(t)
	db := OpenWith(t, Options{DSN: sqltest.Engines()[0].NewDSN(t), Migrate: true, Schemas: schemas, Wrap: watched.Wrap})
	if err := db.Load(t.Context(), addedData(t, schemas), nil); err != nil {
		t.Fatal(err)
	}
	addRanked(t, db, rand.New(rand.NewPCG(1, 1)))
	for _, p := range []adapter.ListParams{{}, {StoreID: 2}, {StoreID: 2, WebsiteScope: true, Filters: []adapter.Filter{{Name: adapter.Listed}}}} {
		p.Query = adapter.Query{OrderBy: "global_text", Desc: true, Ranks: map[int64]int{1: 0, 2: 1, 3: 2, 12: 3}, Limit: 30}
		watched.Take()
		if found := adaptertest.MustList(t, storeOf(t, db, adapter.Products), p).Records; len(found) != 30 {
			t.Fatalf("%d products", len(found))
		}
		executed, _ := watched.Take()
		places := 0
		for _, statement := range executed {
			steps := strings.Join(plan(t, db, statement), "\n")
			if strings.Contains(steps, "product_default_value_option") {
				places++
			}
			merged := p.StoreID != 0 && len(p.Filters) == 0 // the page of each of two tables is sorted
			if strings.Contains(steps, "TEMP B-TREE") && !merged || strings.Contains(steps, "SCAN product") {
				t.Errorf("store view %d: %s\n%s", p.StoreID, steps, statement)
			}
		}
		if places < 2 {
			t.Errorf("store view %d: %d places by the index, want 2 or more", p.StoreID, places)
		}
	}
}
