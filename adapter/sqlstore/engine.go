package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/huandu/go-sqlbuilder"
	"github.com/pressly/goose/v3"

	"github.com/portico-commerce/portico/adapter"
)

// An engine holds everything in which one kind of database differs from the others.
type engine struct {
	// system is the name of the database system in traces.
	system string
	// validate checks a DSN without the engine's prefix. Its error says what would be
	// valid, and repeats nothing of the DSN, which may hold a password.
	validate func(dsn string) error
	// open opens the pools, with connectors that wrap may replace. With create, it
	// creates a missing database file.
	open func(dsn string, create bool, wrap func(driver.Connector) driver.Connector) (pools, error)
	// mediaDir returns the folder for media beside a database file; nil for an engine
	// without database files.
	mediaDir func(dsn string) string
	// location returns where the database of a valid DSN is, without user and password.
	location func(dsn string) string

	dialect    goose.Dialect
	migrations string // folder of its migrations
	// migrationLock keeps two processes from migrating at once. It has no statements if
	// the transactions of the migrations suffice.
	migrationLock serverLock
	// lockImports keeps two processes from importing at once, as [Imports.Lock] says. It is
	// given a pool that has a connection to spare, the name that open was given, and how long
	// the process may be silent, as [Imports.LockWithin] says; 0: as long as it likes.
	lockImports func(ctx context.Context, readers *sql.DB, dsn string, wait, silence time.Duration) (release func() error, err error)

	flavor sqlbuilder.Flavor
	// numberedParameters is true if parameters are written $1, $2, …, and false if they
	// are question marks.
	numberedParameters bool
	// lockClause ends a SELECT that locks the rows it finds; "" if a writing transaction
	// locks the whole database at its start.
	lockClause string
	// shareClause ends a SELECT that keeps the rows it finds from being changed until the
	// transaction ends, while others may do so too; "" as for lockClause.
	shareClause string
	// ascending and descending follow a column in ORDER BY; both sort NULL below every
	// value.
	ascending, descending string
	// likeFormat formats a LIKE that compares characters exactly and whose escape
	// character is the backslash, from the column, "" or "NOT ", and the parameter.
	likeFormat string
	// casts holds, for an attribute's kind, the type to which a stored text is cast
	// before it is compared. Kinds without an entry are compared as text.
	casts map[adapter.Kind]string
	// isTableSQL selects a row for the name of a table, and none for that of a view.
	isTableSQL string
	// ignoreDuplicateNonce ends an INSERT of a nonce, so that it changes no row if the
	// nonce exists already.
	ignoreDuplicateNonce string
	// ignoreDuplicateNote ends an INSERT into imported_record in the same way.
	ignoreDuplicateNote string
	// now is an expression for the present time of the database's clock, in milliseconds
	// since 1970. That of SQLite is this machine's.
	now string
	// upsert ends an INSERT, so that it gives the named columns of a row that exists with
	// the same key, a column or several with commas, the values of the new one.
	upsert func(key string, columns ...string) string
	// lastKeyFollows is true if the keys that an INSERT of several rows generates are
	// consecutive, and the last insert id is the last of them. It is not used with
	// useReturning.
	lastKeyFollows bool
	// useReturning is true if an INSERT returns the new key by a RETURNING clause, and
	// false if the driver reports a last insert id.
	useReturning bool
	// analyze renews the statistics by which statements are planned; "" for an engine that
	// does without.
	analyze  string
	counters counterStatements
	// decimal returns the argument of a statement for a decimal.
	decimal func(tenThousandths int64) any
	// classify returns the kind of a driver's error, and whether the transaction failed
	// only because of concurrent ones, so that it is worth a retry.
	classify func(error) (kind adapter.ErrorKind, again bool)
	// inspector finds out what a database of the engine is like.
	inspector inspector
}

// pools are the connections to one database.
type pools struct {
	writer  *sql.DB
	readers *sql.DB // connections that cannot write
	// credentialReaders is used to authenticate callers. It may be the same pool as
	// readers if that has enough connections beside those that long lists occupy.
	credentialReaders *sql.DB
}

// close closes all connections once their statements have ended.
func (p pools) close() error {
	err := errors.Join(p.readers.Close(), p.writer.Close())
	if p.credentialReaders != p.readers {
		err = errors.Join(err, p.credentialReaders.Close())
	}
	return err
}

// listedAsNull returns a condition that the column nulls lists an attribute.
func (e *engine) listedAsNull(sb *sqlbuilder.SelectBuilder, nulls, attribute string) string {
	return fmt.Sprintf(e.likeFormat, nulls, "", sb.Var(inNulls(attribute)))
}

// inNulls returns the LIKE pattern of a list of attributes that holds one. In their names,
// which are letters, digits and underscores, only these have a meaning.
func inNulls(attribute string) string { return "%," + strings.ReplaceAll(attribute, "_", `\_`) + ",%" }

// cast returns an expression that converts a stored text to a value of the kind.
func (e *engine) cast(expression string, kind adapter.Kind) string {
	if to := e.casts[kind]; to != "" {
		return "CAST(" + expression + " AS " + to + ")"
	}
	return expression
}

// rebind replaces the question marks of a statement by the engine's parameters. The
// statement must have no question marks besides.
func (e *engine) rebind(text string) string {
	if !e.numberedParameters {
		return text
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		text = after
	}
}

// upsertOnConflict returns the end of an INSERT as SQLite and PostgreSQL write it.
func upsertOnConflict(key string, columns ...string) string {
	assignments := make([]string, len(columns))
	for i, name := range columns {
		assignments[i] = name + " = excluded." + name
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(assignments, ", ")
}

// connectionLost reports whether a driver's error comes from the connection rather than
// from the server.
func connectionLost(err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
