package app

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/transfer"
)

// part returns what a report says of a part.
func (r printedRecords) part(t *testing.T, p magento1.Part) *transfer.Counts {
	t.Helper()
	for _, one := range r.Resources {
		if one.Resource == string(p) {
			return one
		}
	}
	t.Fatalf("the report has no %s", p)
	return nil
}

// productAttribute selects the id of an attribute of products.
func productAttribute(code string) string {
	return "(SELECT attribute_id FROM eav_attribute WHERE attribute_code = '" + code + "' AND entity_type_id = 4)"
}

// TestImportMakesURLKeys imports products that other programs have stored without a url_key. They
// get the one that the old shop would make from the name (products 6), if there is one.
func TestImportMakesURLKeys(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	shop := oldShop(t, magento1test.Rich, "", dsn)
	names, keys := "attribute_id = "+productAttribute("name"), "attribute_id = "+productAttribute("url_key")
	execute(t, shop.old,
		"DELETE FROM catalog_product_entity_varchar WHERE entity_id IN (1, 4) AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = NULL WHERE entity_id = 2 AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = '' WHERE entity_id = 3 AND "+keys,
		"UPDATE catalog_product_entity_varchar SET value = 'Some Key/With.dots' WHERE entity_id = 2 AND store_id = 0 AND "+names,
		"UPDATE catalog_product_entity_varchar SET value = '中' WHERE entity_id = 4 AND "+names)
	want := []*transfer.Skipped{{Reason: "it has no url_key, which is made from its name", Count: 3, Keys: []string{"product 1", "product 2", "product 3"}}}
	if got := shop.run(t, "websites", "customer-groups", "categories", "products").part(t, magento1.Products); cmp.Diff(want, got.LeftOut) != "" {
		t.Errorf("want -, got +:\n%s", cmp.Diff(want, got.LeftOut))
	}
	for key, want := range map[int64]string{1: "steel-kettle", 2: "some-key-with-dots", 4: ""} {
		if got := productOf(t, dsn, key).Get("url_key").Text(); got != want {
			t.Errorf("product %d has the url_key %q, want %q", key, got, want)
		}
	}
	if got := shop.run(t, "--update", "products").counts(); len(got) > 0 {
		t.Errorf("another import changes %v", got)
	}
}

// productOf returns a product of a store.
func productOf(t *testing.T, dsn string, key int64) adapter.Record {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	store, err := db.Adapter().Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	product, err := store.Get(t.Context(), &adapter.GetParams{Key: adapter.Key(key)})
	if err != nil {
		t.Fatal(err)
	}
	return product
}
