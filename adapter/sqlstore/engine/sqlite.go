package engine

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// sqliteBusyTimeout is how long a writer waits for another process, in milliseconds.
const sqliteBusyTimeout = 5000

// sqliteEngine returns the engine of SQLite. There is one connection that writes, in
// transactions that lock the database at their start, so rows need no locks.
func sqliteEngine() *Engine {
	return &Engine{
		System:           "sqlite",
		validate:         validSQLitePath,
		Open:             openSQLite,
		mediaDir:         func(path string) string { return path + "-media" },
		location:         locationOfSQLite,
		dialect:          goose.DialectSQLite3,
		migrations:       "sqlite",
		tryMigrationLock: lockSQLiteMigrations,
		LockImports:      lockSQLiteImports,
		Flavor:           sqlbuilder.SQLite,
		Ascending:        " ASC",
		Descending:       " DESC",
		// SQLite's LIKE ignores the case of ASCII letters, which does not matter, as
		// folded texts have them in one case only.
		LikeFormat:         `%s %sLIKE %s ESCAPE '\'`,
		WithTrailingBlanks: "%s || SUBSTR(%[2]s, LENGTH(RTRIM(%[2]s)) + 1)",
		LeadingInteger:     "CASE WHEN %[1]s GLOB '[0-9]*' THEN CAST(%[1]s AS INTEGER) END",
		OptionID:           "CASE WHEN %[1]s.value GLOB '[0-9]*' THEN CAST(%[1]s.value AS INTEGER) END",
		casts:              map[adapter.Kind]string{adapter.KindInteger: "INTEGER", adapter.KindDecimal: "REAL"},
		IsTableSQL:         "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
		IgnoreDuplicate:    func(key string) string { return " ON CONFLICT (" + key + ") DO NOTHING" },
		Now:                "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
		Upsert:             upsertOnConflict,
		LastKeyFollows:     true,
		Scrub:              []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"},
		Counters: CounterStatements{
			Restart: func(c Counter) string { return "DELETE FROM sqlite_sequence WHERE name = '" + c.Table + "'" },
			PassKey: passSQLite,
			Last: func(c Counter) string {
				return "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = '" + c.Table + "'), 0)"
			},
		},
		// The column stores the double nearest to the decimal.
		Decimal:     func(tenThousandths int64) any { return float64(tenThousandths) / decimalUnit },
		Classify:    classifySQLite,
		queryDirect: querySQLite,
	}
}

// passSQLite returns the statements of CounterStatements.PassKey.
func passSQLite(c Counter, key int64) (behind string, move []string) {
	number := strconv.FormatInt(key, 10)
	return "SELECT 1 WHERE COALESCE((SELECT seq FROM sqlite_sequence WHERE name = '" + c.Table + "'), 0) < " + number, []string{
		"DELETE FROM sqlite_sequence WHERE name = '" + c.Table + "'",
		"INSERT INTO sqlite_sequence (name, seq) VALUES ('" + c.Table + "', " + number + ")",
	}
}

func validSQLitePath(path string) error {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return errors.New(`must be "sqlite:" and the path of a file`)
	case strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return errors.New("must be the path of a file: readers and the writer cannot share a database in memory")
	}
	return nil
}

// sqliteCredentialConnections is the number of connections that only read credentials,
// so that authentication never waits for long lists.
const sqliteCredentialConnections = 2

// openSQLite opens the pools of a database file. Only the owner can read a file that it
// creates, since the file will hold secrets.
func openSQLite(path string, o PoolOptions) (Pools, error) {
	if o.PerTransaction {
		return Pools{}, ErrPerTransaction
	}
	flags := os.O_RDWR
	if o.Create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return Pools{}, err
	}
	if err := f.Close(); err != nil {
		return Pools{}, err
	}
	// With synchronous(NORMAL) a power failure could lose acknowledged commits.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)", sqliteBusyTimeout) +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	writing, err := sqlite.NewConnector(dsn + "&_txlock=immediate")
	if err != nil {
		return Pools{}, err
	}
	reading, err := sqlite.NewConnector(dsn + "&_pragma=query_only(1)")
	if err != nil {
		return Pools{}, err
	}
	open := func(c driver.Connector, connections int) *sql.DB {
		pool := sql.OpenDB(o.wrap(sqliteConnector{c}))
		pool.SetMaxOpenConns(connections)
		pool.SetMaxIdleConns(connections)
		return pool
	}
	return Pools{
		Writer:            open(writing, 1),
		Readers:           open(reading, max(4, 2*runtime.GOMAXPROCS(0))),
		CredentialReaders: open(reading, sqliteCredentialConnections),
	}, nil
}

func classifySQLite(err error) (kind adapter.ErrorKind, again bool) {
	if errors.Is(err, errSharedLost) {
		return adapter.Unavailable, true
	}
	var e interface{ Code() int } // of the driver, or our own
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

// locationOfSQLite hides paths that look like the DSN of a server with its prefix missing,
// which may hold a password.
func locationOfSQLite(path string) string {
	if strings.ContainsAny(path, "@:=") {
		return "sqlite"
	}
	return "sqlite:" + path
}
