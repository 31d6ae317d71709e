package sqltest

import (
	"context"
	"database/sql/driver"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"slices"
	"sync"
)

// Statements records the statements that go through the connections of a pool; pass its
// Wrap method to sqlstore.Options. It does not record BEGIN, COMMIT and ROLLBACK. The
// zero value is ready for use.
type Statements struct {
	mu       sync.Mutex
	executed []string
	prepared []string
}

// Take returns the texts of the statements executed and of the statements prepared since the last
// call, each in their order.
func (s *Statements) Take() (executed, prepared []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	executed, prepared = s.executed, s.prepared
	s.executed, s.prepared = nil, nil
	return slices.Clip(executed), slices.Clip(prepared)
}

func (s *Statements) execute(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed = append(s.executed, text)
}

func (s *Statements) prepare(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared = append(s.prepared, text)
}

// Wrap returns a connector that records the statements of c's connections.
func (s *Statements) Wrap(c driver.Connector) driver.Connector {
	return watchedConnector{c, s}
}

type watchedConnector struct {
	driver.Connector
	statements *Statements
}

func (c watchedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{engine.Wrap(conn), c.statements}, nil
}

type watchedConn struct {
	engine.Conn
	statements *Statements
}

func (c *watchedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := c.PrepareStmt(ctx, text)
	if err != nil {
		return nil, err
	}
	c.statements.prepare(text)
	return watchedStmt{stmt, text, c.statements}, nil
}

func (c *watchedConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, text, arguments)
	if err != driver.ErrSkip { // database/sql then prepares it
		c.statements.execute(text)
	}
	return result, err
}

func (c *watchedConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, text, arguments)
	if err != driver.ErrSkip { // database/sql then prepares it
		c.statements.execute(text)
	}
	return rows, err
}

type watchedStmt struct {
	engine.Stmt
	text       string
	statements *Statements
}

func (s watchedStmt) ExecContext(ctx context.Context, arguments []driver.NamedValue) (driver.Result, error) {
	s.statements.execute(s.text)
	return s.Stmt.ExecContext(ctx, arguments)
}

func (s watchedStmt) QueryContext(ctx context.Context, arguments []driver.NamedValue) (driver.Rows, error) {
	s.statements.execute(s.text)
	return s.Stmt.QueryContext(ctx, arguments)
}
