package sqlstore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

type attrs = adaptertest.Attributes

// importedRecord returns a record for Replica.ImportRecords.
func importedRecord(r adapter.Resource, key adapter.Key, id string, root adapter.Resource, g attrs) replica.ImportedRecord {
	return replica.ImportedRecord{
		Mapping: idmap.Mapping{Resource: r, Key: key, BackendID: id, Root: root, Version: "t", Base: []byte("{}")},
		Record:  g.Record(adapter.NewSchemas().Of(r)),
	}
}

func aProduct(sku string) attrs {
	return attrs{"attribute_set_id": 4, "type_id": "simple", "sku": sku, "name": "Grüner Krug", "price": "9.5000", "status": 1, "visibility": 4, "meta_title": nil}
}

func aStockItem() attrs {
	g := attrs{"stock_id": 1, "qty": "7.0000"}
	for _, name := range []string{"min_qty", "min_sale_qty", "max_sale_qty", "qty_increments"} {
		g[name] = "0.0000"
	}
	for _, name := range []string{
		"use_config_min_qty", "is_qty_decimal", "backorders", "use_config_backorders", "use_config_min_sale_qty", "use_config_max_sale_qty", "is_in_stock",
		"use_config_notify_stock_qty", "manage_stock", "use_config_manage_stock", "stock_status_changed_auto", "use_config_qty_increments",
		"use_config_enable_qty_inc", "enable_qty_increments", "is_decimal_divided",
	} {
		g[name] = 0
	}
	return g
}

// all returns the records of a resource, by key.
func all(tb testing.TB, a adapter.Adapter, r adapter.Resource) []adapter.Record {
	tb.Helper()
	found, err := adaptertest.StoreOf(tb, a, r).List(tb.Context(), &adapter.ListParams{})
	if err != nil || found.Partial {
		tb.Fatalf("%s: partial %v, %v", r, found != nil && found.Partial, err)
	}
	return found.Records
}

func TestImportRecords(t *testing.T) {
	sqltest.EachEngine(t, testAdopt)
}

