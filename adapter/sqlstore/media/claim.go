package media

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A Claim determines how a database claims its store of media files.
type Claim struct {
	DB       *engine.DB // nil for a file of SQLite that does not exist yet, and must not be created
	Identity string     // identity of a database without tables; with "" it claims nothing
	TakeOver bool       // claim the store even from another database
}

// Open returns store, or a store in folder if store is nil, for the database at dsn, which writes to it only as its owner.
// It returns nil if store is nil and folder is "".
func (c Claim) Open(store Store, folder, dsn string) Store {
	if store == nil && folder != "" {
		store = &Folder{Directory: folder}
	}
	if store == nil {
		return nil
	}
	directory, isFolder := store.(*Folder)
	return NewOwned(store, Database{
		Describe:   func(ctx context.Context) (Marker, error) { return c.describe(ctx, dsn, isFolder) },
		NamesFiles: c.namesFiles,
		Beside:     isFolder && engine.File(dsn) != "" && filepath.Clean(directory.Directory) == filepath.Clean(engine.MediaDir(dsn)),
		TakeOver:   c.TakeOver,
	})
}

// CheckNewFile checks a store of Open if dsn names a file of SQLite that does not exist yet. Call it before the database
// is opened, which creates the file. store may be nil.
func CheckNewFile(ctx context.Context, store Store, dsn string) error {
	path := engine.File(dsn)
	if _, err := os.Stat(path); path == "" || store == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return store.(*Owned).Check(ctx)
}

// describe returns the marker of the database. A folder is on the same network as the database, and a
// bucket need not be.
func (c *Claim) describe(ctx context.Context, dsn string, sameNetwork bool) (m Marker, err error) {
	if c.DB == nil {
		kind, name, err := engine.Of(dsn)
		if err != nil {
			return m, err
		}
		return Marker{Identity: c.Identity, Place: kind.Place(ctx, nil, name)}, nil
	}
	if m.Identity, err = c.DB.Identity(ctx); err != nil {
		return m, c.DB.WrapError(ctx, "read identity", err)
	}
	if m.Identity == "" {
		m.Identity = c.Identity
	}
	if sameNetwork || c.DB.Engine.PlaceIsUnique {
		m.Place = c.DB.Place(ctx)
	}
	return m, nil
}

// namesFiles reports whether the database names media files.
func (c *Claim) namesFiles(ctx context.Context) (bool, error) {
	if c.DB == nil {
		return false, nil
	}
	names, err := c.DB.HasRows(ctx, "media_file")
	return names, c.DB.WrapError(ctx, "look for images", err)
}
