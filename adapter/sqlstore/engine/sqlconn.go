package engine

import (
	"context"
	"database/sql/driver"
)

// A full has the methods that the connections of all engines implement.
type full interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
}

// A Stmt has the methods that the prepared statements of all engines implement.
type Stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// A Conn forwards all calls to a connection, including calls of methods that only some engines
// implement.
type Conn struct{ full }

// Wrap returns a Conn for a connection that a driver of package sqlstore has opened.
func Wrap(c driver.Conn) Conn { return Conn{c.(full)} }

// IsValid reports whether the connection is valid. A connection without this method counts as
// valid.
func (c Conn) IsValid() bool {
	v, ok := c.full.(driver.Validator)
	return !ok || v.IsValid()
}

// CheckNamedValue has the connection check a value, or leaves that to package sql.
func (c Conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.full.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// PrepareStmt is PrepareContext with the methods that all engines have.
func (c Conn) PrepareStmt(ctx context.Context, text string) (Stmt, error) {
	stmt, err := c.full.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.(Stmt), nil
}