func testAdopt(t *testing.T, e sqltest.Engine) {
	ctx, local := t.Context(), openDemo(t, e).Replica()
	importAll := func(records ...replica.ImportedRecord) []adapter.Key {
		t.Helper()
		keys, err := local.ImportRecords(ctx, records)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	get := func(r adapter.Resource, key adapter.Key, p adapter.GetParams) adapter.Record {
		t.Helper()
		p.Key = key
		got, err := adaptertest.StoreOf(t, local, r).Get(ctx, &p)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	show := func(r adapter.Record, want attrs) {
		t.Helper()
		for name, v := range want {
			if got := r.Get(name).Text(); got != fmt.Sprint(v) {
				t.Errorf("%s is %q, want %q", name, got, v)
			}
		}
	}
	mapping := func(r adapter.Resource, key adapter.Key) idmap.Mapping {
		t.Helper()
		found, err := local.MappingsByKey(ctx, r, []adapter.Key{key})
		if len(withoutTimes(t, found, err)) != 1 {
			t.Fatalf("%s %d has %d mappings", r, key, len(found))
		}
		return found[0]
	}

	t.Run("product with parts", func(t *testing.T) {
		product := aProduct("krug-1").With(attrs{
			"created_at":  "2019-05-05 10:00:00",
			"group_price": []attrs{{"website_id": 0, "cust_group": 2, "price": "8.0000"}},
			"tier_price":  []attrs{{"website_id": 0, "cust_group": 32000, "price": "7.0000", "price_qty": "10.0000"}, {"website_id": 0, "cust_group": 1, "price": "6.0000", "price_qty": "20.0000"}},
		})
		keys := importAll(
			importedRecord(adapter.Products, 500, "prod_1", "", product),
			importedRecord(adapter.StockItems, 600, "inv_1", adapter.Products, aStockItem()),
			importedRecord(adapter.ProductWebsites, 0, "", adapter.Products, attrs{"website_id": 1}),
			importedRecord(adapter.ProductCategories, 0, "", adapter.Products, attrs{"category_id": 3, "position": 4}),
		)
		if len(keys) != 4 || keys[0] != 500 || keys[1] != 600 || keys[2] <= 0 || keys[3] <= 0 {
			t.Fatalf("keys %v", keys)
		}
		got := get(adapter.Products, 500, adapter.GetParams{With: []string{"group_price", "tier_price", "stock_item"}})
		show(got, attrs{"sku": "krug-1", "name": "Grüner Krug", "price": "9.5000", "created_at": "2019-05-05 10:00:00"})
		if got.Get("meta_title").Kind() != adapter.Null || got.Get("weight").Kind() != adapter.Absent || got.Get("updated_at").Empty() {
			t.Errorf("%v", got.Values)
		}
		if g, tiers, items := got.Get("group_price").Records(), got.Get("tier_price").Records(), got.Get("stock_item").Records(); len(g) != 1 || len(tiers) != 2 || len(items) != 1 {
			t.Errorf("%d group prices, %d tier prices, %d stock items", len(g), len(tiers), len(items))
		}
		// ImportRecords derives nothing: the item stays unchanged.
		show(get(adapter.StockItems, 600, adapter.GetParams{}), attrs{"product_id": 500, "qty": "7.0000", "is_in_stock": 0, "stock_status_changed_auto": 0})
		show(get(adapter.ProductCategories, keys[3], adapter.GetParams{}), attrs{"product_id": 500, "position": 4})
		listed, err := adaptertest.StoreOf(t, local, adapter.Products).List(ctx, &adapter.ListParams{
			StoreID:      1,
			WebsiteScope: true,
			Filters:      []adapter.Filter{{Name: adapter.Listed}},
			Query:        adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: adapter.Eq, Operands: []string{"gruner KRUG"}}}}}},
		})
		if err != nil || len(listed.Records) != 1 {
			t.Errorf("shoppers see %v, %v", listed, err)
		}
		counted, err := adaptertest.StoreOf(t, local, adapter.Products).List(ctx, &adapter.ListParams{StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}, Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "entity_id", Op: adapter.Eq, Operands: []string{"500"}}}}}}, Count: true})
		if err != nil || counted.Total != 1 {
			t.Errorf("shoppers' list has it %v times, %v", counted, err)
		}
		if got := mapping(adapter.Products, 500); got.BackendID != "prod_1" || got.Root != "" || got.RootKey != 0 || got.Version != "t" || string(got.Base) != "{}" {
			t.Errorf("mapping %+v", got)
		}
		if got := mapping(adapter.ProductWebsites, keys[2]); got.BackendID != "" || got.Root != adapter.Products || got.RootKey != 500 {
			t.Errorf("mapping of a part %+v", got)
		}

		// Records created later get greater keys.
		created, err := adaptertest.StoreOf(t, local, adapter.Products).Create(ctx, &adapter.CreateParams{Record: aProduct("krug-2").Record(got.Schema)})
		if err != nil || created <= 500 {
			t.Errorf("the next product is %d, %v", created, err)
		}
		next := importAll(importedRecord(adapter.Products, 0, "prod_3", "", aProduct("krug-3")), importedRecord(adapter.StockItems, 0, "", adapter.Products, aStockItem()))
		if next[0] <= created || next[1] <= 600 {
			t.Errorf("the next keys are %v", next)
		}
		// A free smaller key can be used, and does not move the counter back.
		importAll(importedRecord(adapter.Products, 400, "prod_4", "", aProduct("krug-4")))
		if last := importAll(importedRecord(adapter.Products, 0, "prod_5", "", aProduct("krug-5"))); last[0] <= next[0] {
			t.Errorf("product %d after %d", last[0], next[0])
		}
	})
	t.Run("customer and order", func(t *testing.T) {
		customer := attrs{"website_id": 1, "email": "Neue@example.com", "group_id": 1, "store_id": 1, "disable_auto_group_change": 0, "firstname": "Zoë"}
		address := attrs{"street": []string{"one", "two"}, "city": "Köln", "is_default_billing": 1, "is_default_shipping": 0}
		keys := importAll(importedRecord(adapter.Customers, 0, "cus_1", "", customer), importedRecord(adapter.CustomerAddresses, 0, "addr_1", adapter.Customers, address), importedRecord(adapter.CustomerAddresses, 0, "addr_2", adapter.Customers, address.With(attrs{"is_default_billing": 0})))
		if got := get(adapter.CustomerAddresses, keys[1], adapter.GetParams{OwnerID: int64(keys[0])}); len(got.Get("street").Texts()) != 2 {
			t.Errorf("street %q", got.Get("street").Texts())
		}
		order := attrs{"increment_id": "1000", "customer_id": int(keys[0]), "store_id": 1, "status": "pending", "created_at": "2024-01-01 00:00:00", "updated_at": "2024-01-01 00:00:00", "grand_total": "5.0000", "total_paid": nil}
		line := attrs{"sku": "krug-1", "qty_ordered": "1.0000", "created_at": "2024-01-01 00:00:00", "updated_at": "2024-01-01 00:00:00"}
		orderKeys := importAll(
			importedRecord(adapter.Orders, 70000, "ord_1", "", order),
			importedRecord(adapter.OrderItems, 0, "li_1", adapter.Orders, line), importedRecord(adapter.OrderItems, 0, "li_2", adapter.Orders, line),
			importedRecord(adapter.OrderAddresses, 0, "oa_1", adapter.Orders, attrs{"address_type": "billing", "city": "Köln"}),
		)
		show(get(adapter.Orders, 70000, adapter.GetParams{OwnerID: int64(keys[0])}), attrs{"status": "pending", "grand_total": "5.0000", "customer_id": keys[0]})
		show(get(adapter.OrderItems, orderKeys[2], adapter.GetParams{}), attrs{"order_id": 70000})
		show(get(adapter.OrderAddresses, orderKeys[3], adapter.GetParams{}), attrs{"parent_id": 70000, "city": "Köln"})
		if next := importAll(importedRecord(adapter.Orders, 0, "ord_2", "", order)); next[0] <= 70000 {
			t.Errorf("the next order is %d", next[0])
		}

		// An item added to an existing order.
		late := importedRecord(adapter.OrderItems, 0, "li_3", adapter.Orders, line)
		late.Mapping.Root, late.Mapping.RootKey = adapter.Orders, 70000
		lateKeys := importAll(late)
		show(get(adapter.OrderItems, lateKeys[0], adapter.GetParams{}), attrs{"order_id": 70000})
		if got := mapping(adapter.OrderItems, lateKeys[0]); got.RootKey != 70000 || got.Root != adapter.Orders {
			t.Errorf("mapping %+v", got)
		}
	})
	t.Run("late website", func(t *testing.T) {
		key := importAll(importedRecord(adapter.Products, 0, "prod_6", "", aProduct("krug-6")))[0]
		late := importedRecord(adapter.ProductWebsites, 0, "", adapter.Products, attrs{"website_id": 1})
		late.Mapping.Root, late.Mapping.RootKey = adapter.Products, key
		importAll(late)
		get(adapter.Products, key, adapter.GetParams{StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}})
	})
	t.Run("fixtures", func(t *testing.T) {
		store := importAll(importedRecord(adapter.Stores, 0, "st_1", "", attrs{"website_id": 1, "code": "neu", "name": "Neu"}))[0]
		get(adapter.Products, 500, adapter.GetParams{StoreID: int64(store), Filters: []adapter.Filter{{Name: adapter.Listed}}})
	})
	t.Run("refused", func(t *testing.T) {
		owned := func(a replica.ImportedRecord, root adapter.Resource, owner adapter.Key) replica.ImportedRecord {
			a.Mapping.Root, a.Mapping.RootKey = root, owner
			return a
		}
		// Keys, ids and values that the subtests above have used.
		product := func(key adapter.Key, id, sku string) replica.ImportedRecord {
			return importedRecord(adapter.Products, key, id, "", aProduct(sku))
		}
		website := importedRecord(adapter.ProductWebsites, 0, "", adapter.Products, attrs{"website_id": 1})
		count := func() (n int) {
			for _, r := range []adapter.Resource{adapter.Products, adapter.ProductWebsites, adapter.StockItems, adapter.Customers, adapter.OrderItems} {
				n += len(all(t, local, r))
				mappings, err := local.ListMappings(ctx, r, 0, 1000)
				n += len(withoutTimes(t, mappings, err))
			}
			return n
		}
		before := count()
		for _, c := range []struct {
			name    string
			records []replica.ImportedRecord
			want    adapter.ErrorKind
		}{
			{"key", []replica.ImportedRecord{product(500, "p", "s")}, adapter.Conflict},
			{"id", []replica.ImportedRecord{product(0, "prod_1", "s")}, adapter.Conflict},
			{"SKU", []replica.ImportedRecord{product(0, "p", "KRUG-1")}, adapter.Conflict},
			{"key of a part", []replica.ImportedRecord{product(0, "p", "s"), importedRecord(adapter.StockItems, 600, "", adapter.Products, aStockItem())}, adapter.Conflict},
			{"id of a part", []replica.ImportedRecord{product(0, "p", "s"), importedRecord(adapter.StockItems, 0, "inv_1", adapter.Products, aStockItem())}, adapter.Conflict},
			{"same assignment twice", []replica.ImportedRecord{product(0, "p", "s"), website, website}, adapter.Conflict},
			{"existing assignment", []replica.ImportedRecord{owned(website, adapter.Products, 500)}, adapter.Conflict},
			{"no such website", []replica.ImportedRecord{product(0, "p", "s"), importedRecord(adapter.ProductWebsites, 0, "", adapter.Products, attrs{"website_id": 99})}, adapter.Conflict},
			{"e-mail", []replica.ImportedRecord{importedRecord(adapter.Customers, 0, "c", "", attrs{"website_id": 1, "email": "neue@EXAMPLE.com", "group_id": 1, "disable_auto_group_change": 0})}, adapter.Conflict},
			{"image", []replica.ImportedRecord{importedRecord(adapter.ProductImages, 0, "i", "", attrs{"product_id": 500})}, adapter.Unsupported},
			{"required value", []replica.ImportedRecord{importedRecord(adapter.Products, 0, "p", "", attrs{"sku": "s"})}, adapter.Invalid},
			{"value of another kind", []replica.ImportedRecord{importedRecord(adapter.Products, 0, "p", "", aProduct("s").With(attrs{"price": 3}))}, adapter.Invalid},
			{"nested stock item", []replica.ImportedRecord{importedRecord(adapter.Products, 0, "p", "", aProduct("s").With(attrs{"stock_item": []attrs{{}}}))}, adapter.Invalid},
			{"attribute of another table", []replica.ImportedRecord{importedRecord(adapter.Products, 0, "p", "", aProduct("s").With(attrs{"default_url_key": "k"}))}, adapter.Invalid},
			{"key below 1", []replica.ImportedRecord{product(-1, "p", "s")}, adapter.Invalid},
			{"key too large", []replica.ImportedRecord{product(1<<53, "p", "s")}, adapter.Invalid},
			{"no root", []replica.ImportedRecord{website}, adapter.Invalid},
			{"root that does not exist", []replica.ImportedRecord{owned(website, adapter.Products, 9999)}, adapter.Invalid},
			{"root of an unknown resource", []replica.ImportedRecord{owned(website, "rubbish", 1)}, adapter.Invalid},
			{"two roots", []replica.ImportedRecord{product(0, "p", "s"), product(0, "q", "t")}, adapter.Invalid},
			{"parts of two roots", []replica.ImportedRecord{owned(website, adapter.Products, 400), owned(website, adapter.Products, 500)}, adapter.Invalid},
			{"part of nothing", []replica.ImportedRecord{product(0, "p", "s"), importedRecord(adapter.Customers, 0, "", adapter.Products, attrs{"website_id": 1})}, adapter.Invalid},
			{"long id", []replica.ImportedRecord{product(0, fmt.Sprintf("%256d", 1), "s")}, adapter.Invalid},
		} {
			keys, err := local.ImportRecords(ctx, c.records)
			wantKind(t, c.name, err, c.want)
			if keys != nil || count() != before {
				t.Errorf("%s: keys %v, %d records and mappings, want %d", c.name, keys, count(), before)
			}
		}
		if keys, err := local.ImportRecords(ctx, nil); keys != nil || err != nil {
			t.Errorf("nothing: %v, %v", keys, err)
		}
	})
}

