package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// A nodeConn is a connection to a node of a Galera cluster. The node rolls a transaction back if a
// transaction of another node was first, and reports that in its answer to the next command. MariaDB
// (10.11) forgets it if that command prepares or closes a statement: later statements of the transaction
// then take effect one by one, and COMMIT succeeds. A nodeConn therefore checks whether the transaction
// still exists: after such commands before it runs a statement, and always before it commits. The error is
// the error of a deadlock, so that the transaction is repeated.
type nodeConn struct {
	Conn
	inTx   bool
	unsure bool // whether the node may have silently rolled the transaction back
}

// errRolledBack has the number of a deadlock, which MariaDB also returns for this failure.
var errRolledBack = &mysql.MySQLError{Number: deadlock, Message: "the node has rolled the transaction back because one of another node was first"}

// requireTx fails if the node has rolled the transaction back.
func (c *nodeConn) requireTx(ctx context.Context) error {
	in, err := lastColumn(ctx, c.full, "SELECT @@in_transaction")
	if err == nil && in != "1" {
		err = errRolledBack
	}
	if err == nil {
		c.unsure = false
	}
	return err
}

// begin checks the transaction, if necessary, before a statement runs.
func (c *nodeConn) begin(ctx context.Context) error {
	if !c.inTx || !c.unsure {
		return nil
	}
	return c.requireTx(ctx)
}

// BeginTx begins a transaction.
func (c *nodeConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	c.inTx, c.unsure = true, false
	return nodeTx{tx, c}, nil
}

// PrepareContext prepares a statement.
func (c *nodeConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := c.PrepareStmt(ctx, text)
	c.unsure = true
	if err != nil {
		return nil, err
	}
	return nodeStmt{stmt, c}, nil
}

// ExecContext runs a statement without rows.
func (c *nodeConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Result, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	if commitsFirst(text) {
		c.inTx = false
	}
	return c.Conn.ExecContext(ctx, text, arguments)
}

// commitsFirst reports whether a statement, such as one of a migration, commits the transaction before it
// runs.
func commitsFirst(text string) bool {
	for line := range strings.Lines(text) {
		if word, _ := nextWord(line); word != "" && !strings.HasPrefix(word, "--") {
			return slices.Contains([]string{"CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "ANALYZE"}, strings.ToUpper(word))
		}
	}
	return false
}

// QueryContext runs a statement with rows.
func (c *nodeConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Rows, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	return c.Conn.QueryContext(ctx, text, arguments)
}

type nodeStmt struct {
	Stmt
	conn *nodeConn
}

// ExecContext runs the statement without rows.
func (s nodeStmt) ExecContext(ctx context.Context, arguments []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.begin(ctx); err != nil {
		return nil, err
	}
	return s.Stmt.ExecContext(ctx, arguments)
}

// QueryContext runs the statement with rows.
func (s nodeStmt) QueryContext(ctx context.Context, arguments []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.begin(ctx); err != nil {
		return nil, err
	}
	return s.Stmt.QueryContext(ctx, arguments)
}

// Close closes the statement.
func (s nodeStmt) Close() error {
	s.conn.unsure = true
	return s.Stmt.Close()
}

type nodeTx struct {
	driver.Tx
	conn *nodeConn
}

// Commit commits the transaction, unless the node has rolled it back.
func (t nodeTx) Commit() error {
	if t.conn.inTx {
		if err := t.conn.requireTx(context.Background()); err != nil {
			return errors.Join(err, t.Rollback())
		}
	}
	t.conn.inTx = false
	return t.Tx.Commit()
}

// Rollback rolls the transaction back.
func (t nodeTx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}
