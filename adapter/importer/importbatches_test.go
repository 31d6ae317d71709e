package importer_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestImportBatches imports products in several transactions, two at a time. Of two products with the
// same SKU in neighbouring batches, the first is stored, and so are all others of the second one's batch.
func TestImportBatches(t *testing.T) {
	const products = 4*importer.BatchSize + 10
	from, old := magento1test.NewShop(t, magento1test.Demo, "")
	if err := magento1test.Grow(t.Context(), old, "", magento1test.Size{Products: products}); err != nil {
		t.Fatal(err)
	}
	taken, refused := magento1test.FirstGrown+importer.BatchSize, magento1test.FirstGrown+2*importer.BatchSize
	apptest.Execute(t, old, fmt.Sprintf("UPDATE catalog_product_entity SET sku = 'twice' WHERE entity_id IN (%d, %d)", taken, refused))
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		shop := apptest.NewImportedAt(t, from, old, "", e.NewDSN(t))
		got := partOf(t, shop.Run(t, "websites", "categories", "products"), magento1.Products)
		want := []*importer.Skipped{{Reason: "another product has the SKU", Count: 1, IDs: []int64{int64(refused)}}}
		if difference := cmp.Diff(want, got.Skipped); difference != "" || got.Stored != got.Read-1 || got.Read <= products {
			t.Errorf("%d of %d products are stored; want -, got +:\n%s", got.Stored, got.Read, difference)
		}
		again := partOf(t, shop.Run(t, "--update", "products"), magento1.Products)
		if difference := cmp.Diff(want, again.Skipped); difference != "" || again.Stored > 0 || again.Replaced > 0 || again.UnchangedRanges == 0 {
			t.Errorf("%d products are stored, %d replaced, %d ranges unchanged; want -, got +:\n%s", again.Stored, again.Replaced, again.UnchangedRanges, difference)
		}
	})
}
