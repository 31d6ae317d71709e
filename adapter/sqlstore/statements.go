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

// statements keeps prepared statements by their text.
type statements struct {
	pool *sql.DB
	mu   sync.RWMutex
	kept map[string]*sql.Stmt
}

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, kept: map[string]*sql.Stmt{}}
}

// prepared returns the statement of text, or nil when it is not to be kept.
func (s *statements) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, full := s.kept[text], len(s.kept) >= maxStatements
	s.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.pool.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.kept[text]; other != nil {
		return other, stmt.Close()
	}
	s.kept[text] = stmt
	return stmt, nil
}

// query runs a statement outside a transaction.
func (s *statements) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return s.pool.QueryContext(ctx, text, arguments...)
	}
	return stmt.QueryContext(ctx, arguments...)
}

// queryIn runs stmt, which is prepared for text or nil, inside tx.
func queryIn(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, text string, arguments ...any) (*sql.Rows, error) {
	if stmt == nil {
		return tx.QueryContext(ctx, text, arguments...)
	}
	return tx.StmtContext(ctx, stmt).QueryContext(ctx, arguments...)
}
