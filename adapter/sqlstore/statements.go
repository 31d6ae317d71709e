package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// maxStatements bounds the prepared statements kept of one pool. What comes
// later runs unprepared: the shapes callers use come first, and a flood of odd
// ones must not push them out.
const maxStatements = 256

// statements keeps prepared statements by their text, in which parameters may
// be question marks on every engine.
type statements struct {
	engine *engine
	pool   *sql.DB
	mu     sync.RWMutex
	kept   map[string]*sql.Stmt
}

func newStatements(engine *engine, pool *sql.DB) *statements {
	return &statements{engine: engine, pool: pool, kept: map[string]*sql.Stmt{}}
}

// find returns the statement of text if it is kept, and whether there is no room
// for more.
func (s *statements) find(text string) (stmt *sql.Stmt, full bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kept[text], len(s.kept) >= maxStatements
}

// prepared returns the statement of text, or nil when it is not to be kept.
func (s *statements) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt, full := s.find(text)
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.pool.PrepareContext(ctx, s.engine.rebind(text))
	if err != nil {
		return nil, err
	}
	kept := s.keep(text, stmt)
	if kept != stmt {
		// Not under the lock: this waits for what the statement's connection does
		// now, and that may be waiting for a transaction that calls find.
		_ = stmt.Close() // it was never used
	}
	return kept, nil
}

// keep keeps stmt for text, unless there is one already, and returns the one that
// is kept.
func (s *statements) keep(text string, stmt *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.kept[text]; kept != nil {
		return kept
	}
	s.kept[text] = stmt
	return stmt
}

// query runs a statement outside a transaction.
func (s *statements) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.QueryContext(ctx, s.engine.rebind(text), arguments...)
	}
	return stmt.QueryContext(ctx, arguments...)
}

// exec runs a statement outside a transaction.
func (s *statements) exec(ctx context.Context, text string, arguments ...any) (sql.Result, error) {
	stmt, err := s.prepared(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.ExecContext(ctx, s.engine.rebind(text), arguments...)
	}
	return stmt.ExecContext(ctx, arguments...)
}

// execIn runs a statement inside tx, prepared if it is kept. It prepares none:
// that takes a connection of the pool, and tx may hold the last one.
func (s *statements) execIn(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (sql.Result, error) {
	if stmt, _ := s.find(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).ExecContext(ctx, arguments...)
	}
	return tx.ExecContext(ctx, s.engine.rebind(text), arguments...)
}

// queryIn is execIn for a statement that returns rows.
func (s *statements) queryIn(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (*sql.Rows, error) {
	if stmt, _ := s.find(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryContext(ctx, arguments...)
	}
	return tx.QueryContext(ctx, s.engine.rebind(text), arguments...)
}
