package magento1

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
)

// A hangingServer accepts connections and transactions, and does not end any until released.
type hangingServer struct {
	driver.Conn
	ending, released chan struct{}
}

// Connect implements [driver.Connector].
func (s *hangingServer) Connect(context.Context) (driver.Conn, error) { return s, nil }

// Driver implements [driver.Connector].
func (s *hangingServer) Driver() driver.Driver { return nil }

// BeginTx implements [driver.ConnBeginTx].
func (s *hangingServer) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return s, nil }

// Commit implements [driver.Tx].
func (s *hangingServer) Commit() error { return nil }

// Rollback implements [driver.Tx].
func (s *hangingServer) Rollback() error {
	close(s.ending)
	<-s.released
	return nil
}

// Close implements [driver.Conn].
func (s *hangingServer) Close() error { return nil }

// TestHangingServer gives up waiting for a server that does not end a transaction.
func TestHangingServer(t *testing.T) {
	server := &hangingServer{ending: make(chan struct{}), released: make(chan struct{})}
	c := &conn{pool: sql.OpenDB(server)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-server.ending
		cancel()
	}()
	if err := c.InReadOnlyTx(ctx, func(*sql.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	close(server.released)
	if err := c.pool.Close(); err != nil {
		t.Error(err)
	}
}
