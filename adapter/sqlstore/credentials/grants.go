package credentials

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// requestTokenLife is the time within which a request token must be authorized and
// exchanged (OAuth, three-legged endpoints).
const requestTokenLife = 120 * time.Minute

// Begin stores and returns a new request token of a consumer, whose user is sent to
// callback afterwards. Kinds: NotFound for an unknown consumer.
func (c *Store) Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error) {
	t := adapter.Token{
		ConsumerID: consumerID, Type: adapter.RequestToken, Token: newSecret(), Secret: newSecret(), Callback: callback,
		CreatedAt: time.Now().UTC().Truncate(time.Second),
	}
	sealed, err := c.sealer.seal(t.Secret, "token "+t.Token)
	if err != nil {
		return adapter.Token{}, &adapter.Error{Kind: adapter.Internal, Op: "begin grant", Err: err}
	}
	err = c.db.Write(ctx, "begin grant", func(tx *engine.Tx) error {
		if err := requireRow(ctx, tx, "SELECT 1 FROM oauth_consumer WHERE consumer_id = ?", consumerID); err != nil {
			return err
		}
		var err error
		t.ID, err = tx.Insert(ctx, "oauth_token", "token_id", 0,
			[]string{"consumer_id", "type", "token", "token_lower", "secret", "callback", "created_at"},
			[]any{t.ConsumerID, string(t.Type), t.Token, t.Token, sealed, t.Callback, t.CreatedAt.Format(time.DateTime)})
		return err
	})
	if err != nil {
		return adapter.Token{}, err
	}
	// This is a transaction of its own, as it locks rows of other users and may wait.
	return t, c.db.WriteAlone(ctx, "age out request tokens", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "DELETE FROM oauth_token WHERE type = ? AND created_at < ?", string(adapter.RequestToken), requestTokenCutoff())
		return err
	})
}

// requestTokenCutoff returns the time before which request tokens have expired.
func requestTokenCutoff() string {
	return time.Now().UTC().Add(-requestTokenLife).Format(time.DateTime)
}

// Pending returns a token of any type, ignoring letter case, with its consumer, which
// lacks the secret. It does not find expired request tokens. Kinds: NotFound.
func (c *Store) Pending(ctx context.Context, token string) (adapter.Token, adapter.Consumer, error) {
	const op = "find grant"
	t, err := c.Token(ctx, token)
	if err == nil && t.Type == adapter.RequestToken && t.CreatedAt.Format(time.DateTime) < requestTokenCutoff() {
		err = &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	if err != nil {
		return adapter.Token{}, adapter.Consumer{}, err
	}
	consumer := adapter.Consumer{ID: t.ConsumerID}
	var callback, rejected sql.NullString
	err = engine.First(c.db.CredentialStatements.Query(ctx, "SELECT name, consumer_key, callback, rejected_callback FROM oauth_consumer WHERE consumer_id = ?", t.ConsumerID)).Scan(&consumer.Name, &consumer.Key, &callback, &rejected)
	if err != nil {
		return adapter.Token{}, adapter.Consumer{}, c.db.WrapError(ctx, op, err)
	}
	consumer.Callback, consumer.RejectedCallback = callback.String, rejected.String
	return t, consumer, nil
}

// Authorize assigns a request token to the administrator adminID or the customer
// customerID, one of which is 0, and returns it with a new verifier. It deletes the
// user's other tokens of the consumer. Kinds: NotFound if no such request token awaits
// authorization, if the customer does not exist, or if the administrator is disabled;
// Invalid.
func (c *Store) Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error) {
	const op = "authorise"
	if (adminID == 0) == (customerID == 0) {
		return adapter.Token{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "owner", Err: errOwner}
	}
	owner, user := "admin_id", adminID
	if customerID != 0 {
		owner, user = "customer_id", customerID
	}
	lower, verifier := lookupForm(token), newSecret()
	err := c.db.Write(ctx, op, func(tx *engine.Tx) error {
		admins := adminTx{tx}
		if customerID != 0 {
			if err := requireRow(ctx, tx, "SELECT 1 FROM customer WHERE entity_id = ?", customerID); err != nil {
				return err
			}
		} else if disabled, err := admins.isDisabled(ctx, adminID); err != nil || disabled {
			return cmp.Or(err, sql.ErrNoRows)
		}
		var id, consumerID int64
		if err := tx.QueryRow(ctx, "SELECT token_id, consumer_id FROM oauth_token WHERE token_lower = ?", lower).Scan(&id, &consumerID); err != nil {
			return err
		}
		// The lock makes concurrent calls for one user run one after the other, so that
		// only one token is left.
		if err := tx.LockOnNodes(ctx, "consumer", consumerID); err != nil {
			return err
		}
		if err := requireRow(ctx, tx, "SELECT 1 FROM oauth_consumer WHERE consumer_id = ?"+c.db.Engine.LockClause, consumerID); err != nil {
			return err
		}
		err := requireOneRow(tx.Affect(ctx, "UPDATE oauth_token SET "+owner+" = ?, verifier = ? WHERE token_id = ? AND type = ? AND verifier IS NULL AND revoked = 0 AND created_at >= ?",
			user, verifier, id, string(adapter.RequestToken), requestTokenCutoff()))
		if err != nil {
			return err
		}
		_, err = tx.Run(ctx, "DELETE FROM oauth_token WHERE consumer_id = ? AND "+owner+" = ? AND token_id <> ?", consumerID, user, id)
		return err
	})
	if err != nil {
		return adapter.Token{}, err
	}
	return c.Token(ctx, token)
}

// Reject deletes a request token that awaits authorization. Kinds: NotFound if there is
// none.
func (c *Store) Reject(ctx context.Context, token string) error {
	return c.db.Write(ctx, "reject", func(tx *engine.Tx) error {
		return requireOneRow(tx.Affect(ctx, "DELETE FROM oauth_token WHERE token_lower = ? AND type = ? AND verifier IS NULL AND revoked = 0 AND created_at >= ?",
			lookupForm(token), string(adapter.RequestToken), requestTokenCutoff()))
	})
}

// requireOneRow fails with sql.ErrNoRows unless a statement changed one row.
func requireOneRow(rows int64, err error) error {
	if err == nil && rows != 1 {
		err = sql.ErrNoRows
	}
	return err
}

// Exchange replaces a request token that was authorized with the verifier by a new access
// token, and returns it. Only one of several concurrent calls succeeds. Kinds: NotFound
// if there is no such request token any more.
func (c *Store) Exchange(ctx context.Context, token, verifier string) (adapter.Token, error) {
	const op = "exchange token"
	text, secret := newSecret(), newSecret()
	sealed, err := c.sealer.seal(secret, "token "+text)
	if err == nil && verifier == "" {
		err = errors.New("no verifier")
	}
	if err != nil {
		return adapter.Token{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Err: err}
	}
	err = c.db.Write(ctx, op, func(tx *engine.Tx) error {
		return requireOneRow(tx.Affect(ctx, "UPDATE oauth_token SET type = ?, token = ?, token_lower = ?, secret = ? WHERE token_lower = ? AND type = ? AND verifier = ? AND revoked = 0 AND created_at >= ?",
			string(adapter.AccessToken), text, text, sealed, lookupForm(token), string(adapter.RequestToken), verifier, requestTokenCutoff()))
	})
	if err != nil {
		return adapter.Token{}, err
	}
	return c.Token(ctx, text)
}
