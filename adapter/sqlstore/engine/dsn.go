package engine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
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
