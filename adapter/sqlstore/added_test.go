package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/demo"
)

// addedSchemas returns schemas with added attributes of every kind and scope. Two of
// their names are so long that engines would truncate them to the same alias if it had
// a prefix.
func addedSchemas(t *testing.T) *adapter.Schemas {
	t.Helper()
	long := strings.Repeat("x", 62)
	added := []adapter.AddedAttribute{
		{Resource: adapter.Customers, Name: long + "1", Kind: adapter.KindText},
		{Resource: adapter.Customers, Name: long + "2", Kind: adapter.KindInteger},
	}
	for kind, name := range []string{adapter.KindText: "text", adapter.KindInteger: "integer", adapter.KindDecimal: "decimal", adapter.KindTime: "time"} {
		kind := adapter.Kind(kind)
		added = append(added,
			adapter.AddedAttribute{Resource: adapter.Customers, Name: "my_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.CustomerAddresses, Name: "my_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "global_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "website_" + name, Kind: kind, Scope: adapter.ScopeWebsite},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "store_" + name, Kind: kind, Scope: adapter.ScopeStore},
		)
	}
	schemas, err := adapter.NewSchemas().With(added...)
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// sample returns one of a few values of a kind, including null and absent.
func sample(kind adapter.Kind, n int) adapter.Value {
	texts := map[adapter.Kind][]string{
		adapter.KindText:    {"Grün, bláu ", "GRUN, BLAU", "", "7"},
		adapter.KindDecimal: {"0.1000", "-12.5000", "99999999.9999", "2.0000"},
		adapter.KindTime:    {"2012-03-01 10:00:00", "1970-01-01 00:00:00", "2038-12-31 23:59:59", "2012-03-01 09:59:59"},
	}
	numbers := []int64{10, 9, -3, 1 << 40}
	switch n %= 6; {
	case n == 4:
		return adapter.NullValue()
	case n == 5:
		return adapter.Value{}
	case kind == adapter.KindInteger:
		return adapter.IntegerValue(numbers[n])
	default:
		return adapter.TextValue(texts[kind][n])
	}
}

// addedData returns the demo store with values of added attributes.
func addedData(t testing.TB, schemas *adapter.Schemas) *adapter.Dataset {
	t.Helper()
	data, err := demo.Load()
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
				records[i].Values[at] = sample(schema.Attributes[at].Kind, i+at)
			}
		}
		data.Records[resource] = records
	}
	return data
}

// openAdded opens the demo store with values of added attributes, some of them at store
// views.
func openAdded(t testing.TB, e Engine, schemas *adapter.Schemas) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{DSN: e.NewDSN(t), Migrate: true, Schemas: schemas})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
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
			v := sample(a.Kind, n)
			if v.Kind() == adapter.Absent {
				continue
			}
			product := 2*n + 2
			if a.Scope == adapter.ScopeGlobal { // as an import may store it; the suite unsets global values of others
				product = 12 - n
			}
			value, folded, err := db.engine.valueTexts(a, v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.writeStatements.exec(t.Context(), "INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES (?, ?, ?, ?, ?)",
				product, 2, a.Name, value, folded); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestConformanceOfAddedAttributes runs the conformance suite on the added attributes
// alone, so that every query on them is compared with adapter.Apply.
func TestConformanceOfAddedAttributes(t *testing.T) {
	EachEngineNightly(t, testConformanceOfAddedAttributes)
}

func testConformanceOfAddedAttributes(t *testing.T, e Engine) {
	schemas := addedSchemas(t)
	run := func(t *testing.T, wrap func(*Adapter) adapter.Adapter, tested ...adapter.Resource) {
		unsupported := map[adapter.Resource]string{}
		for _, table := range layout(schemas) {
			if !slices.Contains(tested, table.schema.Resource) {
				unsupported[table.schema.Resource] = "not part of this test"
			}
		}
		open := StoreOpener(t, func(tb testing.TB) *DB { return openAdded(tb, e, schemas) }, func(tb testing.TB, db *DB) {
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
			Sampled:     e.Sampled(t),
		})
	}
	t.Run("accounts", func(t *testing.T) {
		run(t, func(a *Adapter) adapter.Adapter {
			return resourceSubset{a, []adapter.Resource{adapter.Customers, adapter.CustomerAddresses}}
		}, adapter.Customers, adapter.CustomerAddresses)
	})
	for name, b := range map[string]adaptertest.Bounds{
		"default scope":  {},
		"store view":     {StoreID: 2},
		"website values": {StoreID: 2, WebsiteScope: true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(a *Adapter) adapter.Adapter { return restricted{a, b} }, adapter.Products)
		})
	}
}

