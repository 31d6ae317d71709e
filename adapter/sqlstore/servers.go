package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"runtime"
	"time"
)

const (
	// connectTimeout bounds making a connection, where the DSN does not.
	connectTimeout = 10 * time.Second
	// lockSeconds is how long a statement waits for the lock of a record.
	lockSeconds = 5
	// idleSeconds is how long a transaction may do nothing before the server
	// ends it and frees its locks: its process is gone.
	idleSeconds = 60
	// Connections are closed when unused, and renewed now and then, so that they
	// come back to a server that was replaced.
	connectionIdle = 5 * time.Minute
	connectionLife = time.Hour
)

// openServer opens the pools of a database server. They are apart, so that
// writers that wait for one another keep no reader waiting.
func openServer(writing, reading driver.Connector) pools {
	processors := runtime.GOMAXPROCS(0)
	readers := openPool(reading, max(8, 4*processors))
	return pools{writer: openPool(writing, max(4, 2*processors)), readers: readers, credentials: readers}
}

func openPool(c driver.Connector, connections int) *sql.DB {
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(connectionIdle)
	pool.SetConnMaxLifetime(connectionLife)
	return pool
}

// A preparedConnector runs a statement on every new connection.
type preparedConnector struct {
	driver.Connector
	statement string
}

// Connect makes a connection.
func (c preparedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.statement, nil); err != nil {
		_ = conn.Close() // the statement's error says more
		return nil, err
	}
	return conn, nil
}
