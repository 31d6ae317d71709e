package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// export returns a record with everything that belongs to it.
func (m *mirroredStore) export(r adapter.Resource, key adapter.Key) adapter.Aggregate {
	m.Helper()
	found, err := m.db.Adapter().Export(m.Context(), r, key-1, 1)
	if err != nil || len(found) == 0 || found[0].Record.Key() != key {
		m.Fatalf("%s %d: %v, %v", r, key, found, err)
	}
	return found[0]
}

// ofProduct returns an exported product as a legacy store has it: parts other than assignments
// are aggregates of their own.
func ofProduct(one adapter.Aggregate) (product, images adapter.Aggregate, stock adapter.Record) {
	product = adapter.Aggregate{Record: one.Record, PartsOf: []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories}}
	images = adapter.Aggregate{Record: adapter.NewRecord(one.Record.Schema), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages}}
	images.Record.Set("entity_id", one.Record.Get("entity_id"))
	for _, part := range one.Parts {
		switch part.Schema.Resource {
		case adapter.ProductImages:
			images.Parts = append(images.Parts, part)
		case adapter.StockItems:
			stock = part
		default:
			product.Parts = append(product.Parts, part)
		}
	}
	for _, l := range one.Levels {
		isImages := l.Record.Schema.Resource == adapter.ProductImages
		own, pointers := adapter.NewRecord(l.Record.Schema), adapter.NewRecord(l.Record.Schema)
		for i, v := range l.Record.Values {
			a := l.Record.Schema.Attributes[i]
			switch {
			case a.Name == l.Record.Schema.Key:
				own.Values[i], pointers.Values[i] = v, v
			case isImages || a.ReadOnly && a.OnDemand:
				pointers.Values[i] = v
			default:
				own.Values[i] = v
			}
		}
		images.Levels = append(images.Levels, adapter.Level{StoreID: l.StoreID, Record: pointers})
		if !isImages && l.StoreID != 0 {
			product.Levels = append(product.Levels, adapter.Level{StoreID: l.StoreID, Record: own})
		}
	}
	return product, images, stock
}

