package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// maxStatements bounds the prepared statements of one pool. Once it is reached, further
// statements run unprepared. Nothing is evicted: callers use the common statements
// first, and a flood of unusual ones must not displace those.
const maxStatements = 256

// A statementCache holds the prepared statements of one pool by their text, in which
// parameters are question marks on every engine. It is safe for concurrent use.
type statementCache struct {
	engine   *engine
	pool     *sql.DB
	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
}

func newStatementCache(engine *engine, pool *sql.DB) *statementCache {
	return &statementCache{engine: engine, pool: pool, prepared: map[string]*sql.Stmt{}}
}

// lookup returns the prepared statement of text, or nil, and whether the cache is full.
func (s *statementCache) lookup(text string) (stmt *sql.Stmt, full bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prepared[text], len(s.prepared) >= maxStatements
}

// prepare returns the prepared statement of text, and prepares it if necessary. It
// returns nil if the cache is full.
func (s *statementCache) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt, full := s.lookup(text)
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.pool.PrepareContext(ctx, s.engine.rebind(text))
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
func (s *statementCache) add(text string, stmt *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.prepared[text]; kept != nil {
		return kept
	}
	s.prepared[text] = stmt
	return stmt
}

// query runs a statement outside a transaction.
func (s *statementCache) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.QueryContext(ctx, s.engine.rebind(text), arguments...)
	}
	return stmt.QueryContext(ctx, arguments...)
}

// exec runs a statement outside a transaction.
func (s *statementCache) exec(ctx context.Context, text string, arguments ...any) (sql.Result, error) {
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.ExecContext(ctx, s.engine.rebind(text), arguments...)
	}
	return stmt.ExecContext(ctx, arguments...)
}

// execTx runs a statement inside tx. It uses a prepared statement but prepares none, as
// that takes a connection of the pool and tx may hold the last one.
func (s *statementCache) execTx(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (sql.Result, error) {
	if stmt, _ := s.lookup(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).ExecContext(ctx, arguments...)
	}
	return tx.ExecContext(ctx, s.engine.rebind(text), arguments...)
}

// queryTx is execTx for a statement that returns rows.
func (s *statementCache) queryTx(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (*sql.Rows, error) {
	if stmt, _ := s.lookup(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryContext(ctx, arguments...)
	}
	return tx.QueryContext(ctx, s.engine.rebind(text), arguments...)
}
