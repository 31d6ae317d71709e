package engine

import (
	"context"
	"crypto/rand"
)

// Identity returns the identity of the database, which no other one has, unless the means of its
// server have copied it. It is empty for tables that Portico did not create.
func (db *DB) Identity(ctx context.Context) (identity string, err error) {
	exists, err := db.IsTable(ctx, StateTable)
	if err != nil || !exists {
		return "", err
	}
	for {
		err := First(db.ReadStatements.Query(ctx, "SELECT identity FROM "+StateTable)).Scan(&identity)
		if err != nil || identity != "" {
			return identity, err
		}
		// The process that ran the migrations was killed before it set it.
		if _, err := db.WriteStatements.Exec(ctx, "UPDATE "+StateTable+" SET identity = ? WHERE identity = ''", rand.Text()); err != nil {
			return "", err
		}
	}
}

// HasRows reports whether there is a table of that name, with a row.
func (db *DB) HasRows(ctx context.Context, table string) (bool, error) {
	exists, err := db.IsTable(ctx, table)
	if err != nil || !exists {
		return false, err
	}
	found, err := SelectColumn[int](ctx, db.ReadStatements.Query, "SELECT 1 FROM "+table+" LIMIT 1")
	return len(found) > 0, err
}

// Place returns a text that identifies the place of the database, such as its name on a server: see
// [Engine.Place]. It is empty if the server does not provide it.
func (db *DB) Place(ctx context.Context) string { return db.Engine.Place(ctx, db.Readers, db.Name) }
