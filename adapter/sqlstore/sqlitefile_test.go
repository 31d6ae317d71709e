package sqlstore

import (
	"errors"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSQLiteFileName opens a file whose name contains characters with a meaning in
// URLs.
func TestSQLiteFileName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a+b &#shop? 100%.db")
	db := OpenWith(t, Options{DSN: "sqlite:" + path, Migrate: true})
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	var mode string
	if err := db.records.Readers.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
}

// TestFileMode checks that the database file and the files beside it can be read by the same users:
// by the owner alone, as the file holds secrets, unless its mode has been changed.
func TestFileMode(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o660, 0o640} {
		t.Run(mode.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "it's a+b &#shop? 100%.db")
			check := func(suffixes ...string) {
				t.Helper()
				for _, suffix := range suffixes {
					if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != mode {
						t.Errorf("%q: %v, %v, want %v", suffix, info.Mode().Perm(), err, mode)
					}
				}
			}
			if mode != 0o600 {
				if file, err := os.Create(path); err != nil || errors.Join(file.Chmod(mode), file.Close()) != nil {
					t.Fatal(err)
				}
			}
			open := func() {
				t.Helper()
				db := OpenWith(t, Options{DSN: path, Migrate: true})
				for _, wait := range []time.Duration{0, time.Minute} {
					release, err := coordination.NewImportLog(db.records.DB).LockWithin(t.Context(), wait)
					if err != nil {
						t.Fatal(err)
					}
					if err := release(); err != nil {
						t.Fatal(err)
					}
				}
			}
			open()
			locks := []string{"-migration", "-import", "-import-next"}
			check(append(locks, "", "-wal")...)
			for _, lock := range locks { // as earlier versions have left them
				if err := os.Chmod(path+lock, 0o604); err != nil {
					t.Fatal(err)
				}
			}
			open()
			check(locks...)
		})
	}
}
