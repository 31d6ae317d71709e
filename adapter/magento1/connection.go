package magento1

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter"
)

// A conn reads rows of the database of a legacy store, at the rate that Options ask for. It knows
// the tables' names and columns and the encoding of their texts. It must not be used concurrently.
type conn struct {
	Database string      // the name of the database
	Prefix   string      // of the names of all tables
	Text     textDecoder // decodes texts

	pool    *sql.DB
	rate    int                  // rows per second; 0: no maximum
	later   bool                 // the caller pauses
	columns map[string]columnSet // by table name, with the prefix; nil for tables that are missing
	from    Position             // the position that snapshots must reach and that has not been visible yet
	rows    int                  // number of rows read since the last pause
	free    time.Time            // when the next rows may be read, with a rate
	bytes   int                  // size of the rows read by the last Retry
}

// A columnSet holds the names of a table's columns, in lower case.
type columnSet map[string]bool

// Table returns the quoted name of a table, with the prefix.
func (c *conn) Table(name string) string { return quoteName(c.Prefix + name) }

// quoteName quotes the name of a table or a column.
func quoteName(name string) string { return "`" + name + "`" }

// Retry runs f in a transaction, and once more in another one if the connection is lost.
func (c *conn) Retry(ctx context.Context, f func(*sql.Tx) error) error {
	for again := true; ; again = false {
		c.bytes = 0
		err := c.InReadOnlyTx(ctx, f)
		switch {
		case err == nil || ctx.Err() != nil || !isConnectionLost(err):
			return err
		case !again:
			return fmt.Errorf("the connection to the legacy database was lost twice in a row, so start again where this has stopped: %w", err)
		}
	}
}

// isConnectionLost reports whether a statement failed because the connection ended.
func isConnectionLost(err error) bool {
	if fault, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return fault.Number == 1053 || fault.Number == 1927 // shutdown, connection killed
	}
	var network net.Error
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// InReadOnlyTx runs f in a read-only transaction in which all statements see the same
// snapshot. Afterwards it pauses as Options.Rate demands.
func (c *conn) InReadOnlyTx(ctx context.Context, f func(*sql.Tx) error) error {
	if err := c.awaitPosition(ctx); err != nil {
		return c.wrapError(ctx, err)
	}
	tx, err := c.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if isFault(err, 1064) { // the server does not know READ ONLY
		return errOldServer
	}
	if err == nil {
		err = f(tx)
		if end := rollback(ctx, tx); err == nil { // a read-only transaction has nothing to commit
			err = end
		}
	}
	if err != nil {
		return c.wrapError(ctx, err)
	}
	return c.pause(ctx)
}

