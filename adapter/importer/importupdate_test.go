package importer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// notedImport returns when the last import of everything began.
func notedImport(t *testing.T, s *apptest.Imported) time.Time {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: s.Commands.Get("PORTICO_SQL_DSN")})
	defer func() { _ = db.Close() }()
	text, _, err := db.Evidence().Last(t.Context(), "import")
	if err != nil {
		t.Fatal(err)
	}
	var last plan.Import
	if apptest.Parse(t, text, &last); last.Database == "" {
		t.Fatalf("%+v", last)
	}
	return last.At
}

// contentsOf returns the rows of all tables of a SQLite store, without the tables that record the
// sources of records, keys that the store chooses, names of files, which are never forgotten, and
// credentials, which are sealed differently each time.
func contentsOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	db := apptest.OpenStore(t, "sqlite", path)
	defer func() { _ = db.Close() }()
	all := map[string][]string{}
	for _, table := range apptest.SelectTexts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'import%' AND name NOT LIKE 'oauth_%' AND name NOT LIKE '%goose%' AND name NOT IN ('media_file', 'lease', 'evidence')") {
		columns := apptest.SelectTexts(t, db, "SELECT name FROM pragma_table_info('"+table+"') WHERE name <> 'assignment_id' ORDER BY cid")
		texts := make([]string, len(columns))
		for i, column := range columns {
			texts[i] = "'" + column + "=' || quote(" + column + ")"
		}
		if rows := apptest.SelectTexts(t, db, "SELECT "+strings.Join(texts, " || ' ' || ")+" FROM "+table); len(rows) > 0 {
			slices.Sort(rows)
			all[table] = rows
		}
	}
	return all
}

// newRichShop imports the shop Rich into a new SQLite store at path.
func newRichShop(t *testing.T) (shop *apptest.Imported, path string) {
	t.Helper()
	dsn := sqltest.SQLite(t)
	return apptest.Import(t, magento1test.Rich, "", dsn), strings.TrimPrefix(dsn, "sqlite:")
}

// importAgain imports the legacy store as it is now into an empty store, whose path it returns.
func importAgain(t *testing.T, s *apptest.Imported) (again *apptest.Imported, path string) {
	t.Helper()
	again, path = s.WithStore(t)
	again.Run(t, "--media", s.Media, "all")
	return again, path
}

// again imports the current legacy store into an empty store, and returns the contents of that
// store.
func again(t *testing.T, s *apptest.Imported) map[string][]string {
	t.Helper()
	_, path := importAgain(t, s)
	return contentsOf(t, path)
}

// changeOldShop makes changes of many kinds in the legacy store, which has not been changed before.
func changeOldShop(t *testing.T, s *apptest.Imported) {
	t.Helper()
	apptest.Execute(t, s.DB,
		"UPDATE catalog_product_entity_varchar SET value = 'Renamed' WHERE entity_id = 1 AND store_id = 0 AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'name' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'catalog_product'))",
		"DELETE FROM catalog_product_entity WHERE entity_id = 41",
		"DELETE FROM cataloginventory_stock_item WHERE product_id = 41",
		// The SKU of a product that is gone is used again.
		"INSERT INTO catalog_product_entity (entity_id, entity_type_id, attribute_set_id, type_id, sku, created_at, updated_at) SELECT 1500, entity_type_id, attribute_set_id, type_id, (SELECT sku FROM (SELECT * FROM catalog_product_entity) c WHERE entity_id = 39), created_at, updated_at FROM catalog_product_entity WHERE entity_id = 1",
		"DELETE FROM catalog_product_entity WHERE entity_id = 39",
		"DELETE FROM cataloginventory_stock_item WHERE product_id = 39",
		"UPDATE cataloginventory_stock_item SET qty = 77 WHERE product_id = 2",
		"DELETE FROM catalog_category_product WHERE product_id = 2 LIMIT 1",
		"DELETE FROM catalog_product_entity_media_gallery WHERE entity_id = 45 LIMIT 1",
		"UPDATE sales_flat_order SET status = 'holded' WHERE entity_id = 1",
	)
}

