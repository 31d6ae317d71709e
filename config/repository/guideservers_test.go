package repository

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// guides returns the guides with the servers that each expects.
func guides() []guide {
	return []guide{
		{"README.md", false, nil},
		{"adapter/README.md", true, startBackend},
		{"cmd/portico/MIGRATION.md", false, startLegacyShop},
		{"cmd/portico/OPERATIONS.md", false, startDatabaseAndRedis},
		{"cmd/portico/PROXIES.md", false, startDatabaseAndRedis},
		{"config/README.md", false, nil},
		{"contracttests/README.md", true, nil},
		{".github/CONTRIBUTING.md", false, nil},
	}
}

// allGuides returns the guides, and the guide to generated clients, which runs at night.
func allGuides() []guide { return append(guides(), clientsGuide("documented")) }

// startLegacyShop starts a legacy store: its database, and a server that answers from a copy.
func startLegacyShop(t *testing.T, folder string) []string {
	dsn, _ := magento1test.NewShop(t, magento1test.Demo, "mage_")
	media := filepath.Join(folder, "media")
	if err := os.MkdirAll(filepath.Join(media, "catalog", "product"), 0o700); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "old.db"), "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey}
	command := exec.CommandContext(t.Context(), apptest.Program(t), "import", "--prefix", "mage_", "--from", dsn, "all")
	command.Env = append(apptest.WithoutSettings(os.Environ()), environ...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("portico import: %v\n%s", err, output)
	}
	old := apptest.Start(t, environ, "--dialect", "magento")
	return []string{
		"mysql:reader:PASSWORD@tcp(db.internal:3306)/magento", dsn,
		"http://old.internal", old.Contract,
		"https://shop.example", "http://127.0.0.1:8080",
		"/var/lib/portico", filepath.Join(folder, "var"), "/var/www/shop/media", media,
		// The stores of the test need no protection.
		"--rate 10 ", "--rate 0 ",
		"CONSUMER_KEY", strings.Repeat("a", 32), "CONSUMER_SECRET", strings.Repeat("b", 32),
		"ADMIN_TOKEN_SECRET", strings.Repeat("d", 32), "ADMIN_TOKEN", strings.Repeat("c", 32),
	}
}

// writeCatalog writes a data set without customers, orders and credentials, whose products
// have dates.
func writeCatalog(t *testing.T, path string) {
	t.Helper()
	file := apptest.WriteDataset(t, map[string]any{"customers": nil, "customer_addresses": nil, "orders": nil, "admins": nil, "credentials": nil})
	apptest.ChangeRecords(t, file, "products", func(records []map[string]any) {
		for _, p := range records {
			p["created_at"], p["updated_at"] = "2012-01-01 00:00:00", "2012-01-05 00:00:00"
		}
	})
	apptest.WriteFile(t, path, apptest.ReadFile(t, file))
}

// startDatabaseAndRedis starts PostgreSQL and Redis.
func startDatabaseAndRedis(t *testing.T, folder string) []string {
	writeCatalog(t, filepath.Join(folder, "store.json"))
	library := filepath.Join(folder, "var")
	if err := os.Mkdir(library, 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{
		"postgres://portico:PASSWORD@127.0.0.1:5432/portico", sqltest.Postgres(t),
		"redis://127.0.0.1:6379/0", apptest.NewRedis(t).URL(),
		"/var/lib/portico", library,
	}
}

// startBackend starts a backend that holds some of the customers of the data set.
func startBackend(t *testing.T, folder string) []string {
	apptest.WriteFile(t, filepath.Join(folder, "store.json"), apptest.ReadFile(t, apptest.WriteDataset(t, map[string]any{"credentials": nil})))
	server := httptest.NewServer(apptest.NewPeople(
		apptest.Person{ID: "old-ada", Email: "ada@example.com", Name: "Ada Augusta"}, apptest.Person{ID: "old-ben", Email: "ben@example.com", Name: "Ben"}, apptest.Person{ID: "eve", Email: "eve@example.com", Name: "Eve"},
	))
	t.Cleanup(server.Close)
	return []string{"http://127.0.0.1:9000", server.URL}
}
