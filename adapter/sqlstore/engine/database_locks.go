package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const takeLock = "UPDATE write_lock SET taken = taken + 1 WHERE name = ?"

// LockName takes the lock with that name, a row of the table write_lock, until the transaction ends.
// It writes the row: a row that is only read FOR UPDATE is locked on one node of a Galera cluster, but
// if two transactions have written it, the cluster commits one, and the other is repeated.
func (t *Tx) LockName(ctx context.Context, name string) error {
	if t.DB.Engine.LockClause == "" {
		return nil // the transaction has locked the whole database
	}
	t.Executed = append(t.Executed, takeLock)
	result, err := t.DB.WriteStatements.execTx(ctx, t.tx, takeLock, name)
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	if err == nil && rows != 1 {
		err = fmt.Errorf("%w: %s", errNoLock, name)
	}
	return err
}

var errNoLock = errors.New("a row is missing in the table write_lock")

// nodeLocks bounds the rows of write_lock for each kind of LockOnNodes. Keys that differ by a multiple
// of it share a lock.
const nodeLocks = 4096

// LockOnNodes makes transactions exclude each other on different nodes of a Galera cluster if they
// name the same keys of the same kind, in at most 64 characters. It does nothing on other servers. A
// transaction needs it if it relies on a row that it locks but does not write; it calls it before it
// reads that row.
func (t *Tx) LockOnNodes(ctx context.Context, kind string, keys ...int64) error {
	if t.DB.IsCluster == nil || !t.DB.IsCluster() || len(keys) == 0 {
		return nil
	}
	names := make([]any, len(keys))
	for i, key := range keys {
		names[i] = fmt.Sprintf("%s %04d", kind, uint64(key)%nodeLocks)
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) }) // so that there is no deadlock
	names = slices.Compact(names)
	text := "INSERT INTO write_lock (name, taken) VALUES " + strings.Repeat("(?, 1), ", len(names)-1) + "(?, 1) ON DUPLICATE KEY UPDATE taken = taken + 1"
	if len(names) == 1 {
		return t.Exec(ctx, text, names...)
	}
	_, err := t.Run(ctx, text, names...)
	return err
}
