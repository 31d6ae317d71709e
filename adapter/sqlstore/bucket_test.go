//go:build linux

package sqlstore_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestConformanceOnBucket runs the conformance suite with images in an S3-compatible store.
func TestConformanceOnBucket(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	opened := 0
	adaptertest.Run(t, adaptertest.Harness{
		Open: func(t *testing.T) adapter.Adapter {
			opened++
			store := server.Open(t, func(o *media.BucketOptions) { o.Prefix = time.Now().Format("150405.000000000") + "/" })
			dsn := sqlstore.NewDemo(t, sqltest.Engines()[0])
			addGallery(t, dsn)
			db := sqlstore.OpenWith(t, sqlstore.Options{DSN: dsn, SecretKey: sqlstore.SecretKey, Media: store})
			return db.Adapter()
		},
		Sampled: func() bool { return false },
	})
	if opened == 0 {
		t.Error("no store was opened")
	}
}

// TestBucket writes images on every engine while the media store is killed and stopped.
func TestBucket(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		server := sqltest.StartBucketServer(t)
		store := server.Open(t, func(o *media.BucketOptions) { o.Timeout = time.Second })
		db := sqlstore.OpenWith(t, sqlstore.Options{DSN: sqlstore.NewDemo(t, e), Migrate: true, SecretKey: sqlstore.SecretKey, Media: store})
		images := adaptertest.StoreOf(t, db.Adapter(), adapter.ProductImages)
		create := func(name, content string, check func() error) (adapter.Key, error) {
			r := adaptertest.Attributes{"product_id": 1, "file": name, "media_type": "image/gif", "content": content}.Record(adapter.NewSchemas().Of(adapter.ProductImages))
			return images.Create(t.Context(), &adapter.CreateParams{Record: r, Check: check})
		}
		read := func(db *sqlstore.DB, name string) (string, error) {
			file, err := db.OpenMedia(t.Context(), name)
			if err != nil {
				return "", err
			}
			defer func() { _ = file.Close() }()
			content, err := io.ReadAll(file)
			return file.MediaType + " " + string(content), err
		}
		for _, want := range []struct{ name, content string }{{"n/e/new.gif", "first"}, {"n/e/new_1.gif", "second"}} {
			if _, err := create("n/e/new.gif", want.content, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := read(db, want.name); got != "image/gif "+want.content || err != nil {
				t.Errorf("%s: %q, %v", want.name, got, err)
			}
		}
		refusal := errors.New("refused")
		if _, err := create("n/e/refused.gif", "x", func() error { return refusal }); !errors.Is(err, refusal) {
			t.Error(err)
		}
		if _, err := read(db, "n/e/refused.gif"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a refused image: %v", err)
		}

		server.Kill(t)
		if _, err := create("n/e/lost.gif", "x", nil); !errors.Is(err, adapter.ErrMediaUnavailable) || adapter.KindOf(err) != adapter.Unavailable {
			t.Errorf("while the store is away: %v", err)
		}
		if _, err := read(db, "n/e/new.gif"); !errors.Is(err, adapter.ErrMediaUnavailable) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("while the store is away: %v", err)
		}
		server.Restart(t)
		var archive bytes.Buffer
		if _, err := db.Backup(t.Context(), &archive, "test", nil); err != nil {
			t.Fatal(err)
		}
		// The images go to a folder, and from there to another prefix.
		folder := sqlstore.Options{DSN: e.Empty(t), MediaDir: t.TempDir()}
		if _, err := sqlstore.Restore(t.Context(), folder, bytes.NewReader(archive.Bytes()), backups.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		inFolder := sqlstore.OpenWith(t, folder)
		archive.Reset()
		if _, err := inFolder.Backup(t.Context(), &archive, "test", nil); err != nil {
			t.Fatal(err)
		}
		bucket := sqlstore.Options{DSN: e.Empty(t), Media: server.Open(t, func(o *media.BucketOptions) { o.Prefix = "restored/" })}
		if _, err := sqlstore.Restore(t.Context(), bucket, bytes.NewReader(archive.Bytes()), backups.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		for where, db := range map[string]*sqlstore.DB{"folder": inFolder, "bucket": sqlstore.OpenWith(t, bucket)} {
			if got, err := read(db, "n/e/new_1.gif"); got != "image/gif second" || err != nil {
				t.Errorf("restored to the %s: %q, %v", where, got, err)
			}
		}
		// A trial must not write to the bucket of the store, nor remove unknown objects from it.
		wrong := bucket
		wrong.Media = store
		trial := sqlstore.OpenWith(t, wrong)
		_, removalErr := trial.RemoveAbandonedMedia(t.Context())
		_, restoreErr := sqlstore.Restore(t.Context(), sqlstore.Options{DSN: e.Empty(t), Media: store}, bytes.NewReader(archive.Bytes()), backups.Options{})
		for what, err := range map[string]error{"claim": trial.ClaimMedia(t.Context()), "remove": removalErr, "restore": restoreErr} {
			if !errors.As(err, new(*media.OwnerError)) {
				t.Errorf("%s with the bucket of another database: %v", what, err)
			}
		}
		if err := db.Reset(t.Context(), data(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := read(db, "n/e/new.gif"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after a reset: %v", err)
		}
		if removed, err := db.RemoveAbandonedMedia(t.Context()); removed != 0 || err != nil {
			t.Errorf("abandoned uploads of today: %d, %v", removed, err)
		}
	})
}
