package sqlstore

import (
	"context"
	"database/sql"
	"time"
)

// What is kept of nonces: the newest maxNonces of the last maxNonceAge, and what
// came in since the last of every pruneEvery uses.
const (
	maxNonces   = 1_000_000
	maxNonceAge = 2 * time.Hour
	pruneEvery  = 1000
)

// Use stores a nonce with the caller's timestamp, in Unix seconds, and reports
// whether it is fresh: not stored before, with whatever timestamp (OAuth on API
// calls, checks 8 and 8b). Of several calls with one nonce, one gets true.
func (c *Credentials) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	err = c.db.write(ctx, "use nonce", func(tx *sql.Tx) error {
		received := time.Now().Unix()
		result, err := tx.ExecContext(ctx,
			"INSERT INTO oauth_nonce (nonce, timestamp, received_at) VALUES (?, ?, ?) ON CONFLICT (nonce) DO NOTHING",
			nonce, timestamp, received)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		fresh = n == 1
		if c.db.nonceUses.Add(1)%pruneEvery != 0 {
			return nil
		}
		return prune(ctx, tx, received)
	})
	return fresh && err == nil, err
}

// prune removes the nonces that are too old or too many.
func prune(ctx context.Context, tx *sql.Tx, now int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM oauth_nonce WHERE received_at < ?", now-int64(maxNonceAge/time.Second)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM oauth_nonce WHERE nonce_id <= (SELECT MAX(nonce_id) FROM oauth_nonce) - ?", int64(maxNonces))
	return err
}

// Used reports whether a nonce is stored.
func (c *Credentials) Used(ctx context.Context, nonce string) (bool, error) {
	var used bool
	rows, err := c.db.reading.query(ctx, "SELECT EXISTS (SELECT 1 FROM oauth_nonce WHERE nonce = ?)", nonce)
	if err == nil {
		err = scanOne(rows, &used)
	}
	return used, c.db.fault(ctx, "look up nonce", err)
}
