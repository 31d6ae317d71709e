package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// openMedia returns the store of media files of o, which a database claims by claim; nil if o has none.
func openMedia(o Options, claim media.Claim) media.Store {
	return claim.Open(o.Media, o.MediaDir, o.DSN)
}

// createMediaDir creates the folder of media files, unless they are elsewhere.
func createMediaDir(o Options) error {
	if o.Media != nil || o.MediaDir == "" {
		return nil
	}
	if _, err := media.OpenFolder(o.MediaDir); err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "open media folder", Err: err}
	}
	return nil
}

// ClaimMedia makes sure that the images belong to this database. It fails with a
// [*media.OwnerError] if they may belong to another database; every write and removal of an image
// then fails with this error, too. Further kinds: Unavailable, Internal.
func (db *DB) ClaimMedia(ctx context.Context) error {
	owned, ok := db.records.Media().(*media.Owned)
	if !ok {
		return nil
	}
	return db.records.WrapError(ctx, "claim media", owned.Claim(ctx))
}

// CheckMedia is ClaimMedia, and changes nothing.
func (db *DB) CheckMedia(ctx context.Context) error {
	owned, ok := db.records.Media().(*media.Owned)
	if !ok {
		return nil
	}
	return db.records.WrapError(ctx, "check media", owned.Check(ctx))
}
