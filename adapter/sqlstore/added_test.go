package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// addedSchemas returns schemas with added attributes of every kind and scope. Two of
// their names are so long that engines would truncate them to the same alias if it had
// a prefix.
func addedSchemas(t *testing.T) *adapter.Schemas {
	t.Helper()
	long := strings.Repeat("x", 62)
	added := append(adaptertest.AddedAttributes(), adapter.AddedAttribute{Resource: adapter.Customers, Name: long + "1", Kind: adapter.KindText},
		adapter.AddedAttribute{Resource: adapter.Customers, Name: long + "2", Kind: adapter.KindInteger})
	schemas, err := adapter.NewSchemas().With(added...)
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// addedData returns the demo store with values of added attributes.
func addedData(t testing.TB, schemas *adapter.Schemas) *adapter.Dataset {
	t.Helper()
	data, err := dataset.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Products} {
		schema := schemas.Of(resource)
		records := slices.Clone(data.Records[resource])
		for i, r := range records {
			records[i] = adapter.NewRecord(schema)
			copy(records[i].Values, r.Values)
			for at := len(r.Values); at < len(schema.Attributes); at++ {
				records[i].Values[at] = adaptertest.AddedValue(schema.Attributes[at].Kind, i+at)
			}
		}
		data.Records[resource] = records
	}
	return data
}

// openAdded opens the demo store with values of added attributes, some of them at store
// views.
func openAdded(t testing.TB, e sqltest.Engine, schemas *adapter.Schemas) *DB {
	t.Helper()
	db := OpenWith(t, Options{DSN: e.NewDSN(t), Migrate: true, Schemas: schemas})
	if err := db.Load(t.Context(), addedData(t, schemas), nil); err != nil {
		t.Fatal(err)
	}
	addAdded(t, db, schemas)
	return db
}

// addAdded stores values of added attributes of products at a store view.
func addAdded(t testing.TB, db *DB, schemas *adapter.Schemas) {
	t.Helper()
	for at := range schemas.Of(adapter.Products).Attributes {
		a := &schemas.Of(adapter.Products).Attributes[at]
		for n := 0; a.Added && n < 6; n++ {
			v := adaptertest.AddedValue(a.Kind, n)
			if v.Kind() == adapter.Absent {
				continue
			}
			product := 2*n + 2
			if a.Scope == adapter.ScopeGlobal { // an import may store such values; the suite unsets global values of other attributes
				product = 12 - n
			}
			value, folded, err := db.records.Engine.ValueTexts(a, v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.records.WriteStatements.Exec(t.Context(), "INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES (?, ?, ?, ?, ?)",
				product, 2, a.Name, value, folded); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestConformanceOfAddedAttributes runs the conformance suite on the added attributes
// alone, so that every query on them is compared with adapter.Apply.
func TestConformanceOfAddedAttributes(t *testing.T) {
	sqltest.EachEngineFullSuite(t, testConformanceOfAddedAttributes)
}

func testConformanceOfAddedAttributes(t *testing.T, e sqltest.Engine) {
	schemas := addedSchemas(t)
	run := func(t *testing.T, wrap func(*RecordAdapter) adapter.Adapter, tested ...adapter.Resource) {
		unsupported := map[adapter.Resource]string{}
		for _, table := range engine.Layout(schemas) {
			if !slices.Contains(tested, table.Schema.Resource) {
				unsupported[table.Schema.Resource] = "not part of this test"
			}
		}
		open := StoreOpener(t, e, func(tb testing.TB) *DB { return openAdded(tb, e, schemas) }, func(tb testing.TB, db *DB) {
			if err := db.Reset(tb.Context(), addedData(tb, schemas)); err != nil {
				tb.Fatal(err)
			}
			addAdded(tb, db, schemas)
		})
		adaptertest.Run(t, adaptertest.Harness{
			Open:        func(t *testing.T) adapter.Adapter { return wrap(open(t).Adapter()) },
			Schemas:     schemas,
			Attributes:  func(a adapter.Attribute) bool { return a.Added },
			Unsupported: unsupported,
			Sampled:     sqltest.Sampled(t),
		})
	}
	chosen := oneVariant(t, "accounts", "default scope", "store view", "website values")
	if chosen("accounts") {
		t.Run("accounts", func(t *testing.T) {
			run(t, func(a *RecordAdapter) adapter.Adapter {
				return resourceSubset{a, []adapter.Resource{adapter.Customers, adapter.CustomerAddresses}}
			}, adapter.Customers, adapter.CustomerAddresses)
		})
	}
	for name, b := range map[string]adaptertest.Bounds{
		"default scope":  {},
		"store view":     {StoreID: 2},
		"website values": {StoreID: 2, WebsiteScope: true},
	} {
		if !chosen(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run(t, func(a *RecordAdapter) adapter.Adapter { return restricted{a, b} }, adapter.Products)
		})
	}
}

// resourceSubset is an adapter that offers only some resources.
type resourceSubset struct {
	*RecordAdapter
	resources []adapter.Resource
}

func (s resourceSubset) Store(r adapter.Resource) (adapter.Store, error) {
	if !slices.Contains(s.resources, r) {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return s.RecordAdapter.Store(r)
}

// TestAddedQueriesArePushedDown checks that the database filters and sorts by added
// attributes.
func TestAddedQueriesArePushedDown(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		schemas := addedSchemas(t)
		db := openAdded(t, e, schemas)
		for _, c := range []struct {
			resource adapter.Resource
			q        adapter.Query
			storeID  int64
		}{
			{adapter.Customers, adapter.Query{OrderBy: "my_text"}, 0},
			{adapter.Customers, adapter.Query{OrderBy: strings.Repeat("x", 62) + "1", Where: Where(strings.Repeat("x", 62)+"2", adapter.Gt, "1")}, 0},
			{adapter.CustomerAddresses, adapter.Query{Where: Where("my_text", adapter.Like, "gr%")}, 0},
			{adapter.Products, adapter.Query{OrderBy: "global_decimal", Desc: true}, 0},
			{adapter.Products, adapter.Query{OrderBy: "store_time", Where: Where("website_integer", adapter.IsNull)}, 2},
		} {
			result, err := storeOf(t, db, c.resource).List(t.Context(), &adapter.ListParams{Query: c.q, StoreID: c.storeID})
			if err != nil || result.Partial || len(result.Records) == 0 {
				t.Errorf("%s %+v: %+v, %v", c.resource, c.q, result, err)
			}
		}
	})
}

// TestLevelReadings checks lists at a store view, whose values may be of the default scope alone, of
// the store view alone, or of both.
func TestLevelReadings(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		schemas := addedSchemas(t)
		adaptertest.TestLevelReadings(t, storeOf(t, openAdded(t, e, schemas), adapter.Products), schemas.Of(adapter.Products), 2)
	})
}

