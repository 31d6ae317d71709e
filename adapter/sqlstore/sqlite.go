package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
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

// sqliteBusy is how long a writer waits for another process, in milliseconds.
const sqliteBusy = 5000

// sqliteEngine is SQLite. One connection writes, in transactions that take the
// write lock at once, so rows need no locks of their own.
func sqliteEngine() *engine {
	return &engine{
		valid:      validSQLitePath,
		open:       openSQLite,
		dialect:    goose.DialectSQLite3,
		migrations: "sqlite",
		flavor:     sqlbuilder.SQLite,
		ascending:  " ASC",
		descending: " DESC",
		// The LIKE of SQLite ignores the case of ASCII letters, which folded texts
		// have in one case only.
		like:     `%s %sLIKE %s ESCAPE '\'`,
		casts:    map[adapter.Kind]string{adapter.KindInteger: "INTEGER"},
		newNonce: " ON CONFLICT (nonce) DO NOTHING",
		counting: counting{restart: func(c counter) string {
			return "DELETE FROM sqlite_sequence WHERE name = '" + c.table + "'"
		}},
		// The column keeps the double nearest to the decimal.
		decimal:  func(tenThousandths int64) any { return float64(tenThousandths) / decimalUnit },
		classify: classifySQLite,
	}
}

func validSQLitePath(path string) error {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return errors.New(`want "sqlite:" and the path of a file`)
	case strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return errors.New("want the path of a file: in memory, readers and the writer would not share a database")
	}
	return nil
}

// openSQLite opens the writing connection and the pool of readers of a file. A
// file that is made is readable by its owner alone: it will hold secrets.
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
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)", sqliteBusy) +
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

func classifySQLite(err error) (kind adapter.ErrorKind, again bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return adapter.Internal, false
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_NOTNULL, lib.SQLITE_CONSTRAINT_CHECK, lib.SQLITE_CONSTRAINT_DATATYPE:
		return adapter.Invalid, false
	}
	switch e.Code() & 0xff { // the rest of the code is detail
	case lib.SQLITE_CONSTRAINT:
		return adapter.Conflict, false
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_FULL, lib.SQLITE_PROTOCOL, lib.SQLITE_NOMEM:
		return adapter.Unavailable, false
	default:
		return adapter.Internal, false
	}
}
