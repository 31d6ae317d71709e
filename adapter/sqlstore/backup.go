package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/blobs"
	"github.com/portico-commerce/portico/adapter/sqlstore/database"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Backup writes an archive of all tables at one moment, and of the images that they name. program is
// the version that the archive records as its maker. Kinds: Unsupported for a database of another
// version, Unavailable, Internal.
func (db *DB) Backup(ctx context.Context, to io.Writer, program string, progress backups.Progress) (*backups.Manifest, error) {
	from := backups.Store{DB: db.records.DB, Media: db.records.Media()}
	manifest, err := backups.Save(ctx, from, to, program, progress)
	return manifest, db.records.WrapError(ctx, "back up", err)
}

// Restore fills the database and the media store that o names from an archive. Kinds: Conflict if the
// database is not empty, Unsupported for an archive of a newer version or of another engine,
// Unavailable, Internal.
func Restore(ctx context.Context, o Options, archive io.Reader, how backups.Options) (_ *backups.Manifest, err error) {
	const op = "restore"
	dsn := cmp.Or(o.DirectDSN, o.DSN) // restoring must not go through a pooler
	opened, err := database.Open(database.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true, Wrap: o.Wrap}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	media := o.Media
	if media == nil && o.MediaDir != "" {
		if media, err = blobs.Open(o.MediaDir); err != nil {
			return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "open media folder", Err: err}
		}
	}
	manifest, err := backups.Restore(ctx, backups.Store{DB: opened, Media: media}, archive, how)
	return manifest, opened.WrapError(ctx, op, err)
}