func Where(attribute string, op adapter.Op, operands ...string) []adapter.Condition {
	return []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}}
}

// TestManyAddedAttributes queries more added attributes than one statement can join.
func TestManyAddedAttributes(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		var added []adapter.AddedAttribute
		var conditions []adapter.Condition
		for i := range 70 {
			name := fmt.Sprintf("a%d", i)
			added = append(added, adapter.AddedAttribute{Resource: adapter.Products, Name: name, Scope: adapter.ScopeStore})
			conditions = append(conditions, Where(name, adapter.Like, "%")...)
		}
		schemas, err := adapter.NewSchemas().With(added...)
		if err != nil {
			t.Fatal(err)
		}
		db := openAdded(t, e, schemas)
		const addedJoins = 12 // the most attributes that one statement joins
		for _, named := range []int{addedJoins, addedJoins + 1, 70} {
			q := adapter.Query{Where: slices.Clone(conditions[:named])}
			for _, a := range schemas.Of(adapter.Products).Attributes {
				if !a.Static && !a.OnDemand && !a.Added {
					q.Where = append(q.Where, adapter.Condition{Any: []adapter.Test{
						{Attribute: a.Name, Op: adapter.IsNull}, {Attribute: "entity_id", Op: adapter.IsNotNull},
					}})
				}
			}
			result, err := storeOf(t, db, adapter.Products).List(t.Context(), &adapter.ListParams{Query: q, StoreID: 2})
			if err != nil || result.Partial != (named > addedJoins) {
				t.Errorf("%d attributes: %v", named, err)
			}
		}
	})
}

// TestAddedValuesOfManyRecords lists more records than one statement reads values for.
func TestAddedValuesOfManyRecords(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := openAdded(t, e, addedSchemas(t))
		const many = 2*128 + 3 // a batch is 128
		var addresses, values []string
		for i := range many {
			addresses = append(addresses, fmt.Sprintf("(%d, 1, '2012-01-01 00:00:00', '2012-01-01 00:00:00', 0, 0)", 100+i))
			values = append(values, fmt.Sprintf("(%d, 'my_integer', '%d'), (%[1]d, 'gone', 'x')", 100+i, i))
		}
		execute(t, db,
			"INSERT INTO customer_address (entity_id, customer_id, created_at, updated_at, is_default_billing, is_default_shipping) VALUES "+strings.Join(addresses, ","),
			"INSERT INTO customer_address_value (address_id, attribute, value) VALUES "+strings.Join(values, ","))
		result, err := storeOf(t, db, adapter.CustomerAddresses).List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: Where("entity_id", adapter.GtEq, "100")}})
		if err != nil || len(result.Records) != many {
			t.Fatalf("%d addresses, %v", len(result.Records), err)
		}
		for i, r := range result.Records {
			if r.Get("my_integer").Int() != int64(i) || r.Get("my_text").Kind() != adapter.Absent {
				t.Fatalf("address %d: %v", 100+i, r.Values)
			}
		}
	})
}

