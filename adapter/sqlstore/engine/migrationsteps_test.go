package engine_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A killed is a process that ends at a statement: the last statement reaches the server or not, and
// no later one does.
type killed struct {
	left     atomic.Int64 // statements until the end
	executed bool         // the last one is executed
}

var errKilled = errors.New("the process was killed")

// do executes a statement of a process that may be killed.
func (k *killed) do(statement func() error) error {
	switch left := k.left.Add(-1); {
	case left > 0:
		return statement()
	case left == 0 && k.executed:
		return errors.Join(errKilled, statement())
	default:
		return errKilled
	}
}

// A killedConnector opens the connections of such a process.
type killedConnector struct {
	driver.Connector
	*killed
}

func (c killedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.left.Load() <= 0 {
		return nil, errKilled
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return killedConn{engine.Wrap(conn), c.killed}, nil
}

type killedConn struct {
	engine.Conn
	killed *killed
}

func (c killedConn) ExecContext(ctx context.Context, text string, arguments []driver.NamedValue) (r driver.Result, err error) {
	err = c.killed.do(func() error { r, err = c.Conn.ExecContext(ctx, text, arguments); return err })
	return r, err
}

func (c killedConn) QueryContext(ctx context.Context, text string, arguments []driver.NamedValue) (r driver.Rows, err error) {
	err = c.killed.do(func() error { r, err = c.Conn.QueryContext(ctx, text, arguments); return err })
	return r, err
}

func (c killedConn) PrepareContext(ctx context.Context, text string) (s driver.Stmt, err error) {
	err = c.killed.do(func() error { s, err = c.Conn.PrepareContext(ctx, text); return err })
	return s, err
}

// TestMigrationKilled is TestMigrationKilledOnce for many statements.
func TestMigrationKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	killMigrations(t)
}

// TestMigrationKilledOnce kills processes at a few statements of the migrations of an empty database,
// before or after the server has executed them. The next process completes the migrations.
func TestMigrationKilledOnce(t *testing.T) { killMigrations(t) }

func killMigrations(t *testing.T) {
	t.Helper()
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		migrate := func(dsn string, statements int64, executed bool) (used int64, err error) {
			k := &killed{executed: executed}
			k.left.Store(statements)
			db, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true, Wrap: func(c driver.Connector) driver.Connector {
				return killedConnector{c, k}
			}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Engine.Migrate(t.Context(), db.Writer, db.Name, nil)
			_ = db.Close() // its statements fail as well
			return statements - k.left.Load(), err
		}
		columns := func(dsn string) []string {
			db, err := engine.Open(engine.Options{DSN: dsn})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			schema := "DATABASE()"
			if e.Name == "postgres" {
				schema = "current_schema()"
			}
			all, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(db.Readers.QueryContext),
				"SELECT CONCAT(table_name, '.', column_name, ' ', data_type) FROM information_schema.columns WHERE table_schema = "+schema+" ORDER BY table_name, column_name")
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		whole := e.Empty(t)
		total, err := migrate(whole, math.MaxInt32, false)
		if err != nil {
			t.Fatal(err)
		}
		want := columns(whole)
		sample := testenv.NewSample(t)
		killed := 0
		for n := range total {
			for _, executed := range []bool{false, true} {
				if !sample.Takes(80) {
					continue
				}
				killed++
				dsn := e.Empty(t)
				if _, err := migrate(dsn, n+1, executed); !errors.Is(err, errKilled) {
					t.Errorf("killed at statement %d of %d: %v", n+1, total, err)
				}
				if _, err := migrate(dsn, math.MaxInt32, false); err != nil {
					t.Errorf("after a kill at statement %d of %d, executed: %t: %v", n+1, total, executed, err)
				} else if difference := cmp.Diff(want, columns(dsn)); difference != "" {
					t.Errorf("after a kill at statement %d of %d, executed: %t (-want +got):\n%s", n+1, total, executed, difference)
				}
			}
		}
		t.Logf("%d processes were killed", killed)
	})
}
