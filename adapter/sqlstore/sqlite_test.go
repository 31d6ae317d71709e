package sqlstore

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestClassifySQLite classifies real errors of the driver.
func TestClassifySQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(0)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), `
		CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INTEGER CHECK (n > 0));
		CREATE TABLE part (owner_id INTEGER REFERENCES owner(id));
		INSERT INTO owner VALUES (1, 'a', 1)`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, statement string
		want            adapter.ErrorKind
	}{
		{"unique", "INSERT INTO owner VALUES (2, 'a', 1)", adapter.Conflict},
		{"key", "INSERT INTO owner VALUES (1, 'b', 1)", adapter.Conflict},
		{"foreign key", "INSERT INTO part VALUES (9)", adapter.Conflict},
		{"not null", "INSERT INTO owner VALUES (2, NULL, 1)", adapter.Invalid},
		{"check", "INSERT INTO owner VALUES (2, 'b', 0)", adapter.Invalid},
		{"no table", "DELETE FROM nothing", adapter.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := raw.ExecContext(t.Context(), c.statement)
			if got, _ := classifySQLite(err); got != c.want || err == nil {
				t.Errorf("%v is %v, want %v", err, got, c.want)
			}
		})
	}
	t.Run("busy", func(t *testing.T) {
		tx, err := raw.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		_, err = raw.ExecContext(t.Context(), "DELETE FROM part") // on another connection
		if got, _ := classifySQLite(err); got != adapter.Unavailable || err == nil {
			t.Errorf("%v is %v, want unavailable", err, got)
		}
	})
	if got, _ := classifySQLite(errors.New("any")); got != adapter.Internal {
		t.Errorf("any other error is %v", got)
	}
}

// TestSQLiteFileName opens a file whose name contains characters with a meaning in
// URLs.
func TestSQLiteFileName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a #shop? 100%.db")
	db, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	var mode string
	if err := db.readers.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
}

// TestFileMode checks that only the owner can read the database file, which holds
// secrets.
func TestFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := Open(t.Context(), Options{DSN: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v", suffix, info.Mode().Perm(), err)
		}
	}
}
