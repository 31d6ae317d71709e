package sqlstore

import (
	"context"
	"path/filepath"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// A mediaClaim determines how a database claims its store of media files.
type mediaClaim struct {
	db       *engine.DB // nil: a file of SQLite that is not there yet, and is not to be created
	identity string     // of a database that has no tables yet; "": such a one claims nothing
	takeOver bool       // also from another database
}

// openMedia returns the store of media files that o names, to which a database writes only if it owns it;
// nil if there is none.
func openMedia(o Options, claim mediaClaim) media.Store {
	store := o.Media
	if store == nil && o.MediaDir != "" {
		store = &media.Folder{Directory: o.MediaDir}
	}
	if store == nil {
		return nil
	}
	folder, isFolder := store.(*media.Folder)
	return media.NewOwned(store, media.Database{
		Describe:   func(ctx context.Context) (media.Marker, error) { return claim.describe(ctx, o.DSN, isFolder) },
		NamesFiles: claim.namesFiles,
		Beside:     isFolder && engine.File(o.DSN) != "" && filepath.Clean(folder.Directory) == filepath.Clean(engine.MediaDir(o.DSN)),
		TakeOver:   claim.takeOver,
	})
}

// describe returns the marker of the database. A folder is on the same network as the database, and a
// bucket need not be.
func (c *mediaClaim) describe(ctx context.Context, dsn string, sameNetwork bool) (m media.Marker, err error) {
	if c.db == nil {
		kind, name, err := engine.Of(dsn)
		if err != nil {
			return m, err
		}
		return media.Marker{Identity: c.identity, Place: kind.Place(ctx, nil, name)}, nil
	}
	if m.Identity, err = c.db.Identity(ctx); err != nil {
		return m, c.db.WrapError(ctx, "read identity", err)
	}
	if m.Identity == "" {
		m.Identity = c.identity
	}
	if sameNetwork || c.db.Engine.PlaceIsUnique {
		m.Place = c.db.Place(ctx)
	}
	return m, nil
}

// namesFiles reports whether the database names media files.
func (c *mediaClaim) namesFiles(ctx context.Context) (bool, error) {
	if c.db == nil {
		return false, nil
	}
	names, err := c.db.HasRows(ctx, "media_file")
	return names, c.db.WrapError(ctx, "look for images", err)
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