// TestImportRecordsAdded imports a record with attributes that the configuration adds.
func TestImportRecordsAdded(t *testing.T) {
	sqltest.EachEngine(t, testAdoptAdded)
}

func testAdoptAdded(t *testing.T, e sqltest.Engine) {
	schemas, err := adapter.NewSchemas().With(adapter.AddedAttribute{Resource: adapter.Products, Name: "season", Kind: adapter.KindText})
	if err != nil {
		t.Fatal(err)
	}
	db := sqlstore.OpenWith(t, sqlstore.Options{DSN: e.NewDSN(t), Migrate: true, Schemas: schemas})
	local := db.Replica()
	with := importedRecord(adapter.Products, 7, "p7", "", aProduct("a"))
	with.Record = aProduct("a").With(attrs{"season": "Été"}).Record(schemas.Of(adapter.Products))
	for _, a := range []replica.ImportedRecord{with, importedRecord(adapter.Products, 0, "p8", "", aProduct("b"))} {
		if _, err := local.ImportRecords(t.Context(), []replica.ImportedRecord{a}); err != nil {
			t.Fatal(err)
		}
	}
	found := all(t, local, adapter.Products)
	if len(found) != 2 || found[0].Get("season").Text() != "Été" || found[1].Get("season").Kind() != adapter.Absent || found[1].Get("entity_id").Int() != 8 {
		t.Errorf("%+v", found)
	}
}