// rollback ends a transaction, and waits for that at most until ctx ends: the driver would wait for
// a server that hangs.
func rollback(ctx context.Context, tx *sql.Tx) error {
	ended := make(chan error, 1)
	go func() { ended <- tx.Rollback() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits as long as reading the rows should have taken that were read since the last
// pause.
func (c *conn) pause(ctx context.Context) error {
	rows := c.rows
	if c.rows = 0; c.rate == 0 {
		return nil
	}
	if now := time.Now(); c.free.Before(now) {
		c.free = now
	}
	c.free = c.free.Add(time.Duration(rows) * time.Second / time.Duration(c.rate))
	if c.later {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(c.free) {
		return fmt.Errorf("%w: there is no time left to pause as the rate demands", context.DeadlineExceeded)
	}
	timer := time.NewTimer(time.Until(c.free))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

var (
	// deniedTable finds the name of the table in the server's message, and deniedColumn the name of
	// the column.
	deniedTable  = regexp.MustCompile("(?:for|in) table .*?[`']?([A-Za-z0-9_$]+)[`']?$")
	deniedColumn = regexp.MustCompile("for column [`']([^`']+)[`']")
)

// wrapError adds context to an error. It returns the error of ctx if that has ended.
func (c *conn) wrapError(ctx context.Context, err error) error {
	var fault *mysql.MySQLError
	errors.As(err, &fault)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isMissingTable(err):
		return fmt.Errorf("%w: check that it is a database of Magento 1.4.1 or later, or OpenMage, and that its table prefix is %q", err, c.Prefix)
	case fault != nil && (fault.Number == 1142 || fault.Number == 1143): // a table or a column may not be read
		return c.explainDenied(fault.Message)
	default:
		return fmt.Errorf("read the legacy database: %w", err)
	}
}

// explainDenied returns an error that names the table or column which the user may not read, and
// the right to ask for.
func (c *conn) explainDenied(message string) error {
	table, what := "*", "a table that the import needs"
	if found := deniedTable.FindStringSubmatch(message); found != nil {
		table = quoteName(found[1])
		what = "the table " + table
	}
	if found := deniedColumn.FindStringSubmatch(message); found != nil {
		what = "the column " + quoteName(found[1]) + " of " + what
	}
	return fmt.Errorf("the user may not read %s: an administrator of the database can allow it by GRANT SELECT ON `%s`.%s TO that user", what, c.Database, table)
}

// isMissingTable reports whether a statement failed because a table does not exist.
func isMissingTable(err error) bool { return isFault(err, 1146) }

// isFault reports whether an error is one of the server with a number.
func isFault(err error, number uint16) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && fault.Number == number
}

// ColumnsOf returns the columns of a table, or nil if there is no such table.
func (c *conn) ColumnsOf(ctx context.Context, tx *sql.Tx, table string) (columnSet, error) {
	name := c.Prefix + table
	if known, ok := c.columns[name]; ok {
		return known, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+quoteName(name)+" LIMIT 0")
	if isMissingTable(err) {
		c.columns[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	there := columnSet{}
	for _, column := range names {
		there[strings.ToLower(column)] = true
	}
	c.columns[name] = there
	return there, rows.Err()
}

// A row holds the columns of a row until the next one is read. nil is NULL.
type row []sql.RawBytes

// ID returns a column that holds an integer, or 0 if it does not.
func (r row) ID(column int) int64 {
	n, err := strconv.ParseInt(string(r[column]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Each calls f for every row of a statement.
func (c *conn) Each(ctx context.Context, tx *sql.Tx, text string, f func(row) error, arguments ...any) error {
	rows, err := tx.QueryContext(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	columns := make(row, len(names))
	into := make([]any, len(names))
	for i := range columns {
		into[i] = &columns[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		c.rows++
		for _, column := range columns {
			c.bytes += len(column)
		}
		if err := f(columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// TextOf returns a column as a text.
func (c *conn) TextOf(column sql.RawBytes) string {
	s, _ := c.Text.Decode(column)
	return s
}

// Options are the records to read, the database to read them from, and how to read it.
type Options struct {
	ServerOptions
	// Schemas describe the records to read.
	Schemas *adapter.Schemas
	// Skipped is called for everything in the tables that no record holds, while the caller
	// iterates over Records. It may be nil.
	Skipped func(Skipped)
}

// A Database is an open database of Magento 1 or OpenMage. All that it reads comes from one server:
// after a lost connection it fails with ErrOtherServer if another one has taken its place. It must
// not be used concurrently.
type Database struct {
	conn    *connection
	schemas *adapter.Schemas
	digests map[Part]rangeStatement
}

// Open connects to a database, as [openServer] does.
func Open(ctx context.Context, o Options) (*Database, error) {
	conn, err := openServer(ctx, o.ServerOptions)
	if err != nil {
		return nil, err
	}
	return &Database{conn: &connection{conn: conn, skipped: o.Skipped, once: map[Skipped]bool{}}, schemas: o.Schemas, digests: map[Part]rangeStatement{}}, nil
}

// Close closes the connection.
func (d *Database) Close() error { return d.conn.pool.Close() }

// Free returns when the rows that were read so far would have been read at the rate.
func (d *Database) Free() time.Time { return d.conn.free }

// Identity returns the identity of the server and the end of its binary log.
func (d *Database) Identity(ctx context.Context) (Identity, error) {
	return d.conn.Identity(ctx)
}

// ReadFrom makes all later reads of d use snapshots that hold everything up to p. Without
// it they need not: a server writes a transaction to its log first, and shows it to
// other connections later, by seconds if a replica or a disk is slow. Reads wait for that, and
// fail if it takes longer than a minute.
func (d *Database) ReadFrom(p Position) { d.conn.from = p }

// Forget makes d ask the server again which columns and attributes there are, instead of taking
// them as they were when d first read them.
func (d *Database) Forget() {
	clear(d.conn.columns)
	clear(d.digests)
}
