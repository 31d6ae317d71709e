package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportStatements checks that the number of statements of an import does not depend on
// the number of products that are new or unchanged.
func TestImportStatements(t *testing.T) {
	const more = 8 // as one statement looks for at most 128 keys, and there are 200 images
	sqltest.EachEngineFullSuite(t, func(t *testing.T, e sqltest.Engine) {
		var statements sqltest.Statements
		db := OpenWith(t, Options{DSN: NewDemo(t, e), SecretKey: SecretKey, Wrap: statements.Wrap})
		shop := importedShop{db.records.Schemas}
		count := func(batch []adapter.Aggregate) int {
			statements.Take()
			if _, err := db.Adapter().Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old"}); err != nil {
				t.Fatal(err)
			}
			executed, _ := statements.Take()
			return len(executed)
		}
		withoutKeyless := func(first int) []adapter.Aggregate { // MariaDB returns the keys of these one by one
			batch := shop.batch(first)
			for i := range batch {
				if !batch[i].PartsOnly {
					batch[i].Parts = nil
				}
			}
			return batch
		}
		few, many := withoutKeyless(1000), withoutKeyless(2000)
		few = append(append(few[:10:10], few[benchBatch:benchBatch+10]...), few[2*benchBatch:2*benchBatch+10]...)
		created, equal := count(few), count(few)
		if got := count(many); got > created+more {
			t.Errorf("%d statements create %d products, %d create 10", got, benchBatch, created)
		}
		if got := count(many); got > equal+more {
			t.Errorf("%d statements compare %d products, %d compare 10", got, benchBatch, equal)
		}
	})
}

// TestImportChecksSKULast imports a product while another transaction has the lock of SKUs and stores a
// product with the same one. The import waits for it when it has stored its own.
func TestImportChecksSKULast(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		var statements sqltest.Statements
		db := OpenWith(t, Options{DSN: NewDemo(t, e), SecretKey: SecretKey, Wrap: statements.Wrap})
		statements.Take()
		err := whileLocked(t, db, []string{
			"UPDATE write_lock SET taken = taken + 0 WHERE name = 'sku'",
			"INSERT INTO product (attribute_set_id, type_id, sku, sku_folded, created_at, updated_at) VALUES (4, 'simple', 'one', 'ONE', '2012-01-01', '2012-01-01')",
		}, func() error { return importSKUs(t, db, "900 One") })
		if !isSKUConflict(err) {
			t.Errorf("%v, want a conflict of sku", err)
		}
		executed, _ := statements.Take()
		stored := slices.IndexFunc(executed, func(s string) bool { return strings.HasPrefix(s, "INSERT INTO product (entity_id") })
		locked := slices.IndexFunc(executed, func(s string) bool { return strings.HasPrefix(s, "UPDATE write_lock SET taken = taken + 1") })
		if stored < 0 || locked < stored {
			t.Errorf("statement %d stores the product, %d locks SKUs", stored, locked)
		}
	})
}

// whileLocked runs statements in a transaction, which it ends when write waits for it, and returns the error of write.
func whileLocked(t *testing.T, db *DB, statements []string, write func() error) error {
	t.Helper()
	tx, err := db.records.Writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range statements {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- write() }()
	waiting := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	if db.records.Engine.System != "postgresql" {
		// of all databases; the table of transactions stays the same while it is read more than ten times a second
		waiting = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'"
	}
	testenv.Await(t, "a transaction that waits", func() bool { return selected(t, db, waiting)[0] > 0 })
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return testenv.Receive(t, "the end of the write", ended)
}

// selected returns the numbers that a query selects.
func selected(t *testing.T, db *DB, query string) []int64 {
	t.Helper()
	numbers, err := engine.SelectColumn[int64](t.Context(), engine.QueryOf(db.records.Readers.QueryContext), query)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// importSKUs imports products, each given by its id and SKU; "gone" is the SKU of one that is removed.
func importSKUs(t *testing.T, db *DB, products ...string) error {
	t.Helper()
	var batch []adapter.Aggregate
	for _, one := range products {
		var id int
		var sku string
		if _, err := fmt.Sscan(one, &id, &sku); err != nil {
			t.Fatal(err)
		}
		record := importedShop{db.records.Schemas}.record(adapter.Products, attrs{"entity_id": id, "attribute_set_id": 4, "type_id": "simple", "sku": sku})
		batch = append(batch, adapter.Aggregate{Record: record, Gone: sku == "gone"})
	}
	_, err := db.Adapter().Import(t.Context(), batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting})
	return err
}