// TestImportRecordsDuringCreates imports records under keys just above the keys of
// concurrent creates. On MariaDB a counter passes an explicit key shortly after its row is
// inserted, so a create may get the same key and fail.
func TestImportRecordsDuringCreates(t *testing.T) {
	for _, e := range sqltest.Engines() {
		if e.Name != "mariadb" {
			t.Run(e.Name, func(t *testing.T) { testAdoptDuringCreates(t, e) })
		}
	}
}

func testAdoptDuringCreates(t *testing.T, e sqltest.Engine) {
	const each = 20
	ctx, local := t.Context(), openDemo(t, e).Replica()
	customers := adaptertest.StoreOf(t, local, adapter.Customers)
	customer := func(email string) attrs {
		return attrs{"website_id": 1, "email": email, "group_id": 1, "store_id": 1, "disable_auto_group_change": 0}
	}
	seen := make(chan adapter.Key, 8*each)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := range each {
				r := customer(fmt.Sprintf("new%d.%d@example.com", w, n)).Record(adapter.NewSchemas().Of(adapter.Customers))
				key, err := customers.Create(ctx, &adapter.CreateParams{Record: r})
				if err != nil {
					t.Error(err)
				}
				seen <- key
			}
		})
	}
	writers.Go(func() {
		for n := range each {
			id := fmt.Sprint("cus_", n)
			ahead := <-seen + 3
			keys, err := local.ImportRecords(ctx, []replica.ImportedRecord{importedRecord(adapter.Customers, ahead, id, "", customer(id+"@example.com"))})
			if err != nil && adapter.KindOf(err) != adapter.Conflict { // a create has taken the key
				t.Error(err)
			}
			if err == nil && keys[0] != ahead {
				t.Errorf("key %d, want %d", keys[0], ahead)
			}
		}
	})
	writers.Wait()
	close(seen)
	keys := slices.Sorted(func(yield func(int64) bool) {
		for _, r := range all(t, local, adapter.Customers) {
			if !yield(r.Get("entity_id").Int()) {
				return
			}
		}
	})
	if len(slices.Compact(slices.Clone(keys))) != len(keys) || len(keys) < 4*each {
		t.Errorf("keys %v", keys)
	}
}

