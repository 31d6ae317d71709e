package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// ClaimMedia makes sure that the images belong to this database. It fails with a
// [*media.OwnerError] if they may belong to another database; every write and removal of an image
// then fails with this error, too. Further kinds: Unavailable, Internal.
func (db *DB) ClaimMedia(ctx context.Context) error {
	return db.onMedia(ctx, "claim media", (*media.Owned).Claim)
}

// CheckMedia is ClaimMedia, and changes nothing.
func (db *DB) CheckMedia(ctx context.Context) error {
	return db.onMedia(ctx, "check media", (*media.Owned).Check)
}

// onMedia calls a method of the store of images, if there is one.
func (db *DB) onMedia(ctx context.Context, op string, call func(*media.Owned, context.Context) error) error {
	owned, ok := db.records.Media().(*media.Owned)
	if !ok {
		return nil
	}
	return db.records.WrapError(ctx, op, call(owned, ctx))
}
