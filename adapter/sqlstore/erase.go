package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter/sqlstore/erasures"
)

// EraseCustomer erases a customer from all tables. The person holds the data to search other places
// for. Kinds: NotFound, Unsupported for a record of a backend, Unavailable, Internal.
func (db *DB) EraseCustomer(ctx context.Context, o erasures.Options) (*erasures.Receipt, erasures.Person, error) {
	return erasures.Erase(ctx, db.records.DB, o)
}
