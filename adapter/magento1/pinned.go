package magento1

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// serverStatements returns the statements that ask a server for its identity. The first one that it
// accepts counts.
func serverStatements() []string {
	return []string{"SELECT @@server_uuid", "SELECT @@server_uid", "SELECT @@server_id"}
}

// A pinnedConnector connects to one server only: the server of the first connection.
type pinnedConnector struct {
	driver.Connector
	mu     sync.Mutex
	server string // "": not connected yet
}

// Connect implements [driver.Connector].
func (c *pinnedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	server, err := identify(ctx, conn)
	if err == nil && !c.accept(server) {
		err = ErrOtherServer
	}
	if err != nil {
		_ = conn.Close() // the first error says more
		return nil, err
	}
	return conn, nil
}

// accept reports whether a server is the server of the first connection.
func (c *pinnedConnector) accept(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = cmp.Or(c.server, server)
	return c.server == server
}

// identify returns the identity of a connection's server.
func identify(ctx context.Context, conn driver.Conn) (server string, err error) {
	for _, statement := range serverStatements() {
		server, err = firstValue(ctx, conn.(driver.QueryerContext), statement)
		if _, ok := errors.AsType[*mysql.MySQLError](err); err == nil || !ok {
			return server, err
		}
	}
	return "a server that does not say", nil
}

// firstValue returns the only value of a statement as a text.
func firstValue(ctx context.Context, conn driver.QueryerContext, statement string) (text string, err error) {
	rows, err := conn.QueryContext(ctx, statement, nil)
	if err != nil {
		return "", err
	}
	values := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(values); err == nil {
		text = fmt.Sprint(values[0])
	} else if err == io.EOF {
		err = nil
	}
	return text, errors.Join(err, rows.Close())
}
