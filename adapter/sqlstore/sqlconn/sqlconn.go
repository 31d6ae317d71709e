// Package sqlconn is what wrappers of the connections of package sqlstore have in common. Package
// sql asks a connection for optional methods, so that a wrapper without one of them would change
// how statements run. A wrapper embeds [Conn], and adds to the methods that it is about.
//
// It is tested where it is used: package sqlstore runs statements on all engines through wrappers
// that record or block them.
package sqlconn

import (
	"context"
	"database/sql/driver"
)

// A Full has the methods that the connections of all engines implement.
type Full interface {
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

// A Conn passes everything on to a connection, also what only some engines implement.
type Conn struct{ Full }

// Wrap returns a Conn for a connection that a driver of package sqlstore has opened.
func Wrap(c driver.Conn) Conn { return Conn{c.(Full)} }

// IsValid reports what the connection says of itself; one that says nothing is valid.
func (c Conn) IsValid() bool {
	v, ok := c.Full.(driver.Validator)
	return !ok || v.IsValid()
}

// CheckNamedValue has the connection check a value, or leaves that to package sql.
func (c Conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Full.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// PrepareStmt is PrepareContext with the methods that all engines have.
func (c Conn) PrepareStmt(ctx context.Context, text string) (Stmt, error) {
	stmt, err := c.Full.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.(Stmt), nil
}
