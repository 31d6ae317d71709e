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

// OpenMedia opens a media file by its name, the attribute file of an image, and returns
// it with its media type. The caller closes it. For a missing file the error matches
// fs.ErrNotExist. Kinds: NotFound, Unavailable, Internal.
func (db *DB) OpenMedia(ctx context.Context, name string) (file *os.File, mediaType string, err error) {
	const op = "open media"
	notFound := &adapter.Error{Kind: adapter.NotFound, Op: op, Err: fs.ErrNotExist}
	if db.media.directory == "" || !validBlobName(name) {
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

// numberedPattern matches the names that numberedName may have made.
var numberedPattern = regexp.MustCompile(`\A(.*)_([1-9][0-9]{0,17})(\.[^./]*)?\z`)

// nameSeries returns the series that a name belongs to, and its number in it; null if
// it belongs to none. The series of "a_2.png" is "a.png".
func nameSeries(name string) (base sql.NullString, number sql.NullInt64) {
	parts := numberedPattern.FindStringSubmatch(name)
	if parts == nil {
		return base, number
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	first := parts[1] + parts[3]
	if err != nil || numberedName(first, n) != name { // such as "a.b_1", which numberedName never makes
		return base, number
	}
	return sql.NullString{String: first, Valid: true}, sql.NullInt64{Int64: n, Valid: true}
}

// reserveName reserves a name for a media file and returns it: wanted, or the first
// free name of its series from a number on (product_parts 2.5).
func (s *productTx) reserveName(ctx context.Context, wanted string, from int64, mediaType string) (string, error) {
	if err := s.lockNamed(ctx, "media"); err != nil {
		return "", err
	}
	name, err := s.freeName(ctx, wanted, from)
	if err != nil {
		return "", err
	}
	if !validBlobName(name) {
		return "", &adapter.Error{Kind: adapter.Invalid, Op: "name a media file", Field: "file", Err: errBlobName}
	}
	base, number := nameSeries(name)
	return name, s.exec(ctx, "INSERT INTO media_file (file, media_type, series, number) VALUES (?, ?, ?, ?)", name, mediaType, base, number)
}

// freeName returns the name that reserveName reserves.
func (s *productTx) freeName(ctx context.Context, wanted string, from int64) (string, error) {
	taken, err := s.rowExists(ctx, "SELECT 1 FROM media_file WHERE file = ?", wanted)
	if err != nil || !taken {
		return wanted, err
	}
	if taken, err = s.rowExists(ctx, "SELECT 1 FROM media_file WHERE series = ? AND number = ?", wanted, from); err != nil {
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

// numberedName inserts a number before the extension of a file name.
func numberedName(base string, number int64) string {
	extension := path.Ext(base)
	return fmt.Sprintf("%s_%d%s", base[:len(base)-len(extension)], number, extension)
}

// listMedia returns the names of all media files.
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

// removeUnusedMedia removes those of the named files that the database no longer lists.
// Other files in the folder may belong to other programs, and stay.
func (db *DB) removeUnusedMedia(ctx context.Context, names []string) error {
	if len(names) == 0 || db.media.directory == "" {
		return nil
	}
	return db.products.save(ctx, "remove media", func(s *productTx) error {
		if err := s.lockNamed(ctx, "media"); err != nil {
			return err
		}
		for _, name := range names {
			taken, err := s.rowExists(ctx, "SELECT 1 FROM media_file WHERE file = ?", name)
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