// TestImportUpdates changes a legacy store after it was imported. With --update the store is
// afterwards as if the changed shop had been imported into an empty one.
func TestImportUpdates(t *testing.T) {
	t.Parallel()
	shop, path := newRichShop(t)
	first := contentsOf(t, path)

	unchanged := shop.Run(t, "--media", shop.Media, "--update", "all")
	for _, r := range unchanged.Resources {
		if whole := slices.Contains([]string{"websites", "directory", "customer-groups", "taxes", "categories"}, r.Resource); r.UnchangedRanges == 0 || !whole && r.Read > 0 || len(r.Skipped) > 0 {
			t.Errorf("an unchanged shop: %+v", r)
		}
	}
	if got := unchanged.Counts(); len(got) > 0 {
		t.Errorf("an unchanged shop: %v", got)
	}

	noted := notedImport(t, shop)
	changeOldShop(t, shop)
	dry := shop.Run(t, "--media", shop.Media, "--update", "--dry-run", "all")
	if difference := cmp.Diff(first, contentsOf(t, path)); difference != "" {
		t.Errorf("a dry run has changed (-before +after)\n%s", difference)
	}
	kept := shop.Run(t, "--media", shop.Media, "products", "stock", "orders")
	if got, want := kept.Counts(), map[string]string{"products": "0 created, 0 changed, 0 removed, 1 skipped"}; cmp.Diff(want, got) != "" {
		t.Errorf("without --update: %v, want %v", got, want)
	}
	if difference := cmp.Diff(first, contentsOf(t, path)); difference != "" {
		t.Errorf("without --update something has changed (-before +after)\n%s", difference)
	}
	if at := notedImport(t, shop); !at.Equal(noted) {
		t.Errorf("the import of %v is noted as one of everything", at)
	}
	done := shop.Run(t, "--media", shop.Media, "--update", "all")
	if at := notedImport(t, shop); !at.After(noted) {
		t.Errorf("the last import of everything is noted as one of %v", at)
	}
	want := map[string]string{
		"products": "1 created, 2 changed, 2 removed, 0 skipped", "images": "0 created, 2 changed, 0 removed, 0 skipped",
		"stock": "0 created, 1 changed, 2 removed, 0 skipped", "orders": "0 created, 1 changed, 0 removed, 0 skipped",
	}
	if difference := cmp.Diff(want, done.Counts()); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	// It cannot know that the SKU will be free.
	want["products"], want["images"] = "0 created, 2 changed, 2 removed, 1 skipped", "0 created, 1 changed, 0 removed, 1 skipped"
	if difference := cmp.Diff(want, dry.Counts()); difference != "" {
		t.Errorf("dry: want -, got +:\n%s", difference)
	}
	after := contentsOf(t, path)
	if difference := cmp.Diff(again(t, shop), after); difference != "" {
		t.Errorf("the store is not as if it was filled from the changed shop (-that +this)\n%s", difference)
	}
}