func TestUpdateReadOnly(t *testing.T) {
	sqltest.EachEngine(t, testAmend)
}

func testAmend(t *testing.T, e sqltest.Engine) {
	ctx, local := t.Context(), openDemo(t, e).Replica()
	schemas := adapter.NewSchemas()
	updateReadOnly := func(r adapter.Resource, key adapter.Key, g attrs) error {
		return local.UpdateReadOnly(ctx, r, key, g.Record(schemas.Of(r)))
	}
	orders := adaptertest.StoreOf(t, local, adapter.Orders)
	before, err := orders.Get(ctx, &adapter.GetParams{Key: 1})
	if err != nil {
		t.Fatal(err)
	}
	changes := attrs{"entity_id": 1, "status": "Erledigt-ä", "grand_total": "12.5000", "total_paid": nil, "updated_at": "2030-01-02 03:04:05"}
	for range 2 { // the second call changes nothing
		if err := updateReadOnly(adapter.Orders, 1, changes); err != nil {
			t.Fatal(err)
		}
	}
	after, err := orders.Get(ctx, &adapter.GetParams{Key: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := before.Clone()
	for i, v := range changes.Record(schemas.Of(adapter.Orders)).Values {
		if v.Kind() != adapter.Absent {
			want.Values[i] = v
		}
	}
	for i, a := range after.Schema.Attributes {
		if after.Values[i].Kind() != want.Values[i].Kind() || after.Values[i].Text() != want.Values[i].Text() {
			t.Errorf("%s is %+v, want %+v", a.Name, after.Values[i], want.Values[i])
		}
	}
	found, err := orders.List(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "status", Op: adapter.Eq, Operands: []string{"ERLEDIGT-A"}}}}}}})
	if err != nil || len(found.Records) != 1 {
		t.Errorf("by the new status: %v, %v", found, err)
	}
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		key      adapter.Key
		values   attrs
		want     adapter.ErrorKind
	}{
		{"no such order", adapter.Orders, 9999, attrs{"status": "x"}, adapter.NotFound},
		{"no values, no such order", adapter.Orders, 9999, attrs{}, adapter.NotFound},
		{"another key", adapter.Orders, 1, attrs{"entity_id": 2}, adapter.Invalid},
		{"kind", adapter.Orders, 1, attrs{"status": 3}, adapter.Invalid},
		{"required", adapter.Orders, 1, attrs{"store_id": nil}, adapter.Invalid},
		{"no such customer", adapter.Orders, 1, attrs{"customer_id": 9999}, adapter.Conflict},
		{"products", adapter.Products, 1, attrs{"name": "x"}, adapter.Unsupported},
		{"customers", adapter.Customers, 1, attrs{"email": "x"}, adapter.Unsupported},
		{"administrators", adapter.Admins, 1, attrs{"username": "x"}, adapter.Unsupported},
	} {
		wantKind(t, c.name, updateReadOnly(c.resource, c.key, c.values), c.want)
	}
	for r, g := range map[adapter.Resource]attrs{
		adapter.Orders: {}, adapter.OrderItems: {"qty_shipped": "1.0000"}, adapter.OrderAddresses: {"city": "Ulm"}, adapter.Categories: {"name": "N", "is_active": 0},
		adapter.CustomerGroups: {"name": "N"}, adapter.Websites: {"name": "N"}, adapter.Regions: {"name": "N"},
	} {
		if err := updateReadOnly(r, 2, g); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}

	// Moving a store view to another website changes its product listing.
	listed := func(store int64) int64 {
		t.Helper()
		found, err := adaptertest.StoreOf(t, local, adapter.Products).List(ctx, &adapter.ListParams{StoreID: store, Filters: []adapter.Filter{{Name: adapter.Listed}}, Count: true})
		if err != nil {
			t.Fatal(err)
		}
		return found.Total
	}
	if listed(1) == listed(3) {
		t.Fatalf("both websites list %d products", listed(1))
	}
	if err := updateReadOnly(adapter.Stores, 3, attrs{"website_id": 1, "name": "Moved"}); err != nil {
		t.Fatal(err)
	}
	if listed(1) != listed(3) {
		t.Errorf("the moved view lists %d products, the others of its website %d", listed(3), listed(1))
	}
}

