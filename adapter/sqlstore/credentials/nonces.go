package credentials

import (
	"context"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Nonces are stored for at least maxNonceAge, however many there are, since a deleted
// nonce could be used again. Every pruneEvery uses, older ones are deleted.
const (
	maxNonceAge = 2 * time.Hour
	pruneEvery  = 1000
)

// Use stores a nonce with the client's timestamp, in Unix seconds, and reports whether
// it is fresh, that is, was not stored before with any timestamp (OAuth on API calls,
// checks 8 and 8b). Of several concurrent calls with one nonce, only one reports true.
func (c *Store) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	rows, err := c.db.WriteOne(ctx, "use nonce",
		"INSERT INTO oauth_nonce (nonce, timestamp, received_at) VALUES (?, ?, ?)"+c.db.Engine.IgnoreDuplicate("nonce"),
		nonce, timestamp, time.Now().Unix())
	if err == nil && c.nonceUses.Add(1)%pruneEvery == 0 {
		err = c.prune(ctx)
	}
	return rows == 1 && err == nil, err
}

// prune deletes the nonces that are older than maxNonceAge. A clock that runs ahead makes new
// nonces look old, so prune leaves the nonces of the last week until the clock has been right for
// maxNonceAge.
func (c *Store) prune(ctx context.Context) error {
	oldest := c.nonceClock.steady(c.nonceClock.Read())
	return c.db.WriteAlone(ctx, "prune nonces", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "DELETE FROM oauth_nonce WHERE received_at < ?", oldest.Unix())
		return err
	})
}

// maxClockError is how far a clock may run ahead for a while without causing nonces to be forgotten
// early. clockStep is by how much a clock may be set without counting as wrong.
const (
	maxClockError = 7 * 24 * time.Hour
	clockStep     = time.Minute
)

// A nonceClock finds out whether the clock is right.
type nonceClock struct {
	adapter.Clock
	mu   sync.Mutex
	last adapter.ClockReading // zero before the first one
	// since is the uptime at which the clock was last found to be set, or first read.
	since time.Duration
}

// steady returns the time before which nonces may be forgotten.
func (n *nonceClock) steady(now adapter.ClockReading) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last.Time.IsZero() || now.SetSince(n.last).Abs() > clockStep {
		n.since = now.Uptime
	}
	n.last = now
	if now.Uptime-n.since < maxNonceAge {
		return now.Time.Add(-maxNonceAge - maxClockError)
	}
	return now.Time.Add(-maxNonceAge)
}

// Used reports whether a nonce is stored.
func (c *Store) Used(ctx context.Context, nonce string) (bool, error) {
	var used bool
	err := engine.First(c.db.CredentialStatements.Query(ctx, "SELECT EXISTS (SELECT 1 FROM oauth_nonce WHERE nonce = ?)", nonce)).Scan(&used)
	return used, c.db.WrapError(ctx, "look up nonce", err)
}
