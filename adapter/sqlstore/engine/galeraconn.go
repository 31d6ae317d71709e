package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

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
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "--") {
			return slices.Contains([]string{"CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "ANALYZE"}, strings.ToUpper(words[0]))
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

// A galeraConnector runs a statement on every new connection, and prepares it for a node of a Galera
// cluster if the server is one.
type galeraConnector struct {
	driver.Connector
	statement string
	isNode    *atomic.Bool // whether the server of the latest connection was a node
}

// syncWait makes a node apply the commits of the cluster before it begins a transaction (1), a change
// outside of one (2) or an insert outside of one (4).
const syncWait = "SET SESSION wsrep_sync_wait = 7"

// Connect opens a connection. It refuses a node that does not serve.
func (c galeraConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := initConnector{c.Connector, c.statement}.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepareNode(ctx, conn); err != nil {
		_ = conn.Close() // the error says more
		return nil, err
	}
	if c.isNode.Load() {
		conn = &nodeConn{Conn: Wrap(conn)}
	}
	return newKeptConn(conn), nil
}

// isNodeSQL selects whether the server is a node of a Galera cluster: 0 or 1. MySQL does not know the
// variable.
const isNodeSQL = "SELECT @@wsrep_on"

// isUnknownVariable reports whether a statement failed because the server lacks a variable.
func isUnknownVariable(err error) bool {
	e := (*mysql.MySQLError)(nil)
	return errors.As(err, &e) && e.Number == unknownVariable
}

// prepareNode finds out whether the server is a node.
func (c galeraConnector) prepareNode(ctx context.Context, conn driver.Conn) error {
	on, err := lastColumn(ctx, conn, isNodeSQL)
	if isUnknownVariable(err) {
		on, err = "0", nil
	}
	if err != nil {
		return err
	}
	c.isNode.Store(on == "1")
	if on != "1" {
		return nil
	}
	if ready, err := lastColumn(ctx, conn, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'"); err != nil || ready != "ON" {
		return errors.Join(errNotReady, err)
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx, syncWait, nil)
	return err
}

const (
	unknownVariable  = 1193
	deadlock         = 1213
	unknownStatement = 1243
	staleStatement   = 1615 // it has to be prepared again
	nodeNotReady     = 1047 // of MariaDB; the statement has not begun
)

// errNotReady means that a node of a cluster does not serve: it has lost the others, or is copying
// their data.
var errNotReady = errors.New("the node of the Galera cluster is not ready: wsrep_ready is OFF")

// errReadOnlyNode means that an administrator has made a node read-only.
var errReadOnlyNode = errors.New("the node of the Galera cluster is read-only: read_only is ON")

// lastColumn returns the last column of the first row of a statement as text.
func lastColumn(ctx context.Context, conn driver.Conn, text string) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return "", err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = errors.Join(rows.Next(row), rows.Close())
	if err != nil {
		return "", err
	}
	if b, ok := row[len(row)-1].([]byte); ok {
		return string(b), nil
	}
	return fmt.Sprint(row[len(row)-1]), nil
}

// checkNode fails if the server is a node of a cluster that cannot write. The node waits until it has
// applied the commits of the cluster, which a node that has lost the others cannot do.
func checkNode(ctx context.Context, p Pools) error {
	if !p.IsCluster() {
		return nil
	}
	var readOnly int
	var ready sql.NullString
	row := p.Readers.QueryRowContext(ctx, "SELECT @@global.read_only, (SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_ready')")
	if err := row.Scan(&readOnly, &ready); err != nil {
		return err
	}
	switch {
	case ready.String != "ON":
		return errNotReady
	case readOnly != 0:
		return errReadOnlyNode
	default:
		return nil
	}
}

// hasLostNode reports whether an error means that the server does not serve, while another node may.
func hasLostNode(err error) bool {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return e.Number == nodeNotReady
	}
	return errors.Is(err, errNotReady) || errors.Is(err, errReadOnlyNode)
}
