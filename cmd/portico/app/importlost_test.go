//go:build linux

package app

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestImportAlone starts an import while another one runs, and after that was killed.
func TestImportAlone(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store.db")
	shop := oldShop(t, magento1test.Demo, "", "sqlite:"+store)
	first := shop.start(t, store, "--rate", "100")
	db, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	await(t, "the import to begin", func() bool {
		noted := 0
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_source").Scan(&noted)
		return err == nil && noted > 0
	})
	shop.run(t, "--dry-run", "websites")
	arguments := append([]string{"import", "--config", shop.config, "websites"}, shop.from...)
	if _, _, err := shop.console.run(t, arguments...); err == nil || !strings.Contains(err.Error(), "another import into this store is running") {
		t.Errorf("%v, want the second import refused", err)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	shop.console.mustRun(t, arguments...)
}

// TestImportLosesConnection cuts each connection to the old shop after some bytes. The import
// reads again what it has lost. If that is too much for one connection, it ends with a sentence,
// and the next import ends as if nothing had happened.
func TestImportLosesConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	shop := oldShop(t, magento1test.Rich, "", "sqlite:"+path)
	execute(t, shop.old,
		"UPDATE catalog_product_entity_text SET value = REPEAT('d', 60000) WHERE entity_id = 45 LIMIT 1",
		"INSERT INTO sales_flat_order_status_history (parent_id, comment) SELECT 12, REPEAT('c', 60000) FROM seq_1_to_4")
	shop.run(t, "--media", shop.media, "all")
	want := contentsOf(t, path)
	config, err := mysql.ParseDSN(strings.TrimPrefix(shop.from[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	line := newSlowProxy(t, config.Addr)
	through := strings.Replace(shop.from[1], config.Addr, line.Listen, 1)
	for _, c := range []struct {
		part      string // in which the import ends
		kilobytes int    // of each connection
		here      []string
	}{
		{"directory", 15, []string{"website", "store"}},
		{"products", 60, []string{"website", "country", "region", "customer_group", "category"}},
		{"orders", 200, []string{"product", "product_image", "stock_item", "customer", "customer_address"}},
	} {
		t.Run(c.part, func(t *testing.T) {
			shop, store := shop.withStore(t)
			line.add(fmt.Sprintf(`{"name":"cut","type":"limit_data","stream":"downstream","attributes":{"bytes":%d}}`, c.kilobytes<<10))
			_, _, err := shop.console.run(t, "import", "--config", shop.config, "--from", through, "--media", shop.media, "all")
			line.reset()
			if err == nil || !strings.HasPrefix(err.Error(), c.part+": the connection to the legacy database was lost twice in a row") || !strings.HasSuffix(err.Error(), "run the command again to continue") {
				t.Fatalf("%v, want the connection lost", err)
			}
			stored := contentsOf(t, store)
			for _, table := range c.here {
				if difference := cmp.Diff(want[table], stored[table]); difference != "" || len(want[table]) == 0 {
					t.Errorf("%s is not complete (-want +got):\n%s", table, difference)
				}
			}
			shop.run(t, "--media", shop.media, "all")
			if difference := cmp.Diff(want, contentsOf(t, store)); difference != "" {
				t.Errorf("the store differs from that of an import without interruption (-that +this)\n%s", difference)
			}
		})
	}
}
