//go:build linux

package importer_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportAlone starts an import while another one runs, and after that was killed.
func TestImportAlone(t *testing.T) {
	t.Parallel()
	store := strings.TrimPrefix(sqltest.SQLite(t), "sqlite:")
	shop := apptest.NewImported(t, magento1test.Demo, "", "sqlite:"+store)
	first := startImport(t, shop, store, "--rate", "100")
	db := apptest.OpenStore(t, "sqlite", store)
	testenv.Await(t, "the import to begin", func() bool {
		noted := 0
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_source").Scan(&noted)
		return err == nil && noted > 0
	})
	shop.Run(t, "--dry-run", "websites")
	arguments := append([]string{"import", "--config", shop.Config, "websites"}, shop.From...)
	if _, _, err := shop.Commands.Run(t, arguments...); err == nil || !strings.Contains(err.Error(), "another import into this store is running") {
		t.Errorf("%v, want the second import refused", err)
	}
	first.Signal(t, os.Kill)
	<-first.Ended
	shop.Commands.MustRun(t, arguments...)
}

// TestImportLosesConnection cuts each connection to the legacy store after some bytes. The import
// reads the lost rows again. If they are too many for one connection, it fails with a clear
// message, and the next import succeeds as if nothing had happened.
func TestImportLosesConnection(t *testing.T) {
	t.Parallel()
	path := strings.TrimPrefix(sqltest.SQLite(t), "sqlite:")
	shop := apptest.NewImported(t, magento1test.Rich, "", "sqlite:"+path)
	apptest.Execute(t, shop.DB,
		"UPDATE catalog_product_entity_text SET value = REPEAT('d', 60000) WHERE entity_id = 45 LIMIT 1",
		"INSERT INTO sales_flat_order_status_history (parent_id, comment) SELECT 12, REPEAT('c', 60000) FROM seq_1_to_4")
	shop.Run(t, "--media", shop.Media, "all")
	want := contentsOf(t, path)
	config, err := mysql.ParseDSN(strings.TrimPrefix(shop.From[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	line := apptest.NewSlowProxy(t, config.Addr)
	through := strings.Replace(shop.From[1], config.Addr, line.Listen, 1)
	type cut struct {
		part      string // in which the import ends
		kilobytes int    // of each connection
		here      []string
	}
	for _, c := range testenv.Rows(t, []cut{
		{"directory", 15, []string{"website", "store"}},
		{"products", 60, []string{"website", "country", "region", "customer_group", "category"}},
		{"orders", 200, []string{"product", "product_image", "stock_item", "customer", "customer_address"}},
	}, 3) {
		t.Run(c.part, func(t *testing.T) {
			shop, store := shop.WithStore(t)
			line.CutAfter(c.kilobytes << 10)
			_, _, err := shop.Commands.Run(t, "import", "--config", shop.Config, "--from", through, "--media", shop.Media, "all")
			line.Reset()
			if err == nil || !strings.HasPrefix(err.Error(), c.part+": the connection to the legacy database was lost twice in a row") || !strings.HasSuffix(err.Error(), "run the command again to continue") {
				t.Fatalf("%v, want the connection lost", err)
			}
			stored := contentsOf(t, store)
			for _, table := range c.here {
				if difference := cmp.Diff(want[table], stored[table]); difference != "" || len(want[table]) == 0 {
					t.Errorf("%s is not complete (-want +got):\n%s", table, difference)
				}
			}
			shop.Run(t, "--media", shop.Media, "all")
			if difference := cmp.Diff(want, contentsOf(t, store)); difference != "" {
				t.Errorf("the store differs from that of an import without interruption (-that +this)\n%s", difference)
			}
		})
	}
}
