package sqlstore

import (
	"context"
	"io/fs"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
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
