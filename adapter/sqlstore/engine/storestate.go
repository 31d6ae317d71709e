package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
)

// RenewEpoch changes the epoch of a store, so that no process uses data that it cached earlier. Its
// parameter is a new epoch, such as [rand.Text].
const RenewEpoch = "UPDATE store_state SET epoch = ?"

// StateTable is the table that holds the identity and the epoch of a database.
const StateTable = "store_state"

// renewState changes the epoch of a store, and gives a new database its identity. A database of a
// version without StateTable has neither.
func (e *Engine) renewState(ctx context.Context, pool *sql.DB) error {
	if exists, err := e.hasTable(ctx, pool, StateTable); err != nil || !exists {
		return err
	}
	_, err := pool.ExecContext(ctx, e.Rebind(RenewEpoch+", identity = CASE WHEN identity = '' THEN ? ELSE identity END"), rand.Text(), rand.Text())
	return err
}

// completeState is renewState for a database whose migrations were interrupted before it.
func (e *Engine) completeState(ctx context.Context, pool *sql.DB) error {
	without, _, err := e.numbers(ctx, pool, StateTable, "SELECT 1 FROM "+StateTable+" WHERE identity = ''")
	if err != nil || len(without) == 0 {
		return err
	}
	return e.renewState(ctx, pool)
}

// hasTable reports whether there is a table of a name.
func (e *Engine) hasTable(ctx context.Context, pool *sql.DB, name string) (bool, error) {
	err := pool.QueryRowContext(ctx, e.Rebind(e.IsTableSQL), name).Scan(new(int))
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