// resourceSubset is an adapter that offers only some resources.
type resourceSubset struct {
	*Adapter
	resources []adapter.Resource
}

func (s resourceSubset) Store(r adapter.Resource) (adapter.Store, error) {
	if !slices.Contains(s.resources, r) {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return s.Adapter.Store(r)
}

// TestAddedQueriesArePushedDown checks that the database filters and sorts by added
// attributes.
func TestAddedQueriesArePushedDown(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		schemas := addedSchemas(t)
		db := openAdded(t, e, schemas)
		for _, c := range []struct {
			resource adapter.Resource
			q        adapter.Query
			storeID  int64
		}{
			{adapter.Customers, adapter.Query{OrderBy: "my_text"}, 0},
			{adapter.Customers, adapter.Query{OrderBy: strings.Repeat("x", 62) + "1", Where: where(strings.Repeat("x", 62)+"2", adapter.Gt, "1")}, 0},
			{adapter.CustomerAddresses, adapter.Query{Where: where("my_text", adapter.Like, "gr%")}, 0},
			{adapter.Products, adapter.Query{OrderBy: "global_decimal", Desc: true}, 0},
			{adapter.Products, adapter.Query{OrderBy: "store_time", Where: where("website_integer", adapter.IsNull)}, 2},
		} {
			result, err := db.stores[c.resource].List(t.Context(), &adapter.ListParams{Query: c.q, StoreID: c.storeID})
			if err != nil || result.Partial || len(result.Records) == 0 {
				t.Errorf("%s %+v: %+v, %v", c.resource, c.q, result, err)
			}
		}
	})
}

func where(attribute string, op adapter.Op, operands ...string) []adapter.Condition {
	return []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}}
}

// TestManyAddedAttributes queries more added attributes than one statement can join.
func TestManyAddedAttributes(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		var added []adapter.AddedAttribute
		var conditions []adapter.Condition
		for i := range 70 {
			name := fmt.Sprintf("a%d", i)
			added = append(added, adapter.AddedAttribute{Resource: adapter.Products, Name: name, Scope: adapter.ScopeStore})
			conditions = append(conditions, where(name, adapter.Like, "%")...)
		}
		schemas, err := adapter.NewSchemas().With(added...)
		if err != nil {
			t.Fatal(err)
		}
		db := openAdded(t, e, schemas)
		for _, named := range []int{maxAddedJoins, maxAddedJoins + 1, 70} {
			q := adapter.Query{Where: slices.Clone(conditions[:named])}
			for _, a := range schemas.Of(adapter.Products).Attributes {
				if !a.Static && !a.OnDemand && !a.Added {
					q.Where = append(q.Where, adapter.Condition{Any: []adapter.Test{
						{Attribute: a.Name, Op: adapter.IsNull}, {Attribute: "entity_id", Op: adapter.IsNotNull},
					}})
				}
			}
			result, err := db.stores[adapter.Products].List(t.Context(), &adapter.ListParams{Query: q, StoreID: 2})
			if err != nil || result.Partial != (named > maxAddedJoins) {
				t.Errorf("%d attributes: %v", named, err)
			}
		}
	})
}

// TestStatementsPerReadWithAddedAttributes counts the statements of each read by the
// prepared statements that it adds to the cache.
func TestStatementsPerReadWithAddedAttributes(t *testing.T) {
	standard := adapter.NewSchemas()
	for _, c := range []struct {
		name    string
		schemas *adapter.Schemas
		read    func(*DB) error
		want    int
	}{
		{"customers without added attributes", standard, list(t, adapter.Customers), 1},
		{"products without added attributes", standard, list(t, adapter.Products), 1},
		{"customers", addedSchemas(t), list(t, adapter.Customers), 2},
		{"products", addedSchemas(t), list(t, adapter.Products), 2},
		{"products at a store view with prices", addedSchemas(t), func(db *DB) error {
			_, err := db.stores[adapter.Products].Get(t.Context(), &adapter.GetParams{Key: 2, StoreID: 2, With: []string{"group_price", "tier_price"}})
			return err
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			EachEngine(t, func(t *testing.T, e Engine) {
				db, err := Open(t.Context(), Options{DSN: e.NewDSN(t), Migrate: true, Schemas: c.schemas})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				if err := db.Load(t.Context(), addedData(t, addedSchemas(t)), nil); err != nil {
					t.Fatal(err)
				}
				before := len(db.readStatements.prepared)
				if err := c.read(db); err != nil {
					t.Fatal(err)
				}
				if got := len(db.readStatements.prepared) - before; got != c.want {
					t.Errorf("%d statements, want %d", got, c.want)
				}
			})
		})
	}
}

