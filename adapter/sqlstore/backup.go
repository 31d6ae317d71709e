package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// Backup writes an archive of all tables at one moment, and of the images that they name. program is
// the version that the archive records as its maker. Kinds: Unsupported for a database of another
// version, Unavailable, Internal.
func (db *DB) Backup(ctx context.Context, to io.Writer, program string, progress backups.Progress) (*backups.Manifest, error) {
	from := backups.Store{DB: db.records.DB, Media: db.records.Media()}
	manifest, err := backups.Save(ctx, from, to, program, progress)
	return manifest, db.records.WrapError(ctx, "back up", err)
}

// Restore fills the database and the media store that o names from an archive. It fails with a
// [*media.OwnerError] before it changes anything if the images may belong to another database. Kinds:
// Conflict if the database is not empty, Unsupported for an archive of a newer version or of another
// engine, Unavailable, Internal.
func Restore(ctx context.Context, o Options, archive io.Reader, how backups.Options) (_ *backups.Manifest, err error) {
	const op = "restore"
	dsn := cmp.Or(o.DirectDSN, o.DSN) // restoring must not go through a pooler
	claim := mediaClaim{identity: rand.Text(), takeOver: how.TakeMedia}
	if err := checkMediaOfNewFile(ctx, o, claim); err != nil {
		return nil, err
	}
	opened, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true, Wrap: o.Wrap}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	claim.db = opened
	manifest, err := backups.Restore(ctx, backups.Store{DB: opened, Media: openMedia(o, claim)}, archive, how)
	if store := openMedia(o, mediaClaim{db: opened, takeOver: true}); err == nil && store != nil {
		// The archive may be older than identities: then the database has one only now.
		err = store.(*media.Owned).Claim(ctx)
	}
	return manifest, opened.WrapError(ctx, op, err)
}

// checkMediaOfNewFile checks the store of media files for a file of SQLite that is not there yet, which
// opening it would create.
func checkMediaOfNewFile(ctx context.Context, o Options, claim mediaClaim) error {
	path, store := engine.File(o.DSN), openMedia(o, claim)
	if _, err := os.Stat(path); path == "" || store == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return store.(*media.Owned).Check(ctx)
}
