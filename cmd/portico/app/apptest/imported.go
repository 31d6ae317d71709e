package apptest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests"
)

// An Imported is a store that was filled from a legacy store by the commands.
type Imported struct {
	DB       *sql.DB     // the database of the legacy store
	From     []string    // the flags that name the legacy store
	Config   string      // the file that "import config" has printed
	Media    string      // the media folder
	Commands Environment // of the commands: with the store
}

// Import imports all of a shop into the database of a DSN.
func Import(t testing.TB, shop magento1test.Shop, prefix, dsn string) *Imported {
	t.Helper()
	s := NewImported(t, shop, prefix, dsn)
	s.Run(t, "--media", s.Media, "all")
	return s
}

// NewImported creates a legacy store that is yet to be imported into the database of a DSN.
func NewImported(t testing.TB, shop magento1test.Shop, prefix, dsn string) *Imported {
	t.Helper()
	from, old := magento1test.NewShop(t, shop, prefix)
	return NewImportedAt(t, from, old, prefix, dsn)
}

// NewImportedAt is NewImported for an existing shop.
func NewImportedAt(t testing.TB, from string, old *sql.DB, prefix, dsn string) *Imported {
	t.Helper()
	s := &Imported{
		DB: old, From: []string{"--from", from, "--prefix", prefix}, Config: filepath.Join(t.TempDir(), "portico.yaml"), Media: MediaOf(t),
		Commands: Environment{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_AUTH_SECRET_KEY=" + SecretKey},
	}
	printed := s.Commands.MustRun(t, append([]string{"import", "config"}, s.From...)...)
	if err := os.WriteFile(s.Config, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Commands.MustRun(t, "config", "--config", s.Config)
	return s
}

// WithStore returns the shop with another SQLite store, which is empty, and the store's path. Its
// media folder has the same path with -media.
func (s *Imported) WithStore(t testing.TB) (other *Imported, path string) {
	t.Helper()
	path = strings.TrimPrefix(sqltest.SQLite(t), "sqlite:")
	shop := *s
	shop.Commands = s.Commands.With("PORTICO_SQL_DSN=sqlite:"+path, "PORTICO_SQL_MEDIA_DIR="+path+"-media")
	return &shop, path
}

// MediaOf returns a media folder with the images of the shop Rich.
func MediaOf(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "catalog", "product"), magento1test.Media(t)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Run runs "portico import" for the shop, and returns its report.
func (s *Imported) Run(t testing.TB, arguments ...string) (report Report) {
	t.Helper()
	Parse(t, s.Commands.MustRun(t, append(append([]string{"import", "--json", "--config", s.Config}, s.From...), arguments...)...), &report)
	return report
}

// A Report is the JSON output of "portico import".
type Report struct {
	importer.Report
	AtBackend int `json:"at_backend"` // number of records that a backend has got, with their parts
}

// Counts returns the counts of each part as text.
func (r Report) Counts() map[string]string {
	all := map[string]string{}
	for _, one := range r.Resources {
		if one.Stored+one.Replaced+one.Removed+one.SkippedCount() > 0 {
			all[one.Resource] = fmt.Sprintf("%d created, %d changed, %d removed, %d skipped", one.Stored, one.Replaced, one.Removed, one.SkippedCount())
		}
	}
	return all
}

// Target serves the store in the dialect magento until the end of the test.
func (s *Imported) Target(t testing.TB) contracttests.Target {
	t.Helper()
	// The answers name the server's own address, not the public one of the legacy store.
	other := *s
	other.Commands = s.Commands.With("PORTICO_PUBLIC_URL=", "PORTICO_STORE_LINK_URL=", "PORTICO_STORE_MEDIA_URL=", "PORTICO_STORE_SECURE_MEDIA_URL=")
	return other.TargetAsConfigured(t)
}

// TargetAsConfigured is Target with the public address of the legacy store.
func (s *Imported) TargetAsConfigured(t testing.TB) contracttests.Target {
	t.Helper()
	return targetOf(t, Start(t, s.Commands, "--config", s.Config))
}

// targetOf returns a server as a target of the contract suite.
func targetOf(t testing.TB, p *Process) contracttests.Target {
	t.Helper()
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	return contracttests.Target{BaseURL: p.Contract, Complete: true, Dialect: contracttests.Magento, Credentials: credentials}
}
