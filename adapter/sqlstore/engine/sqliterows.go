package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A sqliteConn is a connection whose queries may also run without the driver and package sql, which make two
// objects of each column and start a goroutine for each query. It keeps the statements that it has prepared for
// them.
type sqliteConn struct {
	Conn
	db   uintptr // the handle; 0 if it is not known
	tls  *libc.TLS
	kept map[string]*sqliteStmt
}

// A sqliteStmt is a prepared statement.
type sqliteStmt struct {
	handle     uintptr
	parameters int
	kept       bool
	texts      bool // it is bound to texts
}

// Close closes the connection and its statements.
func (c *sqliteConn) Close() error {
	for _, s := range c.kept {
		lib.Xsqlite3_finalize(c.tls, s.handle)
	}
	c.kept = nil
	err := c.Conn.Close()
	c.tls.Close()
	return err
}

// statement returns the prepared statement of text, which the connection keeps unless it has too many.
func (c *sqliteConn) statement(text string) (*sqliteStmt, error) {
	if s := c.kept[text]; s != nil {
		return s, nil
	}
	const size = 8 // bytes of a pointer
	into := c.tls.Alloc(2 * size)
	defer c.tls.Free(2 * size)
	defer c.release(text)
	source, end := c.allocate(text), into+size
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, source, int32(len(text)), lib.SQLITE_PREPARE_PERSISTENT, into, end); rc != lib.SQLITE_OK {
		return nil, c.fault(rc)
	}
	s := &sqliteStmt{handle: *sqliteMemory[uintptr](into)}
	if s.handle == 0 || *sqliteMemory[uintptr](end) != source+uintptr(len(text)) { // no statement, or several
		lib.Xsqlite3_finalize(c.tls, s.handle)
		return nil, errNotDirect
	}
	s.parameters = int(lib.Xsqlite3_bind_parameter_count(c.tls, s.handle))
	if s.kept = len(c.kept) < maxStatements; s.kept {
		c.kept[strings.Clone(text)] = s
	}
	return s, nil
}

// allocate copies text to memory that SQLite can read until the next call of release with the same text.
func (c *sqliteConn) allocate(text string) uintptr {
	address := c.tls.Alloc(max(1, len(text)))
	if text != "" {
		copy(libc.GoBytes(address, len(text)), text)
	}
	return address
}

func (c *sqliteConn) release(text string) { c.tls.Free(max(1, len(text))) }

// bind sets the parameters of a statement.
func (c *sqliteConn) bind(s *sqliteStmt, arguments []any) error {
	if len(arguments) != s.parameters {
		return fmt.Errorf("the statement has %d parameters and got %d arguments", s.parameters, len(arguments))
	}
	for i, argument := range arguments {
		if _, ok := argument.(string); ok {
			s.texts = true
		}
		if rc := c.bindOne(s.handle, int32(i+1), argument); rc != lib.SQLITE_OK {
			return c.fault(rc)
		}
	}
	return nil
}

// bindOne sets a parameter to a value that bindable accepts.
func (c *sqliteConn) bindOne(s uintptr, place int32, argument any) (rc int32) {
	switch v := argument.(type) {
	case int64:
		return lib.Xsqlite3_bind_int64(c.tls, s, place, v)
	case int:
		return lib.Xsqlite3_bind_int64(c.tls, s, place, int64(v))
	case float64:
		return lib.Xsqlite3_bind_double(c.tls, s, place, v)
	case string:
		defer c.release(v)
		return lib.Xsqlite3_bind_text(c.tls, s, place, c.allocate(v), int32(len(v)), lib.SQLITE_TRANSIENT)
	}
	return lib.Xsqlite3_bind_null(c.tls, s, place)
}

// fault returns the error of a call that returned rc.
func (c *sqliteConn) fault(rc int32) error {
	return &sqliteError{int(rc), libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))}
}

// A sqliteError is an error of SQLite that the driver has not seen.
type sqliteError struct {
	code int // an extended result code, which the driver has asked for
	text string
}

// Error returns the message of SQLite.
func (e *sqliteError) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

// Code returns the extended result code, as the driver's errors do.
func (e *sqliteError) Code() int { return e.code }

// sqliteRows are the rows of a statement. Their connection belongs to them until they are closed.
type sqliteRows struct {
	ctx  context.Context //nolint:containedctx // as package sql has it
	conn *sql.Conn
	own  *sqliteConn
	stmt *sqliteStmt // nil after Close
	err  error
	end  bool
	stop func() bool // ends the wait for the end of ctx

	mu     sync.Mutex
	closed bool // the connection must not be interrupted any more
}

// interruptEvery is the time between the first two attempts to interrupt a statement, as SQLite forgets an interruption
// that precedes the first step; it doubles each time.
const interruptEvery = 5 * time.Millisecond

