package memstore

import (
	"context"
	"errors"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/rules/imports"
)

var errNotEmpty = errors.New("there are records already")

// Load fills an adapter without records with a data set: its records and the passwords of
// its customers. It leaves out the credentials, which are not records. If it fails,
// nothing is stored. Kinds: Conflict if there are records, or if two records exclude each
// other; Invalid for a record that lacks something; Unavailable.
func (a *Adapter) Load(ctx context.Context, data *adapter.Dataset) error {
	const op = "load data"
	hashes, err := data.HashPasswords(ctx, bcrypt.DefaultCost, nil)
	if err != nil {
		return err
	}
	return a.db.Write(ctx, op, func(to rules.Tx) error {
		for _, t := range to.(tx).tables {
			if len(t.rows.chunks) > 0 {
				return &adapter.Error{Kind: adapter.Conflict, Op: op, Err: errNotEmpty}
			}
		}
		return imports.Load(ctx, a.db, to, data, hashes, 1, nil)
	})
}

// Import stores records of another system, as described at [adapter.Importer].
func (a *Adapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	return imports.Import(ctx, a.db, batch, o)
}

// Export reads records as an import stores them, as described at [adapter.Exporter].
func (a *Adapter) Export(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Aggregate, error) {
	return imports.Export(ctx, a.db, a.stores[r], r, after, limit)
}
