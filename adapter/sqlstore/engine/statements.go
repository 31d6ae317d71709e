package engine

import (
	"context"
	"database/sql"
	"sync"
)

// maxStatements bounds the prepared statements of one pool. Once it is reached, further statements
// run unprepared. Nothing is evicted: callers use the common statements first, and a flood of
// unusual ones must not displace them.
const maxStatements = 256

// maxBuilt bounds the texts of built statements in the same way: clients choose the attributes that
// are read, so the number of different ones is unlimited.
const maxBuilt = 256

// A statements caches the statements of one pool: prepared statements by their text, in which
// parameters are question marks on every engine, and the texts of frequent built statements by the
// key that they were built from. Building a statement can take as long as running it. It is safe
// for concurrent use.
type statements struct {
	engine   *Engine
	pool     *sql.DB
	mu       sync.RWMutex
	prepares bool // false where the next use of a connection may have another session of the server
	prepared map[string]*sql.Stmt
	built    map[any]Built
}

// A Built is the text of a statement and the schema indexes of the attributes that it
// reads.
type Built struct {
	Text    string
	Indexes []int
}

func newStatements(engine *Engine, pool *sql.DB, prepares bool) *statements {
	return &statements{engine: engine, pool: pool, prepares: prepares, prepared: map[string]*sql.Stmt{}, built: map[any]Built{}}
}

// LookupBuilt returns the statement that was built from a key, if it is cached.
func (s *statements) LookupBuilt(key any) (Built, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cached, ok := s.built[key]
	return cached, ok
}

// AddBuilt caches the statement that was built from a key, a comparable value that determines the
// statement completely. It does nothing if the cache is full.
func (s *statements) AddBuilt(key any, built Built) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.built) < maxBuilt {
		s.built[key] = built
	}
}

// lookup returns the prepared statement of text, or nil, and whether the cache is full.
func (s *statements) lookup(text string) (stmt *sql.Stmt, full bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prepared[text], len(s.prepared) >= maxStatements || !s.prepares
}

// Prepare returns the prepared statement of text, and prepares it if necessary. It returns nil if
// the cache is full.
func (s *statements) Prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt, full := s.lookup(text)
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.pool.PrepareContext(ctx, s.engine.Rebind(text))
	if err != nil {
		return nil, err
	}
	kept := s.add(text, stmt)
	if kept != stmt {
		// Close it without holding the lock: Close waits for the statement's connection,
		// and that may be waiting for a transaction that calls lookup.
		_ = stmt.Close() // it was never used
	}
	return kept, nil
}

// add stores stmt for text unless another goroutine was first, and returns the stored
// statement.
func (s *statements) add(text string, stmt *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.prepared[text]; kept != nil {
		return kept
	}
	s.prepared[text] = stmt
	return stmt
}

// Query runs a statement outside a transaction.
func (s *statements) Query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	stmt, err := s.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.QueryContext(ctx, s.engine.Rebind(text), arguments...)
	}
	return stmt.QueryContext(ctx, arguments...)
}

// Exec runs a statement outside a transaction.
func (s *statements) Exec(ctx context.Context, text string, arguments ...any) (sql.Result, error) {
	stmt, err := s.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.ExecContext(ctx, s.engine.Rebind(text), arguments...)
	}
	return stmt.ExecContext(ctx, arguments...)
}

// execTx runs a statement inside tx. It uses a prepared statement but prepares none, as
// that takes a connection of the pool and tx may hold the last one.
func (s *statements) execTx(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (sql.Result, error) {
	if stmt, _ := s.lookup(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).ExecContext(ctx, arguments...)
	}
	return tx.ExecContext(ctx, s.engine.Rebind(text), arguments...)
}

// queryTx is execTx for a statement that returns rows.
func (s *statements) queryTx(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (*sql.Rows, error) {
	if stmt, _ := s.lookup(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryContext(ctx, arguments...)
	}
	return tx.QueryContext(ctx, s.engine.Rebind(text), arguments...)
}