// querySQLite runs a statement outside a transaction, on a connection of pool. It fails with errNotDirect if
// package sql has to run it.
func querySQLite(ctx context.Context, pool *sql.DB, text string, arguments []any) (Rows, error) {
	if !bindable(arguments) {
		return nil, errNotDirect
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	r := &sqliteRows{ctx: ctx, conn: conn}
	err = conn.Raw(func(c any) error {
		r.own = c.(*sqliteConn)
		if r.own.db == 0 {
			return errNotDirect
		}
		return nil
	})
	if err == nil {
		r.stmt, err = r.own.statement(text)
	}
	if err == nil {
		err = r.own.bind(r.stmt, arguments)
	}
	if err != nil {
		r.reset()
		return nil, errors.Join(err, conn.Close())
	}
	if ctx.Done() != nil {
		r.stop = context.AfterFunc(ctx, r.interrupt)
	}
	return r, nil
}

// interrupt interrupts the statement until the rows are closed. A wait for a lock of another process ends by its own
// limit (sqliteBusyTimeout); readers wait only while another process recovers the file.
func (r *sqliteRows) interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	for pause := interruptEvery; r.interruptOnce(tls); pause *= 2 {
		time.Sleep(pause)
	}
}

// interruptOnce interrupts the statement and returns true, unless the rows are closed.
func (r *sqliteRows) interruptOnce(tls *libc.TLS) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		lib.Xsqlite3_interrupt(tls, r.own.db)
	}
	return !r.closed
}

// Next reads the next row, if there is one.
func (r *sqliteRows) Next() bool {
	if r.end || r.stmt == nil {
		return false
	}
	r.end = true
	if r.err = r.ctx.Err(); r.err != nil {
		return false
	}
	switch rc := lib.Xsqlite3_step(r.own.tls, r.stmt.handle); rc {
	case lib.SQLITE_ROW:
		r.end = false
		return true
	case lib.SQLITE_DONE:
		return false
	default:
		if r.err = r.ctx.Err(); r.err == nil {
			r.err = r.own.fault(rc)
		}
		return false
	}
}

// Err returns the error that ended the rows, if there is one.
func (r *sqliteRows) Err() error { return r.err }

// Close ends the statement, and returns the connection to its pool.
func (r *sqliteRows) Close() error {
	if r.stmt == nil {
		return nil
	}
	if r.stop != nil && !r.stop() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
	}
	r.reset()
	return r.conn.Close()
}

// reset ends the statement, if there is one. Its errors are the errors of the last step.
func (r *sqliteRows) reset() {
	if r.stmt == nil {
		return
	}
	if r.stmt.kept {
		lib.Xsqlite3_reset(r.own.tls, r.stmt.handle)
		if r.stmt.texts { // which would stay in memory
			lib.Xsqlite3_clear_bindings(r.own.tls, r.stmt.handle)
		}
	} else {
		lib.Xsqlite3_finalize(r.own.tls, r.stmt.handle)
	}
	r.stmt = nil
}

// Scan stores the columns of the current row in dest.
func (r *sqliteRows) Scan(dest ...any) error {
	if r.stmt == nil || r.end {
		return errNoRow
	}
	if len(dest) != int(lib.Xsqlite3_data_count(r.own.tls, r.stmt.handle)) {
		return errColumns
	}
	for i := range dest {
		// SQLite lets callers read the value of a column by the functions for values where the connection has no
		// mutex. They are faster than the functions for columns.
		c := sqliteColumn{r.own.tls, lib.Xsqlite3_column_value(r.own.tls, r.stmt.handle, int32(i))}
		if err := c.scan(dest[i]); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// A sqliteColumn is a column of the current row.
type sqliteColumn struct {
	tls   *libc.TLS
	value uintptr
}

// scan stores the column in dest.
func (c sqliteColumn) scan(dest any) error {
	kind := lib.Xsqlite3_value_type(c.tls, c.value)
	switch into := dest.(type) {
	case *Cell:
		return c.scanCell(kind, into)
	case *int64:
		if kind == lib.SQLITE_INTEGER {
			*into = lib.Xsqlite3_value_int64(c.tls, c.value)
			return nil
		}
	case *int:
		if kind == lib.SQLITE_INTEGER {
			*into = int(lib.Xsqlite3_value_int64(c.tls, c.value))
			return nil
		}
	case *string:
		if kind == lib.SQLITE_TEXT {
			*into = c.text()
			return nil
		}
	case *sql.NullString:
		if kind == lib.SQLITE_TEXT {
			*into = sql.NullString{String: c.text(), Valid: true}
			return nil
		}
	}
	return scanValue(dest, c.driverValue(kind))
}

// scanCell stores the column in a cell.
func (c sqliteColumn) scanCell(kind int32, into *Cell) error {
	switch kind {
	case lib.SQLITE_TEXT, lib.SQLITE_BLOB:
		return into.text(c.text())
	case lib.SQLITE_INTEGER:
		return into.integer(lib.Xsqlite3_value_int64(c.tls, c.value))
	case lib.SQLITE_FLOAT:
		return into.float(lib.Xsqlite3_value_double(c.tls, c.value))
	}
	return into.Scan(nil)
}

// driverValue returns the column as the driver does.
func (c sqliteColumn) driverValue(kind int32) driver.Value {
	switch kind {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_value_int64(c.tls, c.value)
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_value_double(c.tls, c.value)
	case lib.SQLITE_TEXT:
		return c.text()
	case lib.SQLITE_BLOB:
		return []byte(c.text())
	}
	return nil
}

// text returns a copy of the bytes of a text, and the digits of a number.
func (c sqliteColumn) text() string {
	address := lib.Xsqlite3_value_text(c.tls, c.value)
	size := lib.Xsqlite3_value_bytes(c.tls, c.value)
	if address == 0 || size == 0 {
		return ""
	}
	return string(libc.GoBytes(address, int(size)))
}
