package sqlstore

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSQLiteFileName opens a file whose name contains characters with a meaning in
// URLs.
func TestSQLiteFileName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a #shop? 100%.db")
	db := OpenWith(t, Options{DSN: "sqlite:" + path, Migrate: true})
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	var mode string
	if err := db.records.Readers.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
}

// TestFileMode checks that only the owner can read the database file, which holds
// secrets.
func TestFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	OpenWith(t, Options{DSN: path, Migrate: true})
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v", suffix, info.Mode().Perm(), err)
		}
	}
}
