package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"runtime"
	"time"
)

const (
	// connectTimeout bounds making a connection, where the DSN does not.
	connectTimeout = 10 * time.Second
	// lockSeconds is how long a statement waits for a record's lock.
	lockSeconds = 5
	// idleSeconds is how long a transaction may be idle before the server ends it and
	// frees its locks, because its process has probably died.
	idleSeconds = 60
	// connectionIdle and connectionLife bound how long a connection stays open, unused
	// and at all, so that the pools reach a new server after a failover.
	connectionIdle = 5 * time.Minute
	connectionLife = time.Hour
)

// openServer opens the connection pools of a database server. Writers have a pool of
// their own, so that writers waiting for locks do not keep readers waiting.
func openServer(writing, reading driver.Connector, o PoolOptions) Pools {
	processors := runtime.GOMAXPROCS(0)
	readers := openPool(o.wrap(reading), cmp.Or(o.Readers, max(8, 4*processors)))
	writer := openPool(o.wrap(writing), cmp.Or(o.Writers, max(4, 2*processors)))
	return Pools{Writer: writer, Readers: readers, CredentialReaders: readers}
}

func openPool(c driver.Connector, connections int) *sql.DB {
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(connectionIdle)
	pool.SetConnMaxLifetime(connectionLife)
	return pool
}

// An initConnector runs a statement on every new connection.
type initConnector struct {
	driver.Connector
	statement string
}

// Connect opens a connection and runs the statement on it.
func (c initConnector) Connect(ctx context.Context) (driver.Conn, error) {
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