// follow imports records of a legacy store, as following it does.
func (m *mirroredStore) follow(batch ...adapter.Aggregate) []adapter.Imported {
	m.Helper()
	done, err := m.db.Adapter().Import(m.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old"})
	if err != nil {
		m.Fatal(err)
	}
	return done
}

// conflicts returns the conflicts so far, in the order in which they occurred, without removing
// them.
func (m *mirroredStore) conflicts() (all []outbox.Conflict) {
	m.Helper()
	latest, _, err := m.db.Outbox().Conflicts(m.Context(), 100)
	if err != nil {
		m.Fatal(err)
	}
	slices.Reverse(latest)
	for i := range latest {
		latest[i].At = time.Time{}
	}
	return latest
}

// TestOutboxImports follows a legacy store that has not received all client writes yet.
func TestOutboxImports(t *testing.T) {
	sqltest.EachEngine(t, testOutboxImports)
}

func testOutboxImports(t *testing.T, e sqltest.Engine) {
	m := newMirroredStore(t, openDemo(t, e))
	get := func(r adapter.Resource, key adapter.Key, view int64, name string) string {
		t.Helper()
		var with []string
		if at, ok := m.schemas.Of(r).Index(name); ok && m.schemas.Of(r).Attributes[at].OnDemand {
			with = []string{name}
		}
		return adaptertest.MustGet(t, m.store(r), adapter.GetParams{Key: key, StoreID: view, With: with}).Get(name).Text()
	}
	shows := func(name string, r adapter.Resource, key adapter.Key, view int64, attribute, want string) {
		t.Helper()
		if got := get(r, key, view, attribute); got != want {
			t.Errorf("%s: %s of %s %d at %d is %q, want %q", name, attribute, r, key, view, got, want)
		}
	}
	exists := func(r adapter.Resource, key adapter.Key) bool {
		t.Helper()
		_, err := m.store(r).Get(t.Context(), &adapter.GetParams{Key: key})
		return err == nil
	}
	noted := 0
	conflicted := func(name string, want ...outbox.Conflict) {
		t.Helper()
		all := m.conflicts()[noted:]
		noted += len(all)
		if diff := cmp.Diff(want, slices.Clip(all)); diff != "" && len(want)+len(all) > 0 {
			t.Errorf("%s: conflicts want -, got +:\n%s", name, diff)
		}
	}
	at := func(r adapter.Resource, key adapter.Key) outbox.Record { return outbox.Record{Resource: r, Key: key} }

	product, images, stock := ofProduct(m.export(adapter.Products, 1))
	item := adapter.Aggregate{Record: stock}
	for i, done := range m.follow(product, images, item) {
		if done.Outcome != adapter.ImportEqual || done.Pending {
			t.Fatalf("%d of what is here already: %+v", i, done)
		}
	}
	updatedAt := get(adapter.Products, 1, 0, "updated_at")

	m.update(adapter.Products, 1, 0, attrs{"name": "Ours", "price": "11.0000"})
	m.update(adapter.Products, 1, 3, attrs{"name": "Ours at 3", "special_price": "1.0000"})
	written := get(adapter.Products, 1, 0, "updated_at")
	product.Record.Set("short_description", adapter.TextValue("theirs"))
	if done := m.follow(product, images)[0]; done.Outcome != adapter.ImportChanged || !done.Pending {
		t.Errorf("%+v", done)
	}
	shows("pending", adapter.Products, 1, 0, "name", "Ours")
	shows("pending", adapter.Products, 1, 0, "price", "11.0000")
	shows("pending", adapter.Products, 1, 3, "name", "Ours at 3")
	shows("pending", adapter.Products, 1, 3, "special_price", "1.0000")
	shows("what only the legacy store has changed", adapter.Products, 1, 0, "short_description", "theirs")
	shows("pending", adapter.Products, 1, 0, "updated_at", written)
	conflicted("none")

	product.Record.Set("name", adapter.TextValue("theirs"))
	m.follow(product)
	shows("both have changed it", adapter.Products, 1, 0, "name", "Ours")
	conflicted("both", outbox.Conflict{Record: at(adapter.Products, 1), Attribute: "name", Ours: "Ours", Theirs: "theirs", Outcome: outbox.Kept})
	m.follow(product)
	conflicted("again")
	product.Record.Set("name", adapter.TextValue("Ours"))
	m.follow(product)
	conflicted("delivered")
	m.clear()
	if done := m.follow(product)[0]; done.Pending {
		t.Errorf("with an empty outbox: %+v", done)
	}
	shows("followed again", adapter.Products, 1, 0, "price", product.Record.Get("price").Text())
	shows("followed again", adapter.Products, 1, 3, "name", "Ours")
	shows("followed again", adapter.Products, 1, 0, "updated_at", updatedAt)

	t.Run("stock", func(t *testing.T) {
		m.update(adapter.StockItems, 1, 0, attrs{"qty": "50.0000"})
		m.follow(item)
		shows("pending", adapter.StockItems, 1, 0, "qty", "50.0000")
		before := item.Record.Get("qty").Text()
		item.Record.Set("qty", adapter.TextValue("98.0000"))
		m.follow(item)
		shows("sold in the legacy store", adapter.StockItems, 1, 0, "qty", "48.0000")
		conflicted("sum", outbox.Conflict{Record: at(adapter.StockItems, 1), Attribute: "qty", Ours: "50.0000", Theirs: "98.0000", Outcome: outbox.Added})
		m.follow(item)
		shows("the same again", adapter.StockItems, 1, 0, "qty", "48.0000")
		conflicted("none")
		item.Record.Set("qty", adapter.TextValue("48.0000"))
		m.follow(item)
		shows("delivered", adapter.StockItems, 1, 0, "qty", "48.0000")
		m.clear()
		item.Record.Set("qty", adapter.TextValue(before))
		m.follow(item)
	})
	t.Run("an assignment", func(t *testing.T) {
		assigned, err := m.store(adapter.ProductWebsites).List(t.Context(), &adapter.ListParams{Query: adapter.Query{
			Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "product_id", Op: adapter.Eq, Operands: []string{"1"}}}}}, OrderBy: "website_id"}})
		if err != nil {
			t.Fatal(err)
		}
		m.delete(adapter.ProductWebsites, assigned.Records[0].Key(), 0)
		for i := range product.Parts { // a legacy store's assignments have no keys
			product.Parts[i] = product.Parts[i].Clone()
			product.Parts[i].Set(product.Parts[i].Schema.Key, adapter.Value{})
		}
		m.follow(product)
		if exists(adapter.ProductWebsites, assigned.Records[0].Key()) {
			t.Error("it is here again")
		}
		m.expect("an assignment", "product_websites 1 of products 1 removed gone:")
		m.follow(product)
	})
	t.Run("a password", func(t *testing.T) {
		customer := m.export(adapter.Customers, 1)
		m.update(adapter.Customers, 1, 0, attrs{"password_hash": "ours"})
		m.follow(customer)
		shows("held", adapter.Customers, 1, 0, "password_hash", "ours")
		customer.Record.Set("password_hash", adapter.TextValue("theirs"))
		m.follow(customer)
		shows("changed in the legacy store", adapter.Customers, 1, 0, "password_hash", "theirs")
		conflicted("taken", outbox.Conflict{Record: at(adapter.Customers, 1), Attribute: "password_hash", Ours: "a password", Theirs: "a password", Outcome: outbox.Taken})
		m.expect("no longer held")
	})
	t.Run("a record that the legacy store has deleted", func(t *testing.T) {
		m.update(adapter.Customers, 3, 0, attrs{"firstname": "Ours"})
		m.follow(adapter.Aggregate{Record: attrs{"entity_id": 3}.Record(m.schemas.Of(adapter.Customers)), Gone: true})
		if exists(adapter.Customers, 3) {
			t.Error("it is still here")
		}
		conflicted("dropped", outbox.Conflict{Record: at(adapter.Customers, 3), Outcome: outbox.Dropped})
		m.expect("nothing is left")
	})
	t.Run("a record that was deleted here", func(t *testing.T) {
		m.delete(adapter.Products, 1, 0)
		for _, one := range []adapter.Aggregate{product, item} {
			if done := m.follow(one)[0]; done.Outcome != adapter.ImportKept || !done.Pending {
				t.Errorf("%s: %+v", one.Record.Schema.Resource, done)
			}
		}
		if exists(adapter.Products, 1) || exists(adapter.StockItems, 1) {
			t.Error("it is here again")
		}
	})
}