// TestImportReplacesMapping imports a record whose mapping exists already. A mapping of
// another backend id stays, and nothing is imported.
func TestImportReplacesMapping(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		ctx, local := t.Context(), openDemo(t, e).Replica()
		values := attrs{"website_id": 1, "email": "new@example.com", "group_id": 1, "store_id": 1, "disable_auto_group_change": 0}
		if err := local.PutMappings(ctx, idmap.Mapping{Resource: adapter.Customers, Key: 900, BackendID: "same", Base: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		stored := func() []idmap.Mapping {
			mappings, err := local.MappingsByKey(ctx, adapter.Customers, []adapter.Key{900})
			return withoutTimes(t, mappings, err)
		}
		_, err := local.ImportRecords(ctx, []replica.ImportedRecord{importedRecord(adapter.Customers, 900, "other", "", values)})
		if got := stored(); adapter.KindOf(err) != adapter.Conflict || len(got) != 1 || got[0].BackendID != "same" {
			t.Errorf("another backend id: %v; %+v", err, got)
		}
		_, err = local.ImportRecords(ctx, []replica.ImportedRecord{importedRecord(adapter.Customers, 900, "same", "", values)})
		if got := stored(); err != nil || len(got) != 1 || got[0].Version != "t" {
			t.Errorf("the same backend id: %v; %+v", err, got)
		}
	})
}
