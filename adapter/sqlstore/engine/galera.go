package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

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
		return &nodeConn{Conn: Wrap(conn)}, nil
	}
	return conn, nil
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
	unknownVariable = 1193
	deadlock        = 1213
	nodeNotReady    = 1047 // of MariaDB; the statement has not begun
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
