package sqlstore

import (
	"errors"
	"strings"
)

var errDSN = errors.New(`must be "sqlite:" and the path of a file, "postgres://user:password@host:5432/database", or "mysql:user:password@tcp(host:3306)/database"`)

// ValidDSN checks that dsn has one of the forms of [Options.DSN]. The error says which
// forms are valid, and repeats nothing of dsn, which may hold a password.
func ValidDSN(dsn string) error {
	_, _, err := engineOf(dsn)
	return err
}

// MediaDir returns the default folder for the media files of a database: for SQLite a
// folder beside the database file and named after it, for a server portico-media in the
// working directory. It returns "" if dsn is invalid.
func MediaDir(dsn string) string {
	e, name, err := engineOf(dsn)
	switch {
	case err != nil:
		return ""
	case e.mediaDir == nil:
		return "portico-media"
	default:
		return e.mediaDir(name)
	}
}

// Location returns where a database is, for logs: its kind, host and port, and name, or the
// path of its file, without user and password. It returns "" if dsn is invalid.
func Location(dsn string) string {
	e, name, err := engineOf(dsn)
	if err != nil {
		return ""
	}
	return e.location(name)
}

// engineOf returns the engine of a DSN, and the part of the DSN that the engine opens.
func engineOf(dsn string) (e *engine, name string, err error) {
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
