package engine

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// hostTimeout is connectTimeout for a DSN with several hosts: a host that does not answer
	// must not keep the next one from being asked.
	hostTimeout = 3 * time.Second
	// recheckAfter is how old the last check of a connection may be when it is borrowed, and
	// recheckTimeout how long a server may take to answer the next one.
	recheckAfter   = time.Second
	recheckTimeout = 2 * time.Second
)

// postgresSettings are the settings of all sessions. They are set by a statement rather than by
// start-up parameters: poolers refuse unknown parameters, and target_session_attrs of the DSN
// must find the server's own default_transaction_read_only.
func postgresSettings(readOnly string) string {
	return "SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET standard_conforming_strings = on;" +
		" SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = " + readOnly + ";" +
		" SET lock_timeout = '" + strconv.Itoa(lockSeconds) + "s'; SET idle_in_transaction_session_timeout = '" + strconv.Itoa(idleSeconds) + "s'"
}

// postgresSessions are the connections to one database in all pools. A failover makes all of
// them useless, and the first one that notices retires the others: a connection belongs to a
// generation, and a connection of an earlier generation is replaced when it is borrowed, which
// costs no round trip. A failover is noticed by
//
//   - the check of a borrowed connection, at most one in recheckAfter for each: whether the
//     server answers and still has the role, primary or standby, that it had at the start of the
//     session. A server changes its role beneath a session where a standby is promoted, and
//     behind a proxy or pooler that moves sessions to another server;
//   - an error which means that the server is shutting down, or that it cannot be written.
type postgresSessions struct{ generation atomic.Int64 }

// A postgresSession is the state of one connection.
type postgresSession struct {
	generation int64
	standby    bool // role of the server at the start
	checked    time.Time
}

// sessionKey is the key of the postgresSession among the custom data of a connection.
const sessionKey = "portico"

// connector returns a connector for a pool whose sessions have some settings. readers are pools
// whose statements fail by design if they write, which is no sign of a failover.
func (p *postgresSessions) connector(config *pgx.ConnConfig, settings string, readers bool) driver.Connector {
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeoutOf(config))
	if config.ValidateConnect == nil {
		// A standby shows old records and accepts no writes. A DSN selects one with
		// target_session_attrs=standby.
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		generation := p.generation.Load()
		standby, err := startSession(ctx, conn, settings)
		conn.CustomData()[sessionKey] = &postgresSession{generation, standby, time.Now()}
		return err
	}
	config.OnPgError = func(conn *pgconn.PgConn, e *pgconn.PgError) bool {
		switch {
		case e.Code == readOnlyTransaction && !readers:
			p.retire(conn)
			return false
		case e.Code == "57P01", e.Code == "57P02": // shutdown, crash of another process
			p.retire(conn)
		}
		return !strings.EqualFold(e.Severity, "FATAL") // as without this function
	}
	return stdlib.GetConnector(*config,
		stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }), // the check includes a ping
		stdlib.OptionResetSession(func(ctx context.Context, conn *pgx.Conn) error { return p.check(ctx, conn.PgConn()) }))
}

// connectTimeoutOf returns the default of connect_timeout, which limits the attempt at one host.
func connectTimeoutOf(config *pgx.ConnConfig) time.Duration {
	for _, next := range config.Fallbacks {
		if next.Host != config.Host || next.Port != config.Port { // not the same one without TLS
			return hostTimeout
		}
	}
	return connectTimeout
}

// retire causes all connections that are as old as conn or older to be replaced.
func (p *postgresSessions) retire(conn *pgconn.PgConn) {
	if s, ok := conn.CustomData()[sessionKey].(*postgresSession); ok {
		p.generation.CompareAndSwap(s.generation, s.generation+1) // or another connection has done so
	}
}

// check fails with driver.ErrBadConn, after which package sql tries another connection, if the
// server of a borrowed connection has changed its role or does not answer.
func (p *postgresSessions) check(ctx context.Context, conn *pgconn.PgConn) error {
	s, ok := conn.CustomData()[sessionKey].(*postgresSession)
	if !ok || s.generation != p.generation.Load() {
		return driver.ErrBadConn
	}
	if time.Since(s.checked) < recheckAfter {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, recheckTimeout)
	defer cancel()
	standby, err := startSession(limited, conn, "")
	switch {
	case err != nil && ctx.Err() != nil: // the caller has given up, which closes the connection
		return driver.ErrBadConn
	case err != nil, standby != s.standby:
		p.retire(conn)
		return driver.ErrBadConn
	}
	s.checked = time.Now()
	return nil
}

// startSession sets settings, and reports whether the server is a standby, in one round trip.
func startSession(ctx context.Context, conn *pgconn.PgConn, settings string) (standby bool, err error) {
	results, err := conn.Exec(ctx, settings+"; SELECT pg_is_in_recovery()").ReadAll()
	if err != nil {
		return false, err
	}
	last := results[len(results)-1]
	return len(last.Rows) == 1 && string(last.Rows[0][0]) == "t", nil
}

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
