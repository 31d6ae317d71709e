package sqlstore

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestCopyStoreViewImages copies labels, positions, excludes and types.
func TestCopyStoreViewImages(t *testing.T) {
	EachEngine(t, testCopyStoreViewImages)
}

func testCopyStoreViewImages(t *testing.T, e Engine) {
	db := openWithStoreViewValues(t, e)
	execute(t, db,
		"INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES (1, 0, 'One', 3, 0), (1, 2, 'Un', 4, 1), (1, 3, 'Eins', 5, 0), (2, 3, 'Zwei', 6, 0)",
		"INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (1, 3, 'small_image', 2), (1, 3, 'thumbnail', 1)",
	)
	execute(t, db, "DELETE FROM product_website WHERE product_id = 1 AND website_id = 2")
	assignment := adapter.NewRecord(db.table(adapter.ProductWebsites).schema)
	copies, _ := assignment.Schema.Index("copies")
	entry := adapter.NewRecord(assignment.Schema.Attributes[copies].Nested)
	entry.Set("store_from", adapter.IntegerValue(2))
	entry.Set("store_to", adapter.IntegerValue(3))
	assignment.Values[copies] = adapter.RecordsValue([]adapter.Record{entry})
	assignment.Set("product_id", adapter.IntegerValue(1))
	assignment.Set("website_id", adapter.IntegerValue(2))
	if _, err := db.stores[adapter.ProductWebsites].Create(t.Context(), &adapter.CreateParams{Record: assignment}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[adapter.Key]string{
		1: "Un 4 1 ",
		2: " 0 0 image,small_image,thumbnail", // view 2 has no pointer for small_image
	} {
		r, err := db.stores[adapter.ProductImages].Get(t.Context(), &adapter.GetParams{Key: key, StoreID: 3})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Get("label").Text() + " " + r.Get("position").Text() + " " + r.Get("exclude").Text() + " " + strings.Join(r.Get("types").Texts(), ",")
		if got != want {
			t.Errorf("image %d: %q, want %q", key, got, want)
		}
	}
}

// TestSavesSetUpdatedAt checks that every save sets updated_at of the product, and that
// a refused one does not.
func TestSavesSetUpdatedAt(t *testing.T) {
	EachEngine(t, testSavesSetUpdatedAt)
}

func testSavesSetUpdatedAt(t *testing.T, e Engine) {
	db := openWithStoreViewValues(t, e)
	images := db.stores[adapter.ProductImages]
	nothing := func(r adapter.Record) (adapter.Record, error) { return adapter.NewRecord(r.Schema), nil }
	var key adapter.Key
	for _, c := range []struct {
		name    string
		write   func() error
		refused bool
	}{
		{"product", func() error {
			return db.stores[adapter.Products].Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: nothing})
		}, false},
		{"product at a view", func() error {
			return db.stores[adapter.Products].Update(t.Context(), &adapter.UpdateParams{Key: 1, StoreID: 2, Change: nothing})
		}, false},
		{"new image", func() (err error) { key, err = addImage(t, db, "a/b/c.gif", "x", nil); return err }, false},
		{"image", func() error {
			return images.Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: 1, Change: nothing})
		}, false},
		{"image removed at a view", func() error {
			return images.Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: 1, Change: func(r adapter.Record) (adapter.Record, error) {
				change := adapter.NewRecord(r.Schema)
				change.Set("removed", adapter.IntegerValue(1))
				return change, nil
			}})
		}, false},
		{"image deleted", func() error { return images.Delete(t.Context(), &adapter.DeleteParams{Key: key}) }, false},
		{"website", func() (err error) { key, err = assign(t, db, adapter.ProductWebsites, "website_id", 2); return err }, false},
		{"the same website", func() (err error) { _, err = assign(t, db, adapter.ProductWebsites, "website_id", 2); return err }, true},
		{"website gone", func() error {
			return db.stores[adapter.ProductWebsites].Delete(t.Context(), &adapter.DeleteParams{Key: key})
		}, false},
		{"category", func() (err error) {
			key, err = assign(t, db, adapter.ProductCategories, "category_id", 6)
			return err
		}, false},
		{"category gone", func() error {
			return db.stores[adapter.ProductCategories].Delete(t.Context(), &adapter.DeleteParams{Key: key})
		}, false},
		{"refused", func() error {
			return db.stores[adapter.Products].Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
				r.Set("price", adapter.TextValue("x"))
				return r, nil
			}})
		}, true},
	} {
		const long = "2012-01-01 00:00:00"
		execute(t, db, "UPDATE product SET updated_at = '"+long+"' WHERE entity_id = 1")
		if err := c.write(); (err != nil) != c.refused {
			t.Fatalf("%s: %v", c.name, err)
		}
		r, err := db.products.Get(t.Context(), &adapter.GetParams{Key: 1})
		if err != nil || (r.Get("updated_at").Text() == long) != c.refused || r.Get("created_at").Text() != long {
			t.Errorf("%s: updated at %s, %v", c.name, r.Get("updated_at").Text(), err)
		}
	}
}

