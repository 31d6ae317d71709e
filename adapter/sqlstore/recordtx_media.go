package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// MissingContent returns the given names that have no bytes.
func (d ruled) MissingContent(ctx context.Context, names []string) ([]string, error) {
	const op = "look for images"
	if d.DB.media == nil {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: media.ErrNoFolder}
	}
	reserved, err := d.DB.mediaTable.Taken(ctx, d.DB.ReadStatements.Query, names)
	if err != nil {
		return nil, d.DB.WrapError(ctx, op, err)
	}
	here := make(map[string]bool, len(reserved))
	for _, name := range reserved {
		file := media.Ref{Name: name}
		if d.DB.mediaTable.HasObjects {
			file, _, err = d.DB.mediaTable.Find(ctx, d.DB.ReadStatements.Query, name)
		}
		if err == nil {
			here[name], err = d.DB.media.Exists(ctx, file)
		}
		if err != nil {
			return nil, d.DB.WrapError(ctx, op, err)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return here[name] }), nil
}

// Files returns the given names of media files that are taken.
func (t *Tx) Files(ctx context.Context, names ...string) ([]string, error) {
	return t.records.mediaTable.Taken(ctx, t.Query, names)
}

// FreeNumber returns the first free number of a series, from a given one on.
func (t *Tx) FreeNumber(ctx context.Context, series string, from int64) (int64, error) {
	taken, err := t.RowExists(ctx, "SELECT 1 FROM media_file WHERE series = ? AND number = ?", series, from)
	if err != nil || !taken {
		return from, err
	}
	err = engine.First(t.Query(ctx, "SELECT number + 1 FROM media_file WHERE series = ? AND number >= ?"+
		" AND NOT EXISTS (SELECT 1 FROM media_file f WHERE f.series = media_file.series AND f.number = media_file.number + 1)"+
		" ORDER BY number LIMIT 1", series, from)).Scan(&from)
	return from, err
}

// InsertFiles stores names of media files.
func (t *Tx) InsertFiles(ctx context.Context, files ...rules.File) error {
	rows := make([][]any, len(files))
	for i, f := range files {
		rows[i] = []any{f.Name, f.MediaType, nil, nil}
		if f.Series != "" {
			rows[i] = []any{f.Name, f.MediaType, f.Series, f.Number}
		}
	}
	return t.InsertValues(ctx, "media_file", []string{"file", "media_type", "series", "number"}, rows, "")
}

// An imageContent is the content of a new image. Its file is written before the
// transaction begins and gets its name before the transaction commits: a file without an
// image does no harm, an image without its file would. If the outcome of a commit is unknown,
// the file stays.
type imageContent struct{ pending media.Pending }

// NewContent writes the file of an image. Without bytes there will be no file.
func (d ruled) NewContent(bytes []byte) (rules.Content, error) {
	const op = "create product_images"
	if d.DB.media == nil {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: media.ErrNoFolder}
	}
	if len(bytes) == 0 {
		return imageContent{}, nil
	}
	pending, err := d.DB.media.Add(bytes)
	if err != nil {
		return nil, d.DB.WrapError(context.Background(), op, err)
	}
	return imageContent{pending}, nil
}

// Publish gives the file its name, again if the transaction is attempted again.
func (c imageContent) Publish(in rules.Tx, name string) error {
	object, err := c.pending.Publish(name)
	tx, ok := in.(*Tx)
	if err != nil || object == "" || !ok {
		return err
	}
	return tx.Exec(context.Background(), "UPDATE media_file SET object = ? WHERE file = ?", object, name)
}

// Discard removes the temporary name of the file.
func (c imageContent) Discard() {
	if c.pending != nil {
		c.pending.Discard()
	}
}

// RemoveUnusedMedia removes the named files that the database no longer lists. Other files in the
// folder may belong to other programs, and stay.
func (db *Database) RemoveUnusedMedia(ctx context.Context, files []media.Ref) error {
	if len(files) == 0 || db.media == nil {
		return nil
	}
	return ruled{DB: db, long: true}.Write(ctx, "remove media", func(tx rules.Tx) error {
		if err := tx.LockName(ctx, "media"); err != nil {
			return err
		}
		for _, file := range files {
			taken, err := tx.Files(ctx, file.Name)
			if err == nil && (len(taken) == 0 || file.Object != "") { // no other row has the object
				err = db.media.Remove(ctx, file)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveAbandonedMedia removes the remains of interrupted writes, and returns the number of removed
// objects of uploads that no row refers to.
func (db *Database) RemoveAbandonedMedia(ctx context.Context) (removed int, err error) {
	if db.media == nil {
		return 0, nil
	}
	err = db.media.Abandoned(ctx, func(objects []string) ([]string, error) {
		unused, err := db.mediaTable.Unused(ctx, db.ReadStatements.Query, objects)
		if err != nil {
			return nil, err
		}
		removed += len(unused)
		return unused, nil
	})
	return removed, db.WrapError(ctx, "remove abandoned media", err)
}

// OpenMedia opens a media file, as described at sqlstore.DB.OpenMedia.
func (db *Database) OpenMedia(ctx context.Context, name string) (*adapter.MediaFile, error) {
	const op = "open media"
	notFound := &adapter.Error{Kind: adapter.NotFound, Op: op, Err: fs.ErrNotExist}
	if db.media == nil || !rules.ValidFileName(name) {
		return nil, notFound
	}
	ref, mediaType, err := db.mediaTable.Find(ctx, db.ReadStatements.Query, name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, notFound
	case err != nil: // may match fs.ErrNotExist as well: the server's socket is gone
		return nil, db.WrapError(ctx, op, err)
	}
	file, err := db.media.Open(ctx, ref)
	switch {
	case errors.Is(err, adapter.ErrMediaUnavailable): // not a failure of the database
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound
	case err != nil:
		return nil, db.WrapError(ctx, op, err)
	}
	file.MediaType = mediaType
	return file, nil
}
