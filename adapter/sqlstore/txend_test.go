package sqlstore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A blockingConnector opens connections to a server that seems to hang: once it is armed,
// the next COMMIT or ROLLBACK blocks until it is released, even if its context ends.
type blockingConnector struct {
	driver.Connector
	armed   *atomic.Bool
	reached chan struct{} // closed when that COMMIT or ROLLBACK blocks
	release chan struct{}
}

func (c blockingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return blockingConn{engine.Wrap(conn), c}, nil
}

type blockingConn struct {
	engine.Conn
	connector blockingConnector
}

func (c blockingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	return blockingTx{tx, c.connector}, err
}

type blockingTx struct {
	driver.Tx
	connector blockingConnector
}

func (tx blockingTx) Commit() error   { return tx.connector.block(tx.Tx.Commit) }
func (tx blockingTx) Rollback() error { return tx.connector.block(tx.Tx.Rollback) }

func (c blockingConnector) block(end func() error) error {
	if c.armed.CompareAndSwap(true, false) {
		close(c.reached)
		<-c.release
	}
	return end()
}

// TestUnansweredCommit checks that a write whose COMMIT or ROLLBACK gets no answer
// returns when its context ends, and releases its connection when the answer arrives.
func TestUnansweredCommit(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		name := "COMMIT"
		if refuses {
			name = "ROLLBACK"
		}
		t.Run(name, func(t *testing.T) {
			sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
				armed, reached, release := new(atomic.Bool), make(chan struct{}), make(chan struct{})
				s := stock(t, sqlstore.OpenWith(t, sqlstore.Options{DSN: sqlstore.NewDemo(t, e), Wrap: func(c driver.Connector) driver.Connector {
					return blockingConnector{c, armed, reached, release}
				}}))
				var err error
				var refusal error
				if refuses {
					refusal = errors.New("not this one")
				}
				update := func(ctx context.Context, qty string) error {
					return s.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
						return attrs{"qty": qty}.Record(current.Schema), refusal
					}})
				}

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				armed.Store(true)
				go func() { ended <- update(ctx, "7.0000") }()
				<-reached
				cancel()
				select {
				case err = <-ended:
				case <-time.After(testenv.Patience(t)):
					t.Error("the write waits for the server")
				}
				close(release)
				want := context.Canceled
				if refuses {
					want = refusal
				}
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
				refusal = nil
				if err := update(t.Context(), "8.0000"); err != nil {
					t.Errorf("the next write: %v", err)
				}
			})
		})
	}
}
