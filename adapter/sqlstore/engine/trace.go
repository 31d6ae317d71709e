package engine

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"github.com/portico-commerce/portico/adapter/tracing"
)

// TraceStatements returns a function that wraps a connector as wrap does, and records a span
// for each statement of its connections that runs within a recorded trace. The span of a query
// ends when its rows have been read. It has the text of the statement, but not the arguments.
func TraceStatements(e *Engine, wrap func(driver.Connector) driver.Connector) func(driver.Connector) driver.Connector {
	return func(c driver.Connector) driver.Connector { return tracedConnector{PoolOptions{Wrap: wrap}.wrap(c), e} }
}

type tracedConnector struct {
	driver.Connector
	engine *Engine
}

// Connect opens a connection.
func (c tracedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, span := c.engine.startSpan(ctx, statement{operation: "CONNECT"})
	conn, err := c.Connector.Connect(ctx)
	c.engine.endSpan(span, err)
	if err != nil {
		return nil, err
	}
	return &tracedConn{Wrap(conn), c.engine}, nil
}

type tracedConn struct {
	Conn
	engine *Engine
}

// PrepareContext prepares a statement.
func (c *tracedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	about := parseStatement(text)
	ctx, span := c.engine.startSpan(ctx, statement{"PREPARE", about.table, about.text})
	stmt, err := c.PrepareStmt(ctx, text)
	c.engine.endSpan(span, err)
	if err != nil {
		return nil, err
	}
	return tracedStmt{stmt, about, c.engine}, nil
}

// ExecContext runs a statement without rows.
func (c *tracedConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Result, error) {
	if !tracing.Recording(ctx) {
		return c.Conn.ExecContext(ctx, text, arguments)
	}
	ctx, span := c.engine.startSpan(ctx, parseStatement(text))
	result, err := c.Conn.ExecContext(ctx, text, arguments)
	c.engine.endSpan(span, err)
	return result, err
}

// QueryContext runs a statement with rows.
func (c *tracedConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Rows, error) {
	if !tracing.Recording(ctx) {
		return c.Conn.QueryContext(ctx, text, arguments)
	}
	return c.engine.query(ctx, parseStatement(text), func(ctx context.Context) (driver.Rows, error) {
		return c.Conn.QueryContext(ctx, text, arguments)
	})
}

// BeginTx begins a transaction, which may wait for the lock of a database file.
func (c *tracedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	begin, span := c.engine.startSpan(ctx, statement{operation: "BEGIN"})
	tx, err := c.Conn.BeginTx(begin, options)
	c.engine.endSpan(span, err)
	if err != nil || !tracing.Recording(ctx) {
		return tx, err
	}
	return tracedTx{tx, ctx, c.engine}, nil
}

type tracedStmt struct {
	Stmt
	about  statement
	engine *Engine
}

// ExecContext runs the statement without rows.
func (s tracedStmt) ExecContext(ctx context.Context, arguments []driver.NamedValue) (driver.Result, error) {
	ctx, span := s.engine.startSpan(ctx, s.about)
	result, err := s.Stmt.ExecContext(ctx, arguments)
	s.engine.endSpan(span, err)
	return result, err
}

// QueryContext runs the statement with rows.
func (s tracedStmt) QueryContext(ctx context.Context, arguments []driver.NamedValue) (driver.Rows, error) {
	if !tracing.Recording(ctx) {
		return s.Stmt.QueryContext(ctx, arguments)
	}
	return s.engine.query(ctx, s.about, func(ctx context.Context) (driver.Rows, error) {
		return s.Stmt.QueryContext(ctx, arguments)
	})
}

// A tracedTx is a transaction that was begun within a recorded trace.
type tracedTx struct {
	driver.Tx
	ctx    context.Context //nolint:containedctx // driver.Tx takes none
	engine *Engine
}

// Commit commits the transaction.
func (t tracedTx) Commit() error { return t.end("COMMIT", t.Tx.Commit) }

// Rollback rolls the transaction back.
func (t tracedTx) Rollback() error { return t.end("ROLLBACK", t.Tx.Rollback) }

func (t tracedTx) end(operation string, end func() error) error {
	_, span := t.engine.startSpan(t.ctx, statement{operation: operation})
	err := end()
	t.engine.endSpan(span, err)
	return err
}

// tracedRows end a span when they are closed.
type tracedRows struct {
	driver.Rows
	span   tracing.Span
	engine *Engine
	read   int
	failed error
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
	r.engine.endSpan(r.span, r.failed)
	return err
}

// query runs a statement with rows.
func (e *Engine) query(ctx context.Context, about statement, run func(context.Context) (driver.Rows, error)) (driver.Rows, error) {
	ctx, span := e.startSpan(ctx, about)
	rows, err := run(ctx)
	if err != nil {
		e.endSpan(span, err)
		return nil, err
	}
	return &tracedRows{Rows: rows, span: span, engine: e}, nil
}

// startSpan starts the span of a statement.
func (e *Engine) startSpan(ctx context.Context, about statement) (context.Context, tracing.Span) {
	ctx, span := tracing.Start(ctx, tracing.Client, about.operation, about.table)
	span.SetString("db.system.name", e.System)
	span.SetString("db.operation.name", about.operation)
	span.SetString("db.collection.name", about.table)
	span.SetString("db.query.text", about.text)
	return ctx, span
}

// endSpan ends the span of a statement. Texts of errors may quote values.
func (e *Engine) endSpan(span tracing.Span, err error) {
	if errors.Is(err, driver.ErrSkip) {
		return // nothing was sent: package sql prepares the statement now. A span without an end is dropped.
	}
	if err != nil && span.Recording() {
		kind, _ := e.Classify(err)
		span.Fail(kind.String())
	}
	span.End()
}

// A statement describes a statement in a trace.
type statement struct {
	operation string // its first word, in capitals
	table     string // the first table that it names; may be empty
	text      string // spans hold the beginning of it
}

// parseStatement describes a statement by its text. Statements in another style than this
// package's may get a wrong table, or none.
func parseStatement(text string) statement {
	s := statement{text: text}
	for rest := text; ; {
		word, after := nextWord(rest)
		if word == "" {
			return s
		}
		rest = after
		upper := strings.ToUpper(word)
		s.operation = cmp.Or(s.operation, upper)
		if upper == "FROM" || upper == "INTO" || upper == "UPDATE" && s.operation == upper {
			if table, _ := nextWord(rest); isName(table) {
				s.table = table
				return s
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
