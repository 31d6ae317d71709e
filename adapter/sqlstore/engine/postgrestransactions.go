package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// transactionScope holds the statements that set up each transaction where a connection has the
// session of the server for one transaction only. All their settings end with the transaction, so
// that no other client of the pooler sees them.
type transactionScope struct {
	begin string // begins a transaction of several statements
	each  string // precedes a statement that is a transaction of its own
}

// postgresScope returns the scope of the transactions of a pool.
func postgresScope(readOnly bool) transactionScope {
	mode, access := "off", "READ WRITE"
	if readOnly {
		mode, access = "on", "READ ONLY"
	}
	lock, idle := strconv.Itoa(lockSeconds)+"s", strconv.Itoa(idleSeconds)+"s"
	return transactionScope{
		begin: "BEGIN ISOLATION LEVEL READ COMMITTED " + access + "; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO, YMD';" +
			" SET LOCAL lock_timeout = '" + lock + "'; SET LOCAL idle_in_transaction_session_timeout = '" + idle + "'",
		// SET LOCAL has an effect only after BEGIN.
		each: "SELECT set_config('transaction_read_only', '" + mode + "', true), set_config('timezone', 'UTC', true)," +
			" set_config('datestyle', 'ISO, YMD', true), set_config('lock_timeout', '" + lock + "', true)",
	}
}

// A scopedConnector opens connections through a pooler in transaction mode.
type scopedConnector struct {
	driver.Connector
	scope transactionScope
}

// Connect opens a connection.
func (c scopedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &scopedConn{Wrap(conn), conn.(*stdlib.Conn).Conn(), c.scope}, nil
}

// A scopedConn has a server's session only while a transaction runs. Statements outside a
// transaction are sent together with the settings of their scope, in one round trip: until the
// client asks the server to end it, everything sent is one transaction. Their arguments are
// described by statements without a name, which the driver remembers; nothing is prepared in the
// session.
type scopedConn struct {
	Conn
	pgx   *pgx.Conn
	scope transactionScope
}

var errPrepare = errors.New("statements cannot be prepared through a pooler in transaction mode")

// PrepareContext fails: the next transaction may have another session of the server.
func (c *scopedConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errPrepare
}

// BeginTx begins a transaction.
func (c *scopedConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if c.pgx.IsClosed() {
		return nil, driver.ErrBadConn
	}
	tx, err := c.pgx.BeginTx(ctx, pgx.TxOptions{BeginQuery: c.scope.begin})
	if err != nil {
		return nil, err
	}
	return scopedTx{ctx, tx}, nil
}

// ExecContext runs a statement without rows.
func (c *scopedConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Result, error) {
	if c.inTransaction() {
		return c.Conn.ExecContext(ctx, text, arguments)
	}
	results, err := c.send(ctx, text, arguments)
	if err != nil {
		return nil, err
	}
	tag, err := results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return driver.RowsAffected(tag.RowsAffected()), err
}

// QueryContext runs a statement with rows.
func (c *scopedConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Rows, error) {
	if c.inTransaction() {
		return c.Conn.QueryContext(ctx, text, arguments)
	}
	results, err := c.send(ctx, text, arguments)
	if err != nil {
		return nil, err
	}
	found, err := results.Query()
	if err != nil {
		_ = results.Close() // its error is the same
		return nil, err
	}
	rows := &scopedRows{results: results, rows: found, types: c.pgx.TypeMap()}
	rows.more = found.Next() // errors of the statement are errors of the query, not of its rows
	rows.ahead = true
	if err := found.Err(); err != nil {
		_ = rows.Close()
		return nil, err
	}
	return rows, nil
}

// inTransaction reports whether the connection is within a transaction of several statements.
func (c *scopedConn) inTransaction() bool { return c.pgx.PgConn().TxStatus() != 'I' }

// send sends a statement after the settings of its scope, and returns the results of the statement.
func (c *scopedConn) send(ctx context.Context, text string, arguments []driver.NamedValue) (pgx.BatchResults, error) {
	if c.pgx.IsClosed() {
		return nil, driver.ErrBadConn
	}
	values := make([]any, len(arguments))
	for i, a := range arguments {
		values[i] = a.Value
	}
	batch := &pgx.Batch{}
	batch.Queue(c.scope.each)
	batch.Queue(text, values...)
	results := c.pgx.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // its error is the same
		if pgconn.SafeToRetry(err) {
			err = driver.ErrBadConn
		}
		return nil, err
	}
	return results, nil
}

// A scopedTx is a transaction of several statements.
type scopedTx struct {
	ctx context.Context //nolint:containedctx // driver.Tx takes none
	tx  pgx.Tx
}

// Commit commits the transaction.
func (t scopedTx) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback rolls the transaction back.
func (t scopedTx) Rollback() error { return t.tx.Rollback(t.ctx) }

// scopedRows are the rows of a statement outside a transaction.
type scopedRows struct {
	results     pgx.BatchResults
	rows        pgx.Rows
	types       *pgtype.Map
	ahead, more bool // ahead: the next row has already been read; more: there is one
}

// Columns returns the names of the columns.
func (r *scopedRows) Columns() []string {
	fields := r.rows.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Next reads the next row.
func (r *scopedRows) Next(into []driver.Value) error {
	if !r.ahead {
		r.more = r.rows.Next()
	}
	r.ahead = false
	if !r.more {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	fields := r.rows.FieldDescriptions()
	for i, raw := range r.rows.RawValues() {
		var err error
		if into[i], err = r.value(fields[i], raw); err != nil {
			return err
		}
	}
	return nil
}

// value returns a value in the form that package sql accepts and that the driver returns otherwise.
func (r *scopedRows) value(field pgconn.FieldDescription, raw []byte) (driver.Value, error) {
	known, ok := r.types.TypeForOID(field.DataTypeOID)
	switch {
	case raw == nil:
		return nil, nil
	case !ok:
		return string(raw), nil
	}
	return known.Codec.DecodeDatabaseSQLValue(r.types, field.DataTypeOID, field.Format, raw)
}

// Close ends the rows, and with them the transaction.
func (r *scopedRows) Close() error {
	r.rows.Close()
	return r.results.Close()
}