// TestImportStops checks when an import stops before it changes anything.
func TestImportStops(t *testing.T) {
	t.Parallel()
	shop, path := newRichShop(t)
	first := contentsOf(t, path)
	other, _ := magento1test.NewShop(t, magento1test.Demo, "")
	copied := func(columns ...string) (statements, back []string) {
		for _, name := range columns {
			statements = append(statements, "CREATE TABLE kept_"+name+" LIKE "+name, "INSERT INTO kept_"+name+" SELECT * FROM "+name)
			back = append(back, "DELETE FROM "+name, "INSERT INTO "+name+" SELECT * FROM kept_"+name, "DROP TABLE kept_"+name)
		}
		return statements, back
	}
	for _, c := range []struct {
		name      string
		tables    []string // that the statements change
		change    []string
		arguments []string
		want      string // the error
	}{
		{"another shop", nil, nil, []string{"--from", other, "--update", "all"}, "this is another database"},
		{"another shop, without --update", nil, nil, []string{"--from", other, "all"}, "this is another database"},
		{"an empty table", []string{"catalog_product_entity"}, []string{"DELETE FROM catalog_product_entity"}, []string{"--update", "all"}, "no longer has all 45 products"},
		{"an empty table of a part that is read whole", []string{"customer_group"}, []string{"DELETE FROM customer_group"}, []string{"--update", "customer-groups"}, "no longer has all 5 customer_groups"},
		{"one in ten", []string{"sales_flat_order"}, []string{"DELETE FROM sales_flat_order WHERE entity_id = 1"}, []string{"--update", "orders"}, "no longer has 1 of 12 orders that were imported from it, which are more than 5 %: nothing was changed. If that is right, add --allow-removals 1"},
		{"more than is allowed", []string{"sales_flat_order"}, []string{"DELETE FROM sales_flat_order WHERE entity_id < 4"}, []string{"--update", "--allow-removals", "2", "orders"}, "no longer has 3 records that were imported from it, and --allow-removals allows to remove 2"},
		{"an older copy", []string{"sales_flat_order"}, []string{"DELETE FROM sales_flat_order WHERE entity_id >= 11", "ALTER TABLE sales_flat_order AUTO_INCREMENT = 11"}, []string{"--update", "products"}, "looks like an older copy of itself: the last id of orders has gone back"},
		{"nothing to allow", nil, nil, []string{"--allow-removals", "2", "orders"}, "--allow-removals needs --update"},
		{"a name that cannot be one", nil, nil, []string{"--source", "a b", "orders"}, "--source must have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			save, back := copied(c.tables...)
			magento1test.Break(t, shop.DB, append(save, c.change...)...) // keeps rows that refer to these
			defer magento1test.Break(t, shop.DB, back...)
			from := shop.From
			if slices.Contains(c.arguments, "--from") {
				from = nil
			}
			_, _, err := shop.Commands.Run(t, append(append([]string{"import", "--config", shop.Config}, from...), c.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if difference := cmp.Diff(first, contentsOf(t, path)); difference != "" {
				t.Errorf("it has changed (-before +after)\n%s", difference)
			}
		})
	}
	t.Run("the owner allows it", func(t *testing.T) {
		apptest.Execute(t, shop.DB, "DELETE FROM sales_flat_order WHERE entity_id < 4")
		if got, want := shop.Run(t, "--update", "--allow-removals", "3", "orders").Counts(), map[string]string{"orders": "0 created, 0 changed, 3 removed, 0 skipped"}; cmp.Diff(want, got) != "" {
			t.Errorf("%v, want %v", got, want)
		}
	})
	t.Run("what clients write here stays", func(t *testing.T) {
		apptest.Execute(t, shop.DB, "DELETE FROM catalog_product_entity WHERE entity_id > 3", "UPDATE catalog_product_entity SET sku = 'other' WHERE entity_id = 1")
		before := contentsOf(t, path)
		inFront := *shop
		inFront.Commands = shop.Commands.With("PORTICO_LEGACY_URL=http://old.example")
		done := inFront.Run(t, "--update", "products")
		if got := done.Counts(); len(got) > 0 || len(done.Notes) != 1 || !strings.Contains(done.Notes[0], "Portico answers the writes of products") {
			t.Errorf("%v, notes %q", got, done.Notes)
		}
		if difference := cmp.Diff(before, contentsOf(t, path)); difference != "" {
			t.Errorf("it has changed (-before +after)\n%s", difference)
		}
	})
	t.Run("the shop has moved to another server", func(t *testing.T) {
		var source string
		for _, s := range importSources(t, path) {
			source = s.Name
		}
		if done := (&apptest.Imported{Config: shop.Config, Commands: shop.Commands}).Run(t, "--from", other, "--source", source, "--dry-run", "--update", "--allow-removals", "1000", "products"); done.Source != source {
			t.Errorf("the source is %s, want %s", done.Source, source)
		}
	})
}

// TestImportNotesSource checks the import log's entry of a legacy store, and that the store assigns
// no key that the legacy store has assigned.
func TestImportNotesSource(t *testing.T) {
	t.Parallel()
	from, old := magento1test.NewShop(t, magento1test.Demo, "m_")
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	apptest.Execute(t, old, "ALTER TABLE m_catalog_product_entity AUTO_INCREMENT = 5000")
	var dry apptest.Report
	apptest.Parse(t, commands.MustRun(t, "import", "--from", from, "--prefix", "m_", "--json", "--dry-run", "all"), &dry)
	if dry.Credentials == nil || dry.Credentials.Tokens.Added != 3 || dry.Credentials.Admins.Added != 1 {
		t.Errorf("a dry run of everything would import the credentials %+v", dry.Credentials)
	}
	if sources := importSources(t, path); len(sources) != 0 {
		t.Errorf("a dry run notes %+v", sources)
	}
	commands.MustRun(t, "import", "--from", from, "--prefix", "m_", "all")
	sources := importSources(t, path)
	if len(sources) != 1 {
		t.Fatalf("%+v", sources)
	}
	if s := sources[0]; s.Server == "" || s.ServerVersion == "" || s.Database == "" || s.Prefix != "m_" || s.GivenKeys[adapter.Products] != 4999 {
		t.Errorf("%+v", s)
	}
	store := apptest.OpenStore(t, "sqlite", path)
	if got := apptest.SelectTexts(t, store, "SELECT seq FROM sqlite_sequence WHERE name = 'product'"); !slices.Equal(got, []string{"4999"}) {
		t.Errorf("the last key of products is %v, want 4999", got)
	}
}

// importSources returns the entries in a SQLite store's import log for the shops that it was filled
// from.
func importSources(t *testing.T, path string) []coordination.ImportSource {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: "sqlite:" + path})
	defer func() { _ = db.Close() }()
	all, err := db.Imports().Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
