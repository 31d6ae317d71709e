package sqlstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestMediaOfAnotherDatabase uses a folder of images that belongs to another database in every way that
// writes.
func TestMediaOfAnotherDatabase(t *testing.T) { sqltest.EachEngine(t, testMediaOfAnotherDatabase) }

func testMediaOfAnotherDatabase(t *testing.T, e sqltest.Engine) {
	folder := filepath.Join(t.TempDir(), "images")
	live := OpenWith(t, Options{DSN: NewDemo(t, e), MediaDir: folder, SecretKey: SecretKey})
	const image = "n/e/new.gif"
	if _, err := addImage(t, live, image, "bytes", nil); err != nil {
		t.Fatal(err)
	}
	archive, _ := backUp(t, live)
	if err := os.WriteFile(filepath.Join(folder, image), []byte("later"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.As(err, new(*media.OwnerError)) || adapter.KindOf(err) != adapter.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
		if got := mediaText(t, live, image); got != "image/gif later" {
			t.Errorf("%s: the image is %q", what, got)
		}
	}
	empty := e.Empty(t)
	for _, how := range []backups.Options{{}, {Verify: true}, {Force: true, WhileRunning: true}} {
		_, err := Restore(t.Context(), Options{DSN: empty, MediaDir: folder}, bytes.NewReader(archive), how)
		refused("restore", err)
	}
	if path := strings.TrimPrefix(empty, "sqlite:"); path != empty {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the refused restore has created the database: %v", err)
		}
	} else if exists, err := sqltest.Open(t, empty).IsTable(t.Context(), "product"); exists || err != nil {
		t.Errorf("the refused restore has created tables: %t, %v", exists, err)
	}
	trial := restoreTo(t, empty, archive)
	if err := trial.ClaimMedia(t.Context()); err != nil {
		t.Errorf("a folder of its own: %v", err)
	}
	wrong := OpenWith(t, Options{DSN: empty, MediaDir: folder, SecretKey: SecretKey})
	refused("check", wrong.CheckMedia(t.Context()))
	refused("claim", wrong.ClaimMedia(t.Context()))
	_, err := addImage(t, wrong, "o/t/other.gif", "x", nil)
	refused("create an image", err)
	_, err = wrong.RemoveAbandonedMedia(t.Context())
	refused("remove abandoned images", err)
	if got := mediaText(t, wrong, image); got != "image/gif later" {
		t.Errorf("reading it: %q", got)
	}
	refused("reset", wrong.Reset(t.Context(), DemoData(t)))
	if err := live.ClaimMedia(t.Context()); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

// TestMediaOfLostDatabase restores into the place of a database that is lost, whose images are not.
func TestMediaOfLostDatabase(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		options := Options{DSN: e.Empty(t), MediaDir: filepath.Join(t.TempDir(), "images"), SecretKey: SecretKey, Migrate: true}
		db, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Load(t.Context(), DemoData(t), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := addImage(t, db, "n/e/new.gif", "bytes", nil); err != nil {
			t.Fatal(err)
		}
		archive, _ := backUp(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		switch e.Name {
		case "sqlite":
			for _, end := range []string{"", "-wal", "-shm"} {
				if err := os.RemoveAll(strings.TrimPrefix(options.DSN, "sqlite:") + end); err != nil {
					t.Fatal(err)
				}
			}
		case "postgres":
			sqltest.Exec(t, options.DSN, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		default:
			name := options.DSN[strings.LastIndexByte(options.DSN, '/')+1:]
			name, _, _ = strings.Cut(name, "?")
			sqltest.Exec(t, options.DSN, "DROP DATABASE "+name, "CREATE DATABASE "+name)
		}
		if _, err := Restore(t.Context(), options, bytes.NewReader(archive), backups.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		restored := OpenWith(t, options)
		if got := mediaText(t, restored, "n/e/new.gif"); got != "image/gif bytes" {
			t.Errorf("the image is %q", got)
		}
		if err := restored.ClaimMedia(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTakeMedia restores an archive of an earlier version with the folder of another database.
func TestTakeMedia(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		folder, dsn := filepath.Join(t.TempDir(), "images"), NewDemo(t, e)
		live := OpenWith(t, Options{DSN: dsn, MediaDir: folder, SecretKey: SecretKey})
		if _, err := addImage(t, live, "n/e/new.gif", "bytes", nil); err != nil {
			t.Fatal(err)
		}
		archive, _ := backUp(t, live)
		options := Options{DSN: e.Empty(t), MediaDir: folder, SecretKey: SecretKey}
		if _, err := Restore(t.Context(), options, bytes.NewReader(earlierArchive(t, archive)), backups.Options{Verify: true, TakeMedia: true}); err != nil {
			t.Fatal(err)
		}
		if err := OpenWith(t, options).ClaimMedia(t.Context()); err != nil {
			t.Errorf("the restored database: %v", err)
		}
		again := OpenWith(t, Options{DSN: dsn, MediaDir: folder})
		if err := again.ClaimMedia(t.Context()); !errors.As(err, new(*media.OwnerError)) {
			t.Errorf("the database that owned it: %v", err)
		}
	})
}
