package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var errDSN = errors.New(`must be "sqlite:" and the path of a file, "postgres://user:password@host:5432/database", or "mysql:user:password@tcp(host:3306)/database"`)

// ValidDSN checks that dsn has one of the forms of sqlstore.Options.DSN. The error lists the
// valid forms, and repeats nothing of dsn, which may hold a password.
func ValidDSN(dsn string) error {
	_, _, err := Of(dsn)
	return err
}

// MediaDir returns the default folder for the media files of a database: for SQLite a
// folder beside the database file and named after it, for a server portico-media in the
// working directory. It returns "" if dsn is invalid.
func MediaDir(dsn string) string {
	e, name, err := Of(dsn)
	switch {
	case err != nil:
		return ""
	case e.mediaDir == nil:
		return "portico-media"
	default:
		return e.mediaDir(name)
	}
}

// Location returns the location of a database, for logs: its kind, host and port, and name, or
// the path of its file, without user and password. It returns "" if dsn is invalid.
func Location(dsn string) string {
	e, name, err := Of(dsn)
	if err != nil {
		return ""
	}
	return e.location(name)
}

// Of returns the engine of a DSN, and the part of the DSN that the engine opens.
func Of(dsn string) (e *Engine, name string, err error) {
	kind, rest, _ := strings.Cut(dsn, ":")
	switch {
	case (kind == "postgres" || kind == "postgresql") && strings.HasPrefix(rest, "//"):
		e, name = postgresEngine(), dsn
	case kind == "postgres":
		e, name = postgresEngine(), rest
	case kind == "mysql":
		e, name = mysqlEngine(), rest
	case kind == "sqlite":
		e, name = sqliteEngine(), rest
	case strings.HasPrefix(rest, "//"):
		return nil, "", errDSN
	default:
		e, name = sqliteEngine(), dsn
	}
	if err := e.validate(name); err != nil {
		return nil, "", err
	}
	return e, name, nil
}

// File returns the path of the file of a database of SQLite, and "" for a server.
func File(dsn string) string {
	e, name, err := Of(dsn)
	if err != nil || e.mediaDir == nil {
		return ""
	}
	return name
}

var errNotWAL = errors.New("is no database of Portico's: it is not one of SQLite with a write-ahead log")

// CheckFile reports whether the file of a database of SQLite exists and has content. It fails if
// the file cannot be read, or was not made by Open, which would convert it.
func CheckFile(path string) (exists bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	header := make([]byte, 20)
	switch _, err := io.ReadFull(file, header); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	}
	// The format of the file is described in sqlite.org/fileformat.html; 2 is the version of
	// a file with a write-ahead log, for writers and for readers.
	if !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) || header[18] != 2 || header[19] != 2 {
		return true, errNotWAL
	}
	return true, nil
}

// Identity returns a text that is the same for DSNs of one database that differ only in the password
// and in options for connecting and timeouts. It may differ for two DSNs of one database, but is never
// the same for two databases, or two schemas of one. It returns "" if dsn is invalid.
func Identity(dsn string) string {
	e, name, err := Of(dsn)
	if err != nil {
		return ""
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%q", e.location(name))
	// PostgreSQL finds tables by the user and by parameters of the session.
	if c, err := pgconn.ParseConfig(name); err == nil && strings.HasPrefix(dsn, "postgres") {
		fmt.Fprintf(text, " %q", c.User)
		for _, parameter := range slices.Sorted(maps.Keys(c.RuntimeParams)) {
			if parameter != "application_name" {
				fmt.Fprintf(text, " %q %q", parameter, c.RuntimeParams[parameter])
			}
		}
	}
	return text.String()
}

// Place returns a text that identifies the place of a database, where only one database can exist
// at a time: a name on a server, or a file of a machine. It is empty if the place cannot be
// determined. Servers and machines in containers may have the same names and addresses, so the text
// is unique only within one network, unless PlaceIsUnique is set.
func (e *Engine) Place(ctx context.Context, pool *sql.DB, name string) (place string) {
	if e.mediaDir != nil { // a file
		host, err := os.Hostname()
		if err != nil {
			return ""
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return ""
		}
		return e.System + " " + host + " " + path
	}
	for _, text := range e.placeSQL {
		if err := pool.QueryRowContext(ctx, text).Scan(&place); err == nil {
			return e.System + " " + place
		}
	}
	return ""
}
