package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// Remove removes a record that clients cannot, with what belongs to it, its entry and
// those of its parts, in one transaction. Nothing is dated. Kinds: NotFound, with which
// the entries stay; Conflict when others refer to it, Unsupported for a resource whose
// records clients remove, Unavailable, Internal.
func (s *Side) Remove(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("remove %s %d", r, key)
	if r == adapter.Admins || r != adapter.StockItems && !slices.Contains(readOnlyResources(), r) {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	store := newStore(s.db, s.db.table(r))
	return s.db.write(ctx, op, func(tx *sql.Tx) error {
		if _, err := store.lockRecord(ctx, tx, key); err != nil {
			return err
		}
		if _, err := s.db.writeStatements.execTx(ctx, tx, store.deleteSQL, int64(key)); err != nil {
			return err
		}
		return s.deleteEntries(ctx, tx, r, key)
	})
}
