package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// OpenMedia opens a media file by its name, as the attribute file of an image has
// it, and returns it with its media type. The caller closes it. The error for one
// that is not there is also fs.ErrNotExist. Kinds: NotFound, Unavailable, Internal.
func (db *DB) OpenMedia(ctx context.Context, name string) (file *os.File, mediaType string, err error) {
	const op = "open media"
	notFound := &adapter.Error{Kind: adapter.NotFound, Op: op, Err: fs.ErrNotExist}
	if db.media.directory == "" || !validBlobName(name) {
		return nil, "", notFound
	}
	rows, err := db.reading.query(ctx, "SELECT media_type FROM media_file WHERE file = ?", name)
	if err == nil {
		err = scanOne(rows, &mediaType)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, "", notFound
	case err != nil: // fs.ErrNotExist, too, when the server's socket is gone
		return nil, "", db.fault(ctx, op, err)
	}
	file, err = os.Open(db.media.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", notFound
	}
	return file, mediaType, db.fault(ctx, op, err)
}

// numbered is a name that numberedName may have made.
var numbered = regexp.MustCompile(`\A(.*)_([1-9][0-9]{0,17})(\.[^./]*)?\z`)

// series returns the series that a name belongs to, and its number there; null
// when it belongs to none.
func series(name string) (of sql.NullString, number sql.NullInt64) {
	parts := numbered.FindStringSubmatch(name)
	if parts == nil {
		return of, number
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	first := parts[1] + parts[3]
	if err != nil || numberedName(first, n) != name { // as a.b_1, which is no name of a.b
		return of, number
	}
	return sql.NullString{String: first, Valid: true}, sql.NullInt64{Int64: n, Valid: true}
}

// takeName takes a name for a media file: wanted, or the first free one of its
// series from a number on (product_parts 2.5).
func (s *saving) takeName(ctx context.Context, wanted string, from int64, mediaType string) (string, error) {
	if err := s.takeTurn(ctx, "media"); err != nil {
		return "", err
	}
	name, err := s.freeName(ctx, wanted, from)
	if err != nil {
		return "", err
	}
	if !validBlobName(name) {
		return "", &adapter.Error{Kind: adapter.Invalid, Op: "name a media file", Field: "file", Err: errBlobName}
	}
	of, number := series(name)
	return name, s.exec(ctx, "INSERT INTO media_file (file, media_type, series, number) VALUES (?, ?, ?, ?)", name, mediaType, of, number)
}

// freeName finds the name that takeName takes.
func (s *saving) freeName(ctx context.Context, wanted string, from int64) (string, error) {
	taken, err := s.finds(ctx, "SELECT 1 FROM media_file WHERE file = ?", wanted)
	if err != nil || !taken {
		return wanted, err
	}
	if taken, err = s.finds(ctx, "SELECT 1 FROM media_file WHERE series = ? AND number = ?", wanted, from); err != nil {
		return "", err
	}
	if taken {
		rows, err := s.query(ctx, "SELECT number + 1 FROM media_file WHERE series = ? AND number >= ?"+
			" AND NOT EXISTS (SELECT 1 FROM media_file f WHERE f.series = media_file.series AND f.number = media_file.number + 1)"+
			" ORDER BY number LIMIT 1", wanted, from)
		if err == nil {
			err = scanOne(rows, &from)
		}
		if err != nil {
			return "", err
		}
	}
	return numberedName(wanted, from), nil
}

// numberedName returns the name of a number in a series.
func numberedName(of string, number int64) string {
	extension := path.Ext(of)
	return fmt.Sprintf("%s_%d%s", of[:len(of)-len(extension)], number, extension)
}

// listMedia returns the names that are taken.
func listMedia(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT file FROM media_file")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// sweepMedia removes the files of those names that are not taken any more. Files
// of other names in the folder may be somebody else's.
func (db *DB) sweepMedia(ctx context.Context, names []string) error {
	if len(names) == 0 || db.media.directory == "" {
		return nil
	}
	return db.products.save(ctx, "remove media", func(s *saving) error {
		if err := s.takeTurn(ctx, "media"); err != nil {
			return err
		}
		for _, name := range names {
			taken, err := s.finds(ctx, "SELECT 1 FROM media_file WHERE file = ?", name)
			if err == nil && !taken {
				err = os.Remove(db.media.path(name))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}
