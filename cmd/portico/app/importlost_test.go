//go:build linux

package app

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestImportAlone starts an import while another one runs, and after that was killed.
func TestImportAlone(t *testing.T) {
	shop := oldShop(t, magento1test.Demo, "", "sqlite:"+filepath.Join(t.TempDir(), "unused.db"))
	store := newStoreAt(t)
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
	if _, _, err := run(t, arguments...); err == nil || !strings.Contains(err.Error(), "another import into this store is running") {
		t.Errorf("%v, want the second import refused", err)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	mustRun(t, arguments...)
}
