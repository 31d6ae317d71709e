package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/huandu/go-sqlbuilder"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/portico-commerce/portico/adapter"
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// What the statements need to know of SQLite.
const (
	flavor = sqlbuilder.SQLite
	// likeEscape makes the backslash the escape character of a LIKE.
	likeEscape = ` ESCAPE '\'`
	// maxPattern is the longest LIKE pattern, in bytes.
	maxPattern = 50000
	// maxArguments bounds the arguments of a statement, and with them the depth
	// of its expressions, for which SQLite's limit is 1000.
	maxArguments = 500
	// noLimit goes before an OFFSET that has no LIMIT.
	noLimit = -1
)

// busyTimeout is how long a writer waits for another process, in milliseconds.
const busyTimeout = 5000

// sqlitePath returns the path of the database file a DSN names: "sqlite:path"
// or the path alone.
func sqlitePath(dsn string) (string, error) {
	path := strings.TrimPrefix(dsn, "sqlite:")
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return "", errors.New(`want "sqlite:" and the path of a file`)
	case strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return "", errors.New("want the path of a file: in memory, readers and the writer would not share a database")
	case path == dsn && strings.Contains(path, "://"):
		return "", errors.New("unknown kind of database")
	}
	return path, nil
}

// openSQLite opens the writing connection and the pool of readers of a file.
// With create, a file that is missing is made, readable by its owner alone: it
// will hold secrets.
func openSQLite(path string, create bool) (writer, readers *sql.DB, err error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Close(); err != nil {
		return nil, nil, err
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)", busyTimeout) +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)"
	if writer, err = sql.Open("sqlite", dsn+"&_txlock=immediate"); err != nil {
		return nil, nil, err
	}
	writer.SetMaxOpenConns(1)
	if readers, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		return nil, nil, errors.Join(err, writer.Close())
	}
	pool := max(4, 2*runtime.GOMAXPROCS(0))
	readers.SetMaxOpenConns(pool)
	readers.SetMaxIdleConns(pool)
	return writer, readers, nil
}

// migrateSQLite brings the tables up to date.
func migrateSQLite(ctx context.Context, writer *sql.DB, options ...goose.ProviderOption) error {
	migrations, err := fs.Sub(sqliteMigrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true))
	provider, err := goose.NewProvider(goose.DialectSQLite3, writer, migrations, options...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// sqliteKind classifies an error of the driver.
func sqliteKind(err error) adapter.ErrorKind {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return adapter.Internal
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_NOTNULL, lib.SQLITE_CONSTRAINT_CHECK, lib.SQLITE_CONSTRAINT_DATATYPE:
		return adapter.Invalid
	}
	switch e.Code() & 0xff { // the rest of the code is detail
	case lib.SQLITE_CONSTRAINT:
		return adapter.Conflict
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_FULL, lib.SQLITE_PROTOCOL, lib.SQLITE_NOMEM:
		return adapter.Unavailable
	default:
		return adapter.Internal
	}
}

// resetKeys makes the keys of all tables start again.
const resetKeys = "DELETE FROM sqlite_sequence"

// decimalArgument is what a statement binds for a decimal of the given number
// of ten-thousandths: the double nearest to it, as the column keeps it.
func decimalArgument(tenThousandths int64) any { return float64(tenThousandths) / decimalUnit }
