package tracing

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
)

// Statements records a span for each statement of a database that runs within a recorded trace. The span of a query
// ends when its rows have been read. It has the text of the statement, but not the arguments.
type Statements struct {
	System string // name of the database system
	// Kind returns the kind of an error. Spans hold it in place of the text, which may quote values.
	Kind func(err error) string
	// Wrap returns a connection of the driver as a Conn.
	Wrap func(driver.Conn) Conn
}

// A Conn is a connection with the methods that package sql may call.
type Conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// A stmt is a prepared statement of a Conn.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Connector returns a connector whose connections record spans.
func (s *Statements) Connector(c driver.Connector) driver.Connector { return tracedConnector{c, s} }

type tracedConnector struct {
	driver.Connector
	*Statements
}

// Connect opens a connection.
func (c tracedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, span := c.start(ctx, statement{operation: "CONNECT"})
	conn, err := c.Connector.Connect(ctx)
	c.end(span, err)
	if err != nil {
		return nil, err
	}
	return &tracedConn{c.Wrap(conn), c.Statements}, nil
}

type tracedConn struct {
	Conn
	statements *Statements
}

// PrepareContext prepares a statement.
func (c *tracedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	about := parseStatement(text)
	ctx, span := c.statements.start(ctx, statement{"PREPARE", about.table, about.text})
	prepared, err := c.Conn.PrepareContext(ctx, text)
	c.statements.end(span, err)
	if err != nil {
		return nil, err
	}
	return tracedStmt{prepared.(stmt), about, c.statements}, nil
}

// ExecContext runs a statement without rows.
func (c *tracedConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Result, error) {
	if !Recording(ctx) {
		return c.Conn.ExecContext(ctx, text, arguments)
	}
	ctx, span := c.statements.start(ctx, parseStatement(text))
	result, err := c.Conn.ExecContext(ctx, text, arguments)
	c.statements.end(span, err)
	return result, err
}

// QueryContext runs a statement with rows.
func (c *tracedConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Rows, error) {
	if !Recording(ctx) {
		return c.Conn.QueryContext(ctx, text, arguments)
	}
	return c.statements.query(ctx, parseStatement(text), func(ctx context.Context) (driver.Rows, error) {
		return c.Conn.QueryContext(ctx, text, arguments)
	})
}

// BeginTx begins a transaction, which may wait for the lock of a database file.
func (c *tracedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	begin, span := c.statements.start(ctx, statement{operation: "BEGIN"})
	tx, err := c.Conn.BeginTx(begin, options)
	c.statements.end(span, err)
	if err != nil || !Recording(ctx) {
		return tx, err
	}
	return tracedTx{tx, ctx, c.statements}, nil
}

type tracedStmt struct {
	stmt
	about      statement
	statements *Statements
}

// ExecContext runs the statement without rows.
func (s tracedStmt) ExecContext(ctx context.Context, arguments []driver.NamedValue) (driver.Result, error) {
	ctx, span := s.statements.start(ctx, s.about)
	result, err := s.stmt.ExecContext(ctx, arguments)
	s.statements.end(span, err)
	return result, err
}

// QueryContext runs the statement with rows.
func (s tracedStmt) QueryContext(ctx context.Context, arguments []driver.NamedValue) (driver.Rows, error) {
	if !Recording(ctx) {
		return s.stmt.QueryContext(ctx, arguments)
	}
	return s.statements.query(ctx, s.about, func(ctx context.Context) (driver.Rows, error) {
		return s.stmt.QueryContext(ctx, arguments)
	})
}

// A tracedTx is a transaction that was begun within a recorded trace.
type tracedTx struct {
	driver.Tx
	ctx        context.Context //nolint:containedctx // driver.Tx takes none
	statements *Statements
}

// Commit commits the transaction.
func (t tracedTx) Commit() error { return t.end("COMMIT", t.Tx.Commit) }

// Rollback rolls the transaction back.
func (t tracedTx) Rollback() error { return t.end("ROLLBACK", t.Tx.Rollback) }

func (t tracedTx) end(operation string, end func() error) error {
	_, span := t.statements.start(t.ctx, statement{operation: operation})
	err := end()
	t.statements.end(span, err)
	return err
}

// tracedRows end a span when they are closed.
type tracedRows struct {
	driver.Rows
	span       Span
	statements *Statements
	read       int
	failed     error
}

// Next reads the next row.
func (r *tracedRows) Next(into []driver.Value) error {
	err := r.Rows.Next(into)
	switch {
	case err == nil:
		r.read++
	case !errors.Is(err, io.EOF):
		r.failed = err
	}
	return err
}

// Close ends the rows.
func (r *tracedRows) Close() error {
	err := r.Rows.Close()
	r.span.SetInt("db.response.returned_rows", r.read)
	if r.failed == nil {
		r.failed = err
	}
	r.statements.end(r.span, r.failed)
	return err
}

// query runs a statement with rows.
func (s *Statements) query(ctx context.Context, about statement, run func(context.Context) (driver.Rows, error)) (driver.Rows, error) {
	ctx, span := s.start(ctx, about)
	rows, err := run(ctx)
	if err != nil {
		s.end(span, err)
		return nil, err
	}
	return &tracedRows{Rows: rows, span: span, statements: s}, nil
}

// start starts the span of a statement.
func (s *Statements) start(ctx context.Context, about statement) (context.Context, Span) {
	ctx, span := Start(ctx, Client, about.operation, about.table)
	span.SetString("db.system.name", s.System)
	span.SetString("db.operation.name", about.operation)
	span.SetString("db.collection.name", about.table)
	span.SetString("db.query.text", about.text)
	return ctx, span
}

// end ends the span of a statement. Texts of errors may quote values.
func (s *Statements) end(span Span, err error) {
	if errors.Is(err, driver.ErrSkip) {
		return // nothing was sent: package sql prepares the statement now. A span without an end is dropped.
	}
	if err != nil && span.Recording() {
		span.Fail(s.Kind(err))
	}
	span.End()
}

// A statement describes a statement in a trace.
type statement struct {
	operation string // its first word, in capitals
	table     string // the first table that it names; may be empty
	text      string // spans hold the beginning of it
}

// parseStatement describes a statement by its text. In a SELECT, a table outside parentheses takes precedence over the
// tables of subqueries. Statements in another style than package sqlstore's may get a wrong table, or none.
func parseStatement(text string) statement {
	s := statement{text: text}
	depth, nested := 0, ""
	for rest := text; ; {
		word, after := nextWord(rest)
		rest = after
		switch word {
		case "":
			s.table = nested
			return s
		case "(":
			depth++
			continue
		case ")":
			depth--
			continue
		}
		upper := strings.ToUpper(word)
		s.operation = cmp.Or(s.operation, upper)
		if upper == "FROM" || upper == "INTO" || upper == "UPDATE" && s.operation == upper {
			table, _ := nextWord(rest)
			switch {
			case !isName(table):
			case depth <= 0 || s.operation != "SELECT":
				s.table = table
				return s
			default:
				nested = cmp.Or(nested, table)
			}
		}
	}
}

// nextWord returns the first word of a text without quotation marks, or the character in its
// place, and the rest of the text.
func nextWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t\r\n")
	end := strings.IndexAny(text, " \t\r\n(),;")
	switch {
	case end < 0:
		end = len(text)
	case end == 0:
		end = 1
	}
	return strings.Trim(text[:end], "\"`"), text[end:]
}

// isName reports whether a word can be the name of a table.
func isName(word string) bool {
	return word != "" && strings.Trim(word, "_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