// assign assigns product 1 to a website or a category.
func assign(t *testing.T, db *DB, r adapter.Resource, target string, id int64) (adapter.Key, error) {
	t.Helper()
	assignment := adapter.NewRecord(db.table(r).schema)
	assignment.Set("product_id", adapter.IntegerValue(1))
	assignment.Set(target, adapter.IntegerValue(id))
	return db.stores[r].Create(t.Context(), &adapter.CreateParams{Record: assignment})
}

// TestSavePreparesStatements checks that the statements of a save stay prepared, so
// that the next save of the same kind adds none.
func TestSavePreparesStatements(t *testing.T) {
	EachEngine(t, testSavePreparesStatements)
}

func testSavePreparesStatements(t *testing.T, e Engine) {
	db := openWithStoreViewValues(t, e)
	save := func(name string) {
		t.Helper()
		err := db.stores[adapter.Products].Update(t.Context(), &adapter.UpdateParams{Key: 1, StoreID: 2, Change: func(r adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(r.Schema)
			change.Set("name", adapter.TextValue(name))
			change.Set("price", adapter.TextValue("3.0000"))
			return change, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	save("one")
	execute(t, db, "UPDATE product SET price = 1 WHERE entity_id = 1")
	save("two")
	before := len(db.writeStatements.prepared)
	execute(t, db, "UPDATE product SET price = 1 WHERE entity_id = 1")
	save("three")
	if after := len(db.writeStatements.prepared); before == 0 || after != before {
		t.Errorf("%d statements kept, then %d", before, after)
	}
}

// TestProductsThroughViews writes products through a view of one table, which servers
// can update. On SQLite the view would need triggers.
func TestProductsThroughViews(t *testing.T) {
	for _, e := range Engines() {
		if e.Name != "sqlite" {
			t.Run(e.Name, func(t *testing.T) { testProductsThroughViews(t, openWithStoreViewValues(t, e)) })
		}
	}
}

func testProductsThroughViews(t *testing.T, db *DB) {
	execute(t, db, "ALTER TABLE product RENAME TO article", "CREATE VIEW product AS SELECT * FROM article")
	r := adapter.NewRecord(db.products.table.schema)
	r.Set("attribute_set_id", adapter.IntegerValue(4))
	r.Set("type_id", adapter.TextValue("simple"))
	r.Set("sku", adapter.TextValue("through"))
	r.Set("name", adapter.TextValue("N"))
	key, err := db.stores[adapter.Products].Create(t.Context(), &adapter.CreateParams{Record: r})
	if err != nil {
		t.Fatal(err)
	}
	for level, name := range map[int64]string{0: "Default", 2: "View"} {
		err := db.stores[adapter.Products].Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: level, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			change.Set("name", adapter.TextValue(name))
			return change, nil
		}})
		if err != nil {
			t.Errorf("Update at %d: %v", level, err)
		}
		if got, err := db.products.Get(t.Context(), &adapter.GetParams{Key: key, StoreID: level}); err != nil || got.Get("name").Text() != name {
			t.Errorf("at %d: %q, %v", level, got.Get("name").Text(), err)
		}
	}
	if err := db.stores[adapter.Products].Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
		t.Error(err)
	}
}
