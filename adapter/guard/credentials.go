package guard

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
)

// A CredentialStore stores the data for authentication and for granting access: consumers, tokens,
// API keys and nonces.
type CredentialStore interface {
	Consumer(ctx context.Context, key string) (adapter.Consumer, error)
	Token(ctx context.Context, token string) (adapter.Token, error)
	Key(ctx context.Context, hash string) (adapter.APIKey, error)

	// The REST roles.
	AccessRoles(ctx context.Context) (adapter.AccessRoles, error)

	// The steps of granting access: request tokens, consent and access tokens.
	Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error)
	Pending(ctx context.Context, token string) (adapter.Token, adapter.Consumer, error)
	Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error)
	Reject(ctx context.Context, token string) error
	Exchange(ctx context.Context, token, verifier string) (adapter.Token, error)

	// OAuth nonces.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	Used(ctx context.Context, nonce string) (bool, error)
}

// Credentials is a CredentialStore whose calls are guarded.
type Credentials struct {
	store CredentialStore
	guard *Guard
}

// Credentials returns store with guarded calls.
func (g *Guard) Credentials(store CredentialStore) *Credentials { return &Credentials{store, g} }

// Consumer returns the consumer of a key.
func (c *Credentials) Consumer(ctx context.Context, key string) (adapter.Consumer, error) {
	return look(ctx, c.guard, "consumers", "get", c.store.Consumer, key)
}

// Token returns a token by its text.
func (c *Credentials) Token(ctx context.Context, token string) (adapter.Token, error) {
	return look(ctx, c.guard, "tokens", "get", c.store.Token, token)
}

// Key returns the API key with the given hash.
func (c *Credentials) Key(ctx context.Context, hash string) (adapter.APIKey, error) {
	return look(ctx, c.guard, "keys", "get", c.store.Key, hash)
}

// AccessRoles returns the REST roles.
func (c *Credentials) AccessRoles(ctx context.Context) (adapter.AccessRoles, error) {
	return doValue(ctx, c.guard, call{resource: "roles", operation: "get"}, c.store.AccessRoles)
}

// Begin stores a new request token of a consumer.
func (c *Credentials) Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error) {
	return doValue(ctx, c.guard, call{resource: "grants", operation: "begin", write: true}, func(ctx context.Context) (adapter.Token, error) {
		return c.store.Begin(ctx, consumerID, callback)
	})
}

// Pending returns a token, of any type, and its consumer.
func (c *Credentials) Pending(ctx context.Context, token string) (found adapter.Token, consumer adapter.Consumer, err error) {
	found, err = doValue(ctx, c.guard, call{resource: "grants", operation: "get"}, func(ctx context.Context) (t adapter.Token, err error) {
		t, consumer, err = c.store.Pending(ctx, token)
		return t, err
	})
	if err != nil {
		return adapter.Token{}, adapter.Consumer{}, err
	}
	return found, consumer, nil
}

// Authorize records that a user has granted access to a request token.
func (c *Credentials) Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error) {
	return doValue(ctx, c.guard, call{resource: "grants", operation: "authorise", write: true}, func(ctx context.Context) (adapter.Token, error) {
		return c.store.Authorize(ctx, token, adminID, customerID)
	})
}

// Reject deletes a request token to which a user has denied access.
func (c *Credentials) Reject(ctx context.Context, token string) error {
	return c.guard.do(ctx, call{resource: "grants", operation: "reject", write: true}, func(ctx context.Context) error { return c.store.Reject(ctx, token) })
}

// Exchange replaces a request token with an access token.
func (c *Credentials) Exchange(ctx context.Context, token, verifier string) (adapter.Token, error) {
	return doValue(ctx, c.guard, call{resource: "grants", operation: "exchange", write: true}, func(ctx context.Context) (adapter.Token, error) {
		return c.store.Exchange(ctx, token, verifier)
	})
}

// Use stores a nonce, and reports whether it is new.
func (c *Credentials) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	return doValue(ctx, c.guard, call{resource: "nonces", operation: "use", write: true}, func(ctx context.Context) (bool, error) {
		return c.store.Use(ctx, nonce, timestamp)
	})
}

// Used reports whether a nonce is stored.
func (c *Credentials) Used(ctx context.Context, nonce string) (bool, error) {
	return look(ctx, c.guard, "nonces", "used", c.store.Used, nonce)
}

// Media returns a guarded version of open, which opens a media file by name. fs.ErrNotExist counts
// as an answer.
func (g *Guard) Media(open func(ctx context.Context, name string) (*adapter.MediaFile, error)) func(ctx context.Context, name string) (*adapter.MediaFile, error) {
	return func(ctx context.Context, name string) (file *adapter.MediaFile, err error) {
		err = g.Do(ctx, "media", "open", func(ctx context.Context) (err error) {
			file, err = open(ctx, name)
			return err
		})
		return file, err
	}
}
