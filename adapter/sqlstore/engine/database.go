package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
)

// A DB is an open database. It is safe for concurrent use.
type DB struct {
	Engine *Engine
	Name   string // as the engine has opened it
	Pools
	// The prepared statements of the readers, the writer and the credential readers.
	ReadStatements, WriteStatements, CredentialStatements *statements
	commits                                               *commitQueue // of the writer; nil for a server
	closed                                                atomic.Bool
	perTransaction                                        bool     // see [PoolOptions]
	direct                                                *Pools   // to the server itself; may be nil
	arrayInserts                                          sync.Map // texts of [Tx.insertArrays] by table and columns; "" where it has none
}

// Options configures Open.
type Options struct {
	// DSN names the database, as described at engine.ValidDSN.
	DSN string
	// DirectDSN names the same database without a pooler. Migrations and locks that outlast a
	// transaction use it. "" stands for DSN.
	DirectDSN string
	// PoolOptions configures the pools.
	PoolOptions
	// Trace records a span for each statement of a request whose trace is recorded.
	Trace bool
}

// traced returns a function that wraps a connector as o says, and records spans for its statements.
func (e *Engine) traced(o PoolOptions) func(driver.Connector) driver.Connector {
	statements := &tracing.Statements{
		System: e.System,
		Kind: func(err error) string {
			kind, _ := e.Classify(err)
			return kind.String()
		},
		Wrap: func(c driver.Conn) tracing.Conn { return Wrap(c) },
	}
	return func(c driver.Connector) driver.Connector { return statements.Connector(o.wrap(c)) }
}

// Open opens the pools of a database. It does not connect yet. Kinds: Invalid for a DSN that
// cannot be used, Unavailable for a file that cannot be opened.
func Open(c Options) (*DB, error) {
	const op = "open database"
	kind, name, err := Of(c.DSN)
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "dsn", Err: err}
	}
	if c.Trace {
		c.Wrap = kind.traced(c.PoolOptions)
	}
	pools, err := kind.Open(name, c.PoolOptions)
	switch {
	case errors.Is(err, ErrPerTransaction):
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "pool_mode", Err: err}
	case err != nil:
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	db := &DB{
		Engine: kind, Name: name, Pools: pools, perTransaction: c.PerTransaction,
		ReadStatements: newStatements(kind, pools.Readers, c.PoolOptions), WriteStatements: newStatements(kind, pools.Writer, c.PoolOptions),
		CredentialStatements: newStatements(kind, pools.CredentialReaders, c.PoolOptions),
	}
	if kind.LockClause == "" {
		db.commits = &commitQueue{pool: pools.Writer, longest: sharedTime}
	}
	if err := db.openDirect(c); err != nil {
		return nil, errors.Join(&adapter.Error{Kind: adapter.Invalid, Op: op, Field: "direct_dsn", Err: err}, pools.Close())
	}
	return db, nil
}

// directConnections is the size of the pool of the direct DSN: the lock of imports, and a
// migration with its lock.
const directConnections = 4

// openDirect opens the pool of the direct DSN, if there is one. It does not connect yet.
func (db *DB) openDirect(c Options) error {
	if c.DirectDSN == "" {
		return nil
	}
	kind, name, err := Of(c.DirectDSN)
	switch {
	case err != nil:
		return err
	case kind.System != db.Engine.System:
		return errors.New("must name the same database as the DSN")
	}
	pools, err := kind.Open(name, PoolOptions{Wrap: c.Wrap, Writers: directConnections, Readers: directConnections})
	if err != nil {
		return err
	}
	pools.Writer.SetMaxIdleConns(1) // it is used rarely
	db.direct = &pools
	return nil
}

var errNoDirectDSN = errors.New("is missing: through a pooler in transaction mode Portico can neither change tables nor take the lock of imports. Set it to the DSN of the database server itself, without the pooler")

