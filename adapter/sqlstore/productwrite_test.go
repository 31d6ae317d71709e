package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestCopyStoreViewImages copies labels, positions, excludes and types.
func TestCopyStoreViewImages(t *testing.T) {
	sqltest.EachEngine(t, testCopyStoreViewImages)
}

func testCopyStoreViewImages(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	execute(t, db,
		"INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES (1, 0, 'One', 3, 0), (1, 2, 'Un', 4, 1), (1, 3, 'Eins', 5, 0), (2, 3, 'Zwei', 6, 0)",
		"INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (1, 3, 'small_image', 2), (1, 3, 'thumbnail', 1)",
	)
	execute(t, db, "DELETE FROM product_website WHERE product_id = 1 AND website_id = 2")
	assignment := attrs{"product_id": 1, "website_id": 2, "copies": []attrs{{"store_from": 2, "store_to": 3}}}.Record(db.records.Table(adapter.ProductWebsites).Schema)
	if _, err := storeOf(t, db, adapter.ProductWebsites).Create(t.Context(), &adapter.CreateParams{Record: assignment}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[adapter.Key]string{
		1: "Un 4 1 ",
		2: " 0 0 image,small_image,thumbnail", // view 2 has no pointer for small_image
	} {
		r := adaptertest.MustGet(t, storeOf(t, db, adapter.ProductImages), adapter.GetParams{Key: key, StoreID: 3})
		got := r.Get("label").Text() + " " + r.Get("position").Text() + " " + r.Get("exclude").Text() + " " + strings.Join(r.Get("types").Texts(), ",")
		if got != want {
			t.Errorf("image %d: %q, want %q", key, got, want)
		}
	}
}

// TestSavesSetUpdatedAt checks that every save sets updated_at of the product, and that a
// refused save does not.
func TestSavesSetUpdatedAt(t *testing.T) {
	sqltest.EachEngine(t, testSavesSetUpdatedAt)
}

func testSavesSetUpdatedAt(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	images := storeOf(t, db, adapter.ProductImages)
	var key adapter.Key
	for _, c := range []struct {
		name    string
		write   func() error
		refused bool
	}{
		{"product", func() error {
			return adaptertest.Update(t, storeOf(t, db, adapter.Products), 1, 0, nil)
		}, false},
		{"product at a view", func() error {
			return adaptertest.Update(t, storeOf(t, db, adapter.Products), 1, 2, nil)
		}, false},
		{"new image", func() (err error) { key, err = addImage(t, db, "a/b/c.gif", "x", nil); return err }, false},
		{"image", func() error { return adaptertest.Update(t, images, key, 1, nil) }, false},
		{"image removed at a view", func() error {
			return adaptertest.Update(t, images, key, 1, attrs{"removed": 1})
		}, false},
		{"image deleted", func() error { return images.Delete(t.Context(), &adapter.DeleteParams{Key: key}) }, false},
		{"website", func() (err error) { key, err = assign(t, db, adapter.ProductWebsites, "website_id", 2); return err }, false},
		{"the same website", func() (err error) { _, err = assign(t, db, adapter.ProductWebsites, "website_id", 2); return err }, true},
		{"website gone", func() error {
			return storeOf(t, db, adapter.ProductWebsites).Delete(t.Context(), &adapter.DeleteParams{Key: key})
		}, false},
		{"category", func() (err error) {
			key, err = assign(t, db, adapter.ProductCategories, "category_id", 6)
			return err
		}, false},
		{"category gone", func() error {
			return storeOf(t, db, adapter.ProductCategories).Delete(t.Context(), &adapter.DeleteParams{Key: key})
		}, false},
		{"refused", func() error {
			return adaptertest.Update(t, storeOf(t, db, adapter.Products), 1, 0, attrs{"price": "x"})
		}, true},
	} {
		const long = "2012-01-01 00:00:00"
		execute(t, db, "UPDATE product SET updated_at = '"+long+"' WHERE entity_id = 1")
		if err := c.write(); (err != nil) != c.refused {
			t.Fatalf("%s: %v", c.name, err)
		}
		r, err := db.records.Products.Get(t.Context(), &adapter.GetParams{Key: 1})
		if err != nil || (r.Get("updated_at").Text() == long) != c.refused || r.Get("created_at").Text() != long {
			t.Errorf("%s: updated at %s, %v", c.name, r.Get("updated_at").Text(), err)
		}
	}
}

// assign assigns product 1 to a website or a category.
func assign(t *testing.T, db *DB, r adapter.Resource, target string, id int) (adapter.Key, error) {
	t.Helper()
	return storeOf(t, db, r).Create(t.Context(), &adapter.CreateParams{Record: attrs{"product_id": 1, target: id}.Record(db.records.Table(r).Schema)})
}

// TestSavePreparesStatements checks that the statements of a save stay prepared, so
// that the next save of the same kind adds none.
func TestSavePreparesStatements(t *testing.T) {
	sqltest.EachEngine(t, testSavePreparesStatements)
}

func testSavePreparesStatements(t *testing.T, e sqltest.Engine) {
	var watched sqltest.Statements
	db := OpenWith(t, Options{DSN: NewDemo(t, e), Wrap: watched.Wrap})
	save := func(name string) {
		t.Helper()
		if err := adaptertest.Update(t, storeOf(t, db, adapter.Products), 1, 2, attrs{"name": name, "price": "3.0000"}); err != nil {
			t.Fatal(err)
		}
	}
	save("one")
	execute(t, db, "UPDATE product SET price = 1 WHERE entity_id = 1")
	save("two")
	_, before := watched.Take()
	execute(t, db, "UPDATE product SET price = 1 WHERE entity_id = 1")
	save("three")
	_, after := watched.Take()
	if e.Name == "mariadb" { // its driver prepares uncached statements each time
		after = slices.DeleteFunc(after, func(text string) bool { return strings.Contains(text, " product_value ") })
	}
	if len(before) == 0 || len(after) != 0 {
		t.Errorf("%d statements prepared, then %q", len(before), after)
	}
}

// TestProductsThroughViews writes products through a view of one table, which servers
// can update. On SQLite the view would need triggers.
func TestProductsThroughViews(t *testing.T) {
	for _, e := range sqltest.Engines() {
		if e.Name != "sqlite" {
			t.Run(e.Name, func(t *testing.T) { testProductsThroughViews(t, openWithStoreViewValues(t, e)) })
		}
	}
}

func testProductsThroughViews(t *testing.T, db *DB) {
	execute(t, db, "ALTER TABLE product RENAME TO article", "CREATE VIEW product AS SELECT * FROM article")
	r := attrs{"attribute_set_id": 4, "type_id": "simple", "sku": "through", "name": "N"}.Record(db.records.Products.Table.Schema)
	key, err := storeOf(t, db, adapter.Products).Create(t.Context(), &adapter.CreateParams{Record: r})
	if err != nil {
		t.Fatal(err)
	}
	for level, name := range map[int64]string{0: "Default", 2: "View"} {
		if err := adaptertest.Update(t, storeOf(t, db, adapter.Products), key, level, attrs{"name": name}); err != nil {
			t.Errorf("Update at %d: %v", level, err)
		}
		if got, err := db.records.Products.Get(t.Context(), &adapter.GetParams{Key: key, StoreID: level}); err != nil || got.Get("name").Text() != name {
			t.Errorf("at %d: %q, %v", level, got.Get("name").Text(), err)
		}
	}
	if err := storeOf(t, db, adapter.Products).Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
		t.Error(err)
	}
}
