package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// DeleteReadOnly deletes a record that clients cannot delete, its parts, and their
// mappings, in one transaction. It updates no timestamps. Kinds: NotFound, in which case
// the mappings stay; Conflict if other records refer to it; Unsupported for a
// resource whose records clients delete; Unavailable; Internal.
func (s *Replica) DeleteReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("delete read-only %s %d", r, key)
	schema := s.db.schemas.Of(r)
	if r == adapter.Admins || schema == nil || r != adapter.StockItems && !schema.ReadOnly() {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	return s.db.write(ctx, op, func(tx *sql.Tx) error {
		write := newWriteTx(s.db, tx)
		if _, err := write.Lock(ctx, r, key); err != nil {
			return err
		}
		if err := write.Delete(ctx, r, key); err != nil {
			return err
		}
		return s.deleteMappings(ctx, tx, r, key)
	})
}