// SessionPool returns the pool for work that needs a session of the server for more than a
// transaction: the pool of the direct DSN if there is one, otherwise pool. Kinds: Invalid if the
// sessions of pool end with each transaction and there is no direct DSN.
func (db *DB) SessionPool(pool *sql.DB) (*sql.DB, error) {
	switch {
	case db.direct != nil:
		return db.direct.Writer, nil
	case db.perTransaction:
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "open session", Field: "direct_dsn", Err: errNoDirectDSN}
	}
	return pool, nil
}

// IsTable reports whether there is a table, as opposed to a view, of that name.
func (db *DB) IsTable(ctx context.Context, name string) (bool, error) {
	found, err := SelectColumn[int](ctx, QueryOf(db.Readers.QueryContext), db.Engine.Rebind(db.Engine.IsTableSQL), name)
	return len(found) > 0, err
}

// Ping checks that the database answers, and, on a node of a cluster, that it can write. Kinds:
// Unavailable.
func (db *DB) Ping(ctx context.Context) error {
	err := db.Readers.PingContext(ctx)
	if err == nil && db.Engine.Check != nil {
		err = db.Engine.Check(ctx, db.Pools)
	}
	db.leaveLost(err)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: "ping database", Err: err}
}

// leaveLost makes later statements use new connections if an error means that the server of the old
// ones no longer serves.
func (db *DB) leaveLost(err error) {
	if err != nil && db.Engine.HasLost != nil && db.Engine.HasLost(err) {
		db.CloseIdle()
	}
}

// Close waits for running statements and closes the database. Later calls fail with
// kind Unavailable.
func (db *DB) Close() error {
	db.closed.Store(true)
	err := db.Pools.Close()
	if db.direct != nil {
		err = errors.Join(err, db.direct.Close())
	}
	return err
}

// WrapError converts the error of an operation to an error of package adapter: it returns the
// context's error if ctx has ended, and an *adapter.Error otherwise.
func (db *DB) WrapError(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	db.leaveLost(err)
	var known *adapter.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return &adapter.Error{Kind: adapter.NotFound, Op: op}
	case db.closed.Load():
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	default:
		kind, again := db.Engine.Classify(err)
		if again {
			err = fmt.Errorf("%w: %w", adapter.ErrContention, err)
		}
		return &adapter.Error{Kind: kind, Op: op, Err: err}
	}
}

// MoveCounters runs the statement of every counter. It does nothing if statement is nil.
func MoveCounters(ctx context.Context, run func(ctx context.Context, text string, arguments ...any) (sql.Result, error), statement func(Counter) string, counters []Counter) error {
	if statement == nil {
		return nil
	}
	for _, c := range counters {
		if _, err := run(ctx, statement(c)); err != nil {
			return err
		}
	}
	return nil
}

// Identity returns the identity of the database, which no other one has, unless the means of its
// server have copied it. It is empty for tables that Portico did not create.
func (db *DB) Identity(ctx context.Context) (identity string, err error) {
	exists, err := db.IsTable(ctx, StateTable)
	if err != nil || !exists {
		return "", err
	}
	for {
		err := First(db.ReadStatements.Query(ctx, "SELECT identity FROM "+StateTable)).Scan(&identity)
		if err != nil || identity != "" {
			return identity, err
		}
		// The process that ran the migrations was killed before it set it.
		if _, err := db.WriteStatements.Exec(ctx, "UPDATE "+StateTable+" SET identity = ? WHERE identity = ''", rand.Text()); err != nil {
			return "", err
		}
	}
}

// HasRows reports whether there is a table of that name, with a row.
func (db *DB) HasRows(ctx context.Context, table string) (bool, error) {
	exists, err := db.IsTable(ctx, table)
	if err != nil || !exists {
		return false, err
	}
	found, err := SelectColumn[int](ctx, db.ReadStatements.Query, "SELECT 1 FROM "+table+" LIMIT 1")
	return len(found) > 0, err
}

// Place returns a text that identifies the place of the database, such as its name on a server: see
// [Engine.Place]. It is empty if the server does not provide it.
func (db *DB) Place(ctx context.Context) string { return db.Engine.Place(ctx, db.Readers, db.Name) }
