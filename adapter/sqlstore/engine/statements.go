package engine

import (
	"context"
	"database/sql"
	"errors"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// maxStatements bounds the prepared statements of one pool, and of one connection. Once it is reached, further statements
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
	// direct, unless nil, runs queries without package sql. Each connection keeps statements of its own for them. It
	// fails with errNotDirect if package sql has to run a query.
	direct func(ctx context.Context, pool *sql.DB, text string, arguments []any) (Rows, error)
}

// A Built is the text of a statement and the schema indexes of the attributes that it
// reads.
type Built struct {
	Text    string
	Indexes []int
}

// newStatements returns the statements of a pool. o are the options with which the pool was opened.
func newStatements(engine *Engine, pool *sql.DB, o PoolOptions) *statements {
	s := &statements{engine: engine, pool: pool, prepares: !o.PerTransaction, prepared: map[string]*sql.Stmt{}, built: map[any]Built{}}
	if !o.PerTransaction && o.Wrap == nil { // otherwise the connections of the driver are wrapped
		s.direct = engine.queryDirect
	}
	return s
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
func (s *statements) Query(ctx context.Context, text string, arguments ...any) (Rows, error) {
	if s.direct != nil {
		rows, err := s.direct(ctx, s.pool, s.engine.Rebind(text), arguments)
		if !errors.Is(err, errNotDirect) {
			return rows, err
		}
	}
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
func (s *statements) queryTx(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (Rows, error) {
	if stmt, _ := s.lookup(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryContext(ctx, arguments...)
	}
	return tx.QueryContext(ctx, s.engine.Rebind(text), arguments...)
}

// IDsPerStatement is the number of ids that one statement looks for.
const IDsPerStatement = 128

// PadToPowerOfTwo repeats the last argument of an IN list until the length is a power
// of two. The result selects the same rows, and lists of all lengths share a few
// prepared statements.
func PadToPowerOfTwo(arguments []any) []any {
	if len(arguments) == 0 {
		return arguments
	}
	last := arguments[len(arguments)-1]
	for wanted := 1 << bits.Len(uint(len(arguments)-1)); len(arguments) < wanted; {
		arguments = append(arguments, last)
	}
	return arguments
}

// IDArguments returns ids, of type int64, as the arguments of [Engine.Among].
func (e *Engine) IDArguments(ids []any) []any {
	if !e.hasArrays {
		return PadToPowerOfTwo(ids)
	}
	array := make([]int64, len(ids))
	for i, id := range ids {
		array[i] = id.(int64)
	}
	return []any{array}
}

// Among returns the condition that a column is one of some ids, which [Engine.IDArguments] has returned.
func (e *Engine) Among(sb *sqlbuilder.SelectBuilder, column string, arguments []any) string {
	if !e.hasArrays {
		return sb.In(column, arguments...)
	}
	return column + " = ANY(" + sb.Var(arguments[0]) + ")"
}

// KeyArguments returns keys as the arguments of an IN list.
func KeyArguments(keys []adapter.Key) []any {
	arguments := make([]any, len(keys), 2*len(keys))
	for i, key := range keys {
		arguments[i] = int64(key)
	}
	return PadToPowerOfTwo(arguments)
}

// InList returns a condition that a column is one of some arguments.
func InList(column string, arguments []any) string {
	return column + " IN (" + strings.Repeat("?, ", len(arguments)-1) + "?)"
}

// NullIfZero returns v, or nil for the zero value.
func NullIfZero[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// StorableText returns a text for people in its stored form, in at most most bytes.
func StorableText(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Storable reports whether every engine can store a text of at most longest characters;
// 0 means any number.
func Storable(text string, longest int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && (longest == 0 || utf8.RuneCountInString(text) <= longest)
}

// A Counter is a key column whose values the database generates.
type Counter struct{ Table, Column string }

// CounterStatements return the statements that move a counter; a field is nil if the
// engine needs no such statement.
type CounterStatements struct {
	// Restart makes a counter start again, within a transaction that has emptied the
	// table.
	Restart func(Counter) string
	// Advance moves a counter past all stored keys, within a transaction.
	Advance func(Counter) string
	// PassKey moves a counter past one key, within a transaction. The statement behind finds a
	// row if the counter is not there yet; the statements move then move it while no other
	// transaction can use the counter. It is nil for engines that pass keys by themselves.
	PassKey func(c Counter, key int64) (behind string, move []string)
	// Last selects the last key that a counter gave, or 0. It is nil for engines that Describe
	// a table.
	Last func(Counter) string
	// Describe and ContinueAt are for engines that can pass keys that no record has only
	// outside a transaction: Describe finds a text with "AUTO_INCREMENT=" and the next key, if
	// it is not the first, and ContinueAt makes a key the next one.
	Describe   func(Counter) string
	ContinueAt func(c Counter, next int64) string
	// Resync moves a counter to the greatest stored key, outside a transaction, for engines
	// that cannot do so within one.
	Resync func(Counter) string
}