func isSKUConflict(err error) bool {
	fault, ok := errors.AsType[*adapter.Error](err)
	return ok && fault.Kind == adapter.Conflict && fault.Field == "sku"
}

// TestImportRepeatsProducts imports batches that have a product several times. Only its last SKU counts.
func TestImportRepeatsProducts(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := OpenWith(t, Options{DSN: NewDemo(t, e), SecretKey: SecretKey})
		for _, c := range []struct {
			products []string
			conflict bool
		}{
			{[]string{"900 a", "900 b", "900 a"}, false},
			{[]string{"910 c", "911 d", "910 e", "911 c"}, false},
			{[]string{"920 f", "921 g", "920 gone", "921 f"}, false},
			{[]string{"910 d", "911 e"}, false}, // 911 gets the SKU that 910 gives up
			{[]string{"930 h", "931 i", "930 i"}, true},
			{[]string{"940 C", "911 c"}, true},
			{[]string{"950 a"}, true},
		} {
			if err := importSKUs(t, db, c.products...); isSKUConflict(err) != c.conflict || err != nil && !c.conflict {
				t.Errorf("%v: %v", c.products, err)
			}
		}
	})
}

// TestImportedBytes imports an image twice, first without its bytes.
func TestImportedBytes(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := openWithStoreViewValues(t, e)
		shop := importedShop{db.records.Schemas}
		one := adapter.Aggregate{
			Record: shop.record(adapter.Products, attrs{"entity_id": 3}), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages},
			Parts: []adapter.Record{shop.record(adapter.ProductImages, attrs{"id": 900, "product_id": 3, "file": "N/e/New.PNG"})},
		}
		var content []byte
		o := adapter.ImportOptions{Existing: adapter.ReplaceExisting, Content: func(context.Context, string) ([]byte, error) {
			if content == nil {
				return nil, fs.ErrNotExist
			}
			return content, nil
		}}
		for _, want := range []struct {
			content []byte
			outcome adapter.ImportOutcome
			media   string
		}{
			{nil, adapter.ImportChanged, "not_found"},
			{nil, adapter.ImportEqual, "not_found"},
			{[]byte("bytes"), adapter.ImportChanged, "image/png bytes"},
			{[]byte("others"), adapter.ImportEqual, "image/png bytes"},
		} {
			content = want.content
			done, err := db.Adapter().Import(t.Context(), []adapter.Aggregate{one}, o)
			if err != nil || done[0].Outcome != want.outcome {
				t.Errorf("with %q: %v, %v", want.content, done, err)
			}
			if got := mediaText(t, db, "N/e/New.PNG"); got != want.media {
				t.Errorf("with %q: %q, want %q", want.content, got, want.media)
			}
		}
	})
}

// TestTrialImport tries imports. One that would fail fails in the same way, and one that would not
// changes nothing.
func TestTrialImport(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := OpenWith(t, Options{DSN: NewDemo(t, e), SecretKey: SecretKey})
		shop := importedShop{db.records.Schemas}
		group := func(name string) []adapter.Aggregate {
			return []adapter.Aggregate{{Record: shop.record(adapter.CustomerGroups, attrs{"group_id": 900, "name": name, "tax_class_id": 3})}}
		}
		trial := db.Adapter().Trial()
		if done, err := trial.Import(t.Context(), group("new"), adapter.ImportOptions{Source: "old"}); err != nil || done[0].Outcome != adapter.ImportCreated {
			t.Errorf("%+v, %v", done, err)
		}
		if noted, err := db.Adapter().Noted(t.Context(), "old", adapter.CustomerGroups, 0, 10); err != nil || len(noted) > 0 {
			t.Errorf("%v, %v; want no record", noted, err)
		}
		broken := group("new")
		broken[0].Record.Set("group_id", adapter.IntegerValue(-1))
		_, err := db.Adapter().Import(t.Context(), broken, adapter.ImportOptions{})
		if _, tried := trial.Import(t.Context(), broken, adapter.ImportOptions{}); err == nil || tried == nil || tried.Error() != err.Error() {
			t.Errorf("the trial fails with %v, the import with %v", tried, err)
		}
	})
}
