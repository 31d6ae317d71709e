package credentials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A RekeyReport counts the secrets that Rekey has processed.
type RekeyReport struct {
	Sealed  int `json:"sealed"`  // encrypted under the configured key by this call
	Already int `json:"already"` // were encrypted under it before
}

// rekeyBatch is the number of secrets that one statement reads.
const rekeyBatch = 500

var errNoKey = errors.New("no secret key is configured to encrypt the secrets with")

// Rekey encrypts the secrets of all consumers and tokens under the configured key, in one
// transaction. old is the former key; secrets that are stored unencrypted need none.
// Kinds: Invalid if neither key decrypts a secret or no key is configured, Unavailable,
// Internal.
func (c *Store) Rekey(ctx context.Context, old string) (RekeyReport, error) {
	const op = "encrypt secrets"
	if c.sealer.aead == nil {
		return RekeyReport{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "secret_key", Err: errNoKey}
	}
	before, err := newSealer(old)
	if err != nil {
		return RekeyReport{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "old secret_key", Err: err}
	}
	var done RekeyReport
	err = c.db.Write(ctx, op, func(tx *engine.Tx) error {
		done = RekeyReport{}
		for _, table := range []sealedTable{
			{"oauth_consumer", "consumer_id", "consumer_key_lower", "consumer"},
			{"oauth_token", "token_id", "token_lower", "token"},
		} {
			if err := c.rekey(ctx, tx, table, before, &done); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return RekeyReport{}, err
	}
	return done, nil
}

// A sealedTable is a table with a sealed secret in each row.
type sealedTable struct{ name, keyColumn, lookupColumn, owner string }

// A sealedSecret is the secret of a row.
type sealedSecret struct {
	id             int64
	lookup, secret string // lookup is the value of sealedTable.lookupColumn
}

func (c *Store) rekey(ctx context.Context, tx *engine.Tx, table sealedTable, before sealer, done *RekeyReport) error {
	for after := int64(0); ; {
		batch, err := c.lockSealedAfter(ctx, tx, table, after)
		if err != nil || len(batch) == 0 {
			return err
		}
		for _, s := range batch {
			after = s.id
			owner := table.owner + " " + s.lookup
			if _, err := c.sealer.open(s.secret, owner); err == nil && isSealed(s.secret) {
				done.Already++
				continue
			}
			secret, err := before.open(s.secret, owner)
			if err != nil {
				return &adapter.Error{Kind: adapter.Invalid, Op: fmt.Sprintf("open the secret of %s %d", table.owner, s.id), Field: "old secret_key", Err: err}
			}
			sealed, err := c.sealer.seal(secret, owner)
			if err == nil {
				_, err = tx.Run(ctx, "UPDATE "+table.name+" SET secret = ? WHERE "+table.keyColumn+" = ?", sealed, s.id)
			}
			if err != nil {
				return err
			}
			done.Sealed++
		}
	}
}

// lockSealedAfter locks and returns the secrets of the next rows after an id.
func (c *Store) lockSealedAfter(ctx context.Context, tx *engine.Tx, table sealedTable, after int64) (batch []sealedSecret, err error) {
	text := "SELECT " + table.keyColumn + ", " + table.lookupColumn + ", secret FROM " + table.name + " WHERE " + table.keyColumn + " > ? ORDER BY " + table.keyColumn + " LIMIT ?" + c.db.Engine.LockClause
	err = engine.EachRow(ctx, tx.Query, func(rows *sql.Rows) error {
		var s sealedSecret
		err := rows.Scan(&s.id, &s.lookup, &s.secret)
		batch = append(batch, s)
		return err
	}, text, after, rekeyBatch)
	return batch, err
}
