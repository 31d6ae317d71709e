package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// OpenMedia opens a media file by its name, the attribute file of an image, and returns
// it with its media type. The caller closes it. For a missing file the error matches
// fs.ErrNotExist. Kinds: NotFound, Unavailable, Internal.
func (db *DB) OpenMedia(ctx context.Context, name string) (file *os.File, mediaType string, err error) {
	const op = "open media"
	notFound := &adapter.Error{Kind: adapter.NotFound, Op: op, Err: fs.ErrNotExist}
	if db.media.directory == "" || !rules.ValidFileName(name) {
		return nil, "", notFound
	}
	rows, err := db.readStatements.query(ctx, "SELECT media_type FROM media_file WHERE file = ?", name)
	if err == nil {
		err = scanOne(rows, &mediaType)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, "", notFound
	case err != nil: // may match fs.ErrNotExist as well: the server's socket is gone
		return nil, "", db.wrapError(ctx, op, err)
	}
	file, err = os.Open(db.media.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", notFound
	}
	return file, mediaType, db.wrapError(ctx, op, err)
}

// FileContent returns the bytes of a media file by its name, as [DB.OpenMedia] does.
func (s *Replica) FileContent(ctx context.Context, name string) (content []byte, err error) {
	file, _, err := s.db.OpenMedia(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	content, err = io.ReadAll(file)
	return content, s.db.wrapError(ctx, "read media", err)
}

// MissingContent returns those of some names of which there are no bytes.
func (d ruled) MissingContent(ctx context.Context, names []string) ([]string, error) {
	const op = "look for images"
	if d.db.media.directory == "" {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoMedia}
	}
	reserved, err := reservedFiles(ctx, d.db.readStatements.query, names)
	if err != nil {
		return nil, d.db.wrapError(ctx, op, err)
	}
	here := make(map[string]bool, len(reserved))
	for _, name := range reserved {
		_, err := os.Stat(d.db.media.path(name))
		here[name] = err == nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return here[name] }), nil
}

// reservedFiles returns those of some names that are taken.
func reservedFiles(ctx context.Context, query queryFunc, names []string) ([]string, error) {
	var reserved []string
	for chunk := range slices.Chunk(names, idsPerStatement) {
		arguments := make([]any, len(chunk), idsPerStatement)
		for i, name := range chunk {
			arguments[i] = name
		}
		arguments = padToPowerOfTwo(arguments)
		names, err := selectColumn[string](ctx, query, "SELECT file FROM media_file WHERE "+inList("file", arguments), arguments...)
		if err != nil {
			return nil, err
		}
		reserved = append(reserved, names...)
	}
	return reserved, nil
}

// Files returns those of some names of media files that are taken.
func (t *writeTx) Files(ctx context.Context, names ...string) ([]string, error) {
	return reservedFiles(ctx, t.query, names)
}

// FreeNumber returns the first free number of a series from a number on.
func (t *writeTx) FreeNumber(ctx context.Context, series string, from int64) (int64, error) {
	taken, err := t.rowExists(ctx, "SELECT 1 FROM media_file WHERE series = ? AND number = ?", series, from)
	if err != nil || !taken {
		return from, err
	}
	rows, err := t.query(ctx, "SELECT number + 1 FROM media_file WHERE series = ? AND number >= ?"+
		" AND NOT EXISTS (SELECT 1 FROM media_file f WHERE f.series = media_file.series AND f.number = media_file.number + 1)"+
		" ORDER BY number LIMIT 1", series, from)
	if err == nil {
		err = scanOne(rows, &from)
	}
	return from, err
}

// InsertFiles stores names of media files.
func (t *writeTx) InsertFiles(ctx context.Context, files ...rules.File) error {
	rows := make([][]any, len(files))
	for i, f := range files {
		rows[i] = []any{f.Name, f.MediaType, nil, nil}
		if f.Series != "" {
			rows[i] = []any{f.Name, f.MediaType, f.Series, f.Number}
		}
	}
	return t.insertValues(ctx, "media_file", []string{"file", "media_type", "series", "number"}, rows, "")
}

// An imageContent is the content of a new image. Its file is written before the
// transaction begins and gets its name before the transaction commits: a file without an
// image does no harm, an image without its file would. If the outcome of a commit is unknown,
// the file stays.
type imageContent struct{ pending *pendingBlob }

// NewContent writes the file of an image. Without bytes there will be no file.
func (d ruled) NewContent(bytes []byte) (rules.Content, error) {
	const op = "create product_images"
	if d.db.media.directory == "" {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoMedia}
	}
	if len(bytes) == 0 {
		return imageContent{}, nil
	}
	pending, err := d.db.media.add(bytes)
	if err != nil {
		return nil, d.db.wrapError(context.Background(), op, err)
	}
	return imageContent{pending}, nil
}

// Publish gives the file its name, again if the transaction is attempted again.
func (c imageContent) Publish(_ rules.Tx, name string) error { return c.pending.publish(name) }

// Discard removes the temporary name of the file.
func (c imageContent) Discard() {
	if c.pending != nil {
		c.pending.discard()
	}
}

// removeUnusedMedia removes those of the named files that the database no longer lists.
// Other files in the folder may belong to other programs, and stay.
func (db *DB) removeUnusedMedia(ctx context.Context, names []string) error {
	if len(names) == 0 || db.media.directory == "" {
		return nil
	}
	return ruled{db: db}.Write(ctx, "remove media", func(tx rules.Tx) error {
		if err := tx.LockName(ctx, "media"); err != nil {
			return err
		}
		for _, name := range names {
			taken, err := tx.Files(ctx, name)
			if err == nil && len(taken) == 0 {
				err = os.Remove(db.media.path(name))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}
