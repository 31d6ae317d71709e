package credentials

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// keyPrefix begins every key, so that leaked keys can be recognized.
const keyPrefix = "portico_"

// AddKey stores a new API key and returns it with its text, which cannot be recovered
// later. A CustomerKey acts for the customer k.CustomerID. An AdminKey acts for
// administrators; it belongs to k.AdminID unless that is 0. Name is the name of the
// client. AddKey sets the other fields of k. Kinds: NotFound for an unknown customer or
// administrator; Invalid, also for a disabled administrator.
func (c *Store) AddKey(ctx context.Context, k adapter.APIKey) (added adapter.APIKey, text string, err error) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	text = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	k.Revoked, k.CreatedAt = false, time.Now().UTC().Truncate(time.Second)
	err = c.db.Write(ctx, "add key", func(tx *engine.Tx) error {
		if err := c.checkKey(ctx, tx, k); err != nil {
			return err
		}
		var err error
		k.ID, err = tx.Insert(ctx, "api_key", "key_id", 0,
			[]string{"name", "key_hash", "kind", "admin_id", "customer_id", "created_at"},
			[]any{k.Name, adapter.HashAPIKey(text), string(k.Kind), engine.NullIfZero(k.AdminID), engine.NullIfZero(k.CustomerID), k.CreatedAt.Format(time.DateTime)})
		return err
	})
	if err != nil {
		return adapter.APIKey{}, "", err
	}
	return k, text, nil
}

// checkKey fails unless the owner of a new key exists.
func (c *Store) checkKey(ctx context.Context, tx *engine.Tx, k adapter.APIKey) error {
	switch {
	case k.Kind == adapter.CustomerKey && k.CustomerID != 0 && k.AdminID == 0:
		if err := requireRow(ctx, tx, "SELECT 1 FROM customer WHERE entity_id = ?", k.CustomerID); err != nil {
			return fmt.Errorf("customer %d: %w", k.CustomerID, err)
		}
		return nil
	case k.Kind == adapter.AdminKey && k.CustomerID == 0:
		if k.AdminID == 0 {
			return nil
		}
		return adminTx{tx}.checkEnabled(ctx, "add key", k.AdminID)
	}
	return &adapter.Error{Kind: adapter.Invalid, Op: "add key", Field: "kind", Err: errOwner}
}

const keyColumns = "key_id, name, kind, admin_id, customer_id, revoked, created_at"

// scanKey scans the keyColumns.
func scanKey(scan func(into ...any) error) (adapter.APIKey, error) {
	var k adapter.APIKey
	var admin, customer sql.NullInt64
	created := engine.NewCell(adapter.KindTime, new(adapter.Value))
	if err := scan(&k.ID, &k.Name, &k.Kind, &admin, &customer, &k.Revoked, created); err != nil {
		return k, err
	}
	k.AdminID, k.CustomerID = admin.Int64, customer.Int64
	var err error
	k.CreatedAt, err = time.Parse(time.DateTime, created.Value.Text())
	return k, err
}

// Key returns the key, revoked or not, of a hash that [adapter.HashAPIKey] returned.
// Kinds: NotFound.
func (c *Store) Key(ctx context.Context, hash string) (adapter.APIKey, error) {
	const op = "find key"
	k, err := scanKey(engine.First(c.db.CredentialStatements.Query(ctx, "SELECT "+keyColumns+" FROM api_key WHERE key_hash = ?", lookupForm(hash))).Scan)
	if err != nil {
		return adapter.APIKey{}, c.db.WrapError(ctx, op, err)
	}
	return k, nil
}

// Keys returns all keys in the order of their ids.
func (c *Store) Keys(ctx context.Context) ([]adapter.APIKey, error) {
	keys, err := engine.CollectRows(ctx, c.db.CredentialStatements.Query, func(rows engine.Rows) (adapter.APIKey, error) { return scanKey(rows.Scan) }, "SELECT "+keyColumns+" FROM api_key ORDER BY key_id")
	return keys, c.db.WrapError(ctx, "list keys", err)
}

// RevokeKey marks a key as revoked. Kinds: NotFound.
func (c *Store) RevokeKey(ctx context.Context, id int64) error {
	return c.db.Write(ctx, "revoke key", func(tx *engine.Tx) error {
		if err := requireRow(ctx, tx, "SELECT 1 FROM api_key WHERE key_id = ?", id); err != nil {
			return err
		}
		_, err := tx.Run(ctx, "UPDATE api_key SET revoked = 1 WHERE key_id = ?", id)
		return err
	})
}