func list(t *testing.T, r adapter.Resource) func(*DB) error {
	return func(db *DB) error {
		_, err := db.stores[r].List(t.Context(), &adapter.ListParams{})
		return err
	}
}

// TestAddedValuesOfManyRecords lists more records than one statement reads values for.
func TestAddedValuesOfManyRecords(t *testing.T) {
	EachEngine(t, func(t *testing.T, e Engine) {
		db := openAdded(t, e, addedSchemas(t))
		const many = 2*valuesBatch + 3
		var addresses, values []string
		for i := range many {
			addresses = append(addresses, fmt.Sprintf("(%d, 1, '2012-01-01 00:00:00', '2012-01-01 00:00:00', 0, 0)", 100+i))
			values = append(values, fmt.Sprintf("(%d, 'my_integer', '%d'), (%[1]d, 'gone', 'x')", 100+i, i))
		}
		execute(t, db,
			"INSERT INTO customer_address (entity_id, customer_id, created_at, updated_at, is_default_billing, is_default_shipping) VALUES "+strings.Join(addresses, ","),
			"INSERT INTO customer_address_value (address_id, attribute, value) VALUES "+strings.Join(values, ","))
		result, err := db.stores[adapter.CustomerAddresses].List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: where("entity_id", adapter.GtEq, "100")}})
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
	EachEngine(t, func(t *testing.T, e Engine) {
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
			if err := db.readers.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d, %v", query, n, err)
			}
		}
	})
}

// TestLoadRefusesAddedValues loads values that do not fit their attributes.
func TestLoadRefusesAddedValues(t *testing.T) {
	schemas := addedSchemas(t)
	db, err := Open(t.Context(), Options{DSN: Engines()[0].NewDSN(t), Migrate: true, Schemas: schemas})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
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
	EachEngine(t, func(t *testing.T, e Engine) {
		schemas := addedSchemas(t)
		products := openAdded(t, e, schemas).stores[adapter.Products]
		text := adapter.TextValue
		product := adapter.NewRecord(schemas.Of(adapter.Products))
		for name, v := range map[string]adapter.Value{
			"attribute_set_id": adapter.IntegerValue(4), "type_id": text("simple"), "sku": text("own"),
			"global_text": text("Été"), "website_decimal": text("1.5000"), "store_integer": adapter.IntegerValue(7), "store_time": adapter.NullValue(),
		} {
			product.Set(name, v)
		}
		key, err := products.Create(t.Context(), &adapter.CreateParams{Record: product})
		if err != nil {
			t.Fatal(err)
		}
		read := func(storeID int64) string {
			t.Helper()
			r, err := products.Get(t.Context(), &adapter.GetParams{Key: key, StoreID: storeID})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s %s %s %d", r.Get("global_text").Text(), r.Get("website_decimal").Text(), r.Get("store_integer").Text(), r.Get("store_time").Kind())
		}
		change := func(storeID int64, values map[string]adapter.Value) {
			t.Helper()
			err := products.Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: storeID, Change: func(current adapter.Record) (adapter.Record, error) {
				next := adapter.NewRecord(current.Schema)
				for name, v := range values {
					next.Set(name, v)
				}
				return next, nil
			}})
			if err != nil {
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
		change(2, map[string]adapter.Value{"global_text": text("x"), "website_decimal": text("2.0000"), "store_integer": adapter.IntegerValue(8)})
		check("at a store view", "x 1.5000 7 1", "x 2.0000 7 1", "x 2.0000 8 1")
		change(2, map[string]adapter.Value{"website_decimal": adapter.UnsetValue(), "store_integer": adapter.NullValue()})
		check("deleted at the store view", "x 1.5000 7 1", "x 1.5000 7 1", "x 1.5000  1")
		change(0, map[string]adapter.Value{"global_text": adapter.NullValue(), "store_integer": adapter.UnsetValue(), "store_time": text("2012-03-01 10:00:00")})
		check("in the default scope", " 1.5000  3", " 1.5000  3", " 1.5000  3")
		if err := products.Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
			t.Fatal(err)
		}
	})
}