// TestOutboxImages follows a legacy store that has not received changes of images yet.
func TestOutboxImages(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openGallery(t, e))
		_, images, _ := ofProduct(m.export(adapter.Products, 1))
		gallery := func(view int64) (all []string) {
			t.Helper()
			found, err := m.store(adapter.ProductImages).List(t.Context(), &adapter.ListParams{StoreID: view, Query: adapter.Query{
				Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "product_id", Op: adapter.Eq, Operands: []string{"1"}}}}}, OrderBy: "id"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found.Records {
				all = append(all, imageText(r))
			}
			return all
		}
		m.update(adapter.ProductImages, 2, 0, attrs{"label": "Ours"})
		m.update(adapter.ProductImages, 1, 0, attrs{"types": []string{"image", "small_image", "thumbnail"}})
		m.update(adapter.ProductImages, 4, 2, attrs{"label": "À nous"})
		m.delete(adapter.ProductImages, 5, 0)
		want := map[int64][]string{0: gallery(0), 2: gallery(2)}
		want[0][3] = "4 - - - " // values that saving a product stores in addition follow when the legacy store has saved it
		if done := m.follow(images)[0]; !done.Pending {
			t.Errorf("%+v", done)
		}
		for view, shown := range want {
			if diff := cmp.Diff(shown, gallery(view)); diff != "" {
				t.Errorf("store view %d: want -, got +:\n%s", view, diff)
			}
		}
		m.expect("images", "product_images 2 of products 1: label", "product_images 1 of products 1: types", "product_images 4 of products 1 at 2: label", "product_images 5 of products 1 removed gone:")

		images.Parts = slices.DeleteFunc(images.Parts, func(r adapter.Record) bool { return r.Key() == 4 })
		images.Levels = slices.DeleteFunc(images.Levels, func(l adapter.Level) bool {
			return l.Record.Schema.Resource == adapter.ProductImages && l.Record.Key() == 4
		})
		m.update(adapter.ProductImages, 4, 2, attrs{"label": "Deleted there"})
		m.follow(images)
		m.expect("an image that the legacy store has deleted")
		if all := m.conflicts(); len(all) != 1 || all[0].Outcome != outbox.Dropped || all[0].Key != 4 {
			t.Errorf("%+v", all)
		}
	})
}
