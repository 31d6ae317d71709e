package apptest

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// OpenStore opens the database of a store for statements of a test.
func OpenStore(t testing.TB, engine, dsn string) *sql.DB {
	t.Helper()
	driver, name := "sqlite", strings.TrimPrefix(dsn, "sqlite:")
	switch engine {
	case "postgres":
		driver = "pgx"
	case "mariadb":
		driver, name = "mysql", strings.TrimPrefix(dsn, "mysql:")
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// AwaitTransactions waits until the server has ended all present transactions that write
// products. They belong to a killed program, and may still be committed.
func AwaitTransactions(t testing.TB, engine, dsn string) {
	t.Helper()
	if engine != "sqlite" { // whose transactions have ended with the program
		LockTable(t, engine, OpenStore(t, engine, dsn), "product")()
	}
}

// LockTable locks a table of a server's database against changes until unlock is called.
func LockTable(t testing.TB, engine string, db *sql.DB, table string) (unlock func()) {
	t.Helper()
	lock, end := "LOCK TABLE "+table+" IN EXCLUSIVE MODE", "ROLLBACK"
	if engine == "mariadb" {
		lock, end = "LOCK TABLES "+table+" WRITE", "UNLOCK TABLES"
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"BEGIN", lock} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), end); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

// RoutesFile writes a configuration with entries of the setting routes, and returns the
// environment variable that names it.
func RoutesFile(t testing.TB, entries ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(name, []byte("routes:\n  - {"+strings.Join(entries, "}\n  - {")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "PORTICO_CONFIG=" + name
}

// LegacyConsumer returns settings with which Portico signs calls as the administrator of the demo
// shop.
func LegacyConsumer() []string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	return []string{"PORTICO_LEGACY_CONSUMER_KEY=" + of("a"), "PORTICO_LEGACY_CONSUMER_SECRET=" + of("b"), "PORTICO_LEGACY_TOKEN=" + of("c"), "PORTICO_LEGACY_TOKEN_SECRET=" + of("d")}
}