// TestDeleteRemovesAddedValues resets the store, deletes records, and checks that their
// values are gone.
func TestDeleteRemovesAddedValues(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		schemas := addedSchemas(t)
		db := openAdded(t, e, schemas)
		if err := db.Reset(t.Context(), addedData(t, schemas)); err != nil {
			t.Fatal(err)
		}
		execute(t, db, "DELETE FROM product WHERE entity_id = 1", "DELETE FROM customer WHERE entity_id = 1")
		for _, query := range []string{
			"SELECT COUNT(*) FROM product_default_value WHERE product_id = 1",
			"SELECT COUNT(*) FROM customer_value WHERE customer_id = 1",
			"SELECT COUNT(*) FROM customer_address_value WHERE address_id NOT IN (SELECT entity_id FROM customer_address)",
		} {
			var n int
			if err := db.records.Readers.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d, %v", query, n, err)
			}
		}
	})
}

// TestLoadRefusesAddedValues loads values that do not fit their attributes.
func TestLoadRefusesAddedValues(t *testing.T) {
	schemas := addedSchemas(t)
	db := OpenWith(t, Options{DSN: sqltest.Engines()[0].NewDSN(t), Migrate: true, Schemas: schemas})
	for name, v := range map[string]adapter.Value{
		"my_text": adapter.IntegerValue(1), "my_integer": adapter.TextValue("1"), "my_decimal": adapter.TextValue("1.00001"),
		"my_time": adapter.TextValue("2012-02-30 00:00:00"),
	} {
		data := addedData(t, schemas)
		data.Records[adapter.Customers][0].Set(name, v)
		if err := db.Load(t.Context(), data, nil); adapter.KindOf(err) != adapter.Invalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}

// TestWriteAddedValues creates and updates products with added attributes in every
// scope.
func TestWriteAddedValues(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		schemas := addedSchemas(t)
		products := openAdded(t, e, schemas).adapter.Stores[adapter.Products]
		product := attrs{"attribute_set_id": 4, "type_id": "simple", "sku": "own", "global_text": "Été", "website_decimal": "1.5000", "store_integer": 7, "store_time": nil}.Record(schemas.Of(adapter.Products))
		key, err := products.Create(t.Context(), &adapter.CreateParams{Record: product})
		if err != nil {
			t.Fatal(err)
		}
		read := func(storeID int64) string {
			t.Helper()
			r := adaptertest.MustGet(t, products, adapter.GetParams{Key: key, StoreID: storeID})
			return fmt.Sprintf("%s %s %s %d", r.Get("global_text").Text(), r.Get("website_decimal").Text(), r.Get("store_integer").Text(), r.Get("store_time").Kind())
		}
		change := func(storeID int64, values attrs) {
			t.Helper()
			if err := adaptertest.Update(t, products, key, storeID, values); err != nil {
				t.Fatal(err)
			}
		}
		check := func(step, inDefault, in1, in2 string) {
			t.Helper()
			for storeID, want := range []string{inDefault, in1, in2} {
				if got := read(int64(storeID)); got != want {
					t.Errorf("%s: store %d has %s, want %s", step, storeID, got, want)
				}
			}
		}
		const as = "Été 1.5000 7 1"
		check("created", as, as, as)
		change(2, attrs{"global_text": "x", "website_decimal": "2.0000", "store_integer": 8})
		check("at a store view", "x 1.5000 7 1", "x 2.0000 7 1", "x 2.0000 8 1")
		change(2, attrs{"website_decimal": adapter.UnsetValue(), "store_integer": nil})
		check("deleted at the store view", "x 1.5000 7 1", "x 1.5000 7 1", "x 1.5000  1")
		change(0, attrs{"global_text": nil, "store_integer": adapter.UnsetValue(), "store_time": "2012-03-01 10:00:00"})
		check("in the default scope", " 1.5000  3", " 1.5000  3", " 1.5000  3")
		adaptertest.MustDelete(t, products, adapter.DeleteParams{Key: key})
	})
}

// TestPricesByWebsite runs the tests of prices that differ between websites.
func TestPricesByWebsite(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		schemas := adapter.NewSchemas().WithPricesByWebsite()
		adaptertest.RunPricesByWebsite(t, adaptertest.Harness{
			Open:    func(t *testing.T) adapter.Adapter { return openAdded(t, e, schemas).Adapter() },
			Schemas: schemas,
		})
	})
}
