package app

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// An importedShop is a store that was filled from an old shop by the commands.
type importedShop struct {
	old     *sql.DB
	from    []string // the flags that name the old shop
	config  string   // the file that "import config" has printed
	media   string   // the media folder
	console console  // of the commands: with the store
}

// importShop imports all of a shop into the database of a DSN.
func importShop(t *testing.T, shop magento1test.Shop, prefix, dsn string) *importedShop {
	t.Helper()
	s := oldShop(t, shop, prefix, dsn)
	s.run(t, "--media", s.media, "all")
	return s
}

// oldShop makes a shop that is still to be imported into the database of a DSN.
func oldShop(t *testing.T, shop magento1test.Shop, prefix, dsn string) *importedShop {
	t.Helper()
	from, old := magento1test.NewShop(t, shop, prefix)
	return shopAt(t, from, old, prefix, dsn)
}

// shopAt is oldShop for a shop that exists.
func shopAt(t *testing.T, from string, old *sql.DB, prefix, dsn string) *importedShop {
	t.Helper()
	s := &importedShop{
		old: old, from: []string{"--from", from, "--prefix", prefix}, config: filepath.Join(t.TempDir(), "portico.yaml"), media: mediaOf(t),
		console: console{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_AUTH_SECRET_KEY=" + secretKey},
	}
	printed := s.console.mustRun(t, append([]string{"import", "config"}, s.from...)...)
	if err := os.WriteFile(s.config, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.console.mustRun(t, "config", "--config", s.config)
	return s
}

// withStore returns the shop with another SQLite store, which is empty, and the store's path. Its
// media folder has the same path with -media.
func (s *importedShop) withStore(t *testing.T) (other *importedShop, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	shop := *s
	shop.console = s.console.with("PORTICO_SQL_DSN=sqlite:"+path, "PORTICO_SQL_MEDIA_DIR="+path+"-media")
	return &shop, path
}

// mediaOf returns a media folder with the images of the shop Rich.
func mediaOf(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "catalog", "product"), magento1test.Media(t)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// run runs "portico import" for the shop, and returns its report.
func (s *importedShop) run(t *testing.T, arguments ...string) (report printedRecords) {
	t.Helper()
	parse(t, s.console.mustRun(t, append(append([]string{"import", "--json", "--config", s.config}, s.from...), arguments...)...), &report)
	return report
}
