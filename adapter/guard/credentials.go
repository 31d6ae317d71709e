package guard

import (
	"context"
	"os"

	"github.com/portico-commerce/portico/adapter"
)

// A CredentialStore looks up OAuth consumers and tokens for authentication.
type CredentialStore interface {
	Consumer(ctx context.Context, key string) (adapter.Consumer, error)
	Token(ctx context.Context, token string) (adapter.Token, error)
}

// A KeyStore looks up API keys for authentication.
type KeyStore interface {
	Key(ctx context.Context, hash string) (adapter.APIKey, error)
}

// A GrantStore stores the steps of granting access: request tokens, consent and access
// tokens.
type GrantStore interface {
	Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error)
	Pending(ctx context.Context, token string) (adapter.Token, adapter.Consumer, error)
	Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error)
	Reject(ctx context.Context, token string) error
	Exchange(ctx context.Context, token, verifier string) (adapter.Token, error)
}

// A NonceStore stores OAuth nonces for authentication.
type NonceStore interface {
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
	return doValue(ctx, c.guard, "consumers", "get", func(ctx context.Context) (adapter.Consumer, error) {
		return c.store.Consumer(ctx, key)
	})
}

// Token returns a token by its text.
func (c *Credentials) Token(ctx context.Context, token string) (adapter.Token, error) {
	return doValue(ctx, c.guard, "tokens", "get", func(ctx context.Context) (adapter.Token, error) {
		return c.store.Token(ctx, token)
	})
}

// Keys is a KeyStore whose calls are guarded.
type Keys struct {
	store KeyStore
	guard *Guard
}

// Keys returns store with guarded calls.
func (g *Guard) Keys(store KeyStore) *Keys { return &Keys{store, g} }

// Key returns the API key with the given hash.
func (k *Keys) Key(ctx context.Context, hash string) (adapter.APIKey, error) {
	return doValue(ctx, k.guard, "keys", "get", func(ctx context.Context) (adapter.APIKey, error) {
		return k.store.Key(ctx, hash)
	})
}

// Grants is a GrantStore whose calls are guarded.
type Grants struct {
	store GrantStore
	guard *Guard
}

// Grants returns store with guarded calls.
func (g *Guard) Grants(store GrantStore) *Grants { return &Grants{store, g} }

// Begin stores a new request token of a consumer.
func (s *Grants) Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error) {
	return doValue(ctx, s.guard, "grants", "begin", func(ctx context.Context) (adapter.Token, error) {
		return s.store.Begin(ctx, consumerID, callback)
	})
}

// Pending returns a token, of any type, and its consumer.
func (s *Grants) Pending(ctx context.Context, token string) (found adapter.Token, consumer adapter.Consumer, err error) {
	found, err = doValue(ctx, s.guard, "grants", "get", func(ctx context.Context) (t adapter.Token, err error) {
		t, consumer, err = s.store.Pending(ctx, token)
		return t, err
	})
	if err != nil {
		return adapter.Token{}, adapter.Consumer{}, err
	}
	return found, consumer, nil
}

// Authorize records that a user has granted access to a request token.
func (s *Grants) Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error) {
	return doValue(ctx, s.guard, "grants", "authorise", func(ctx context.Context) (adapter.Token, error) {
		return s.store.Authorize(ctx, token, adminID, customerID)
	})
}

// Reject deletes a request token to which a user has denied access.
func (s *Grants) Reject(ctx context.Context, token string) error {
	return s.guard.Do(ctx, "grants", "reject", func(ctx context.Context) error { return s.store.Reject(ctx, token) })
}

// Exchange replaces a request token with an access token.
func (s *Grants) Exchange(ctx context.Context, token, verifier string) (adapter.Token, error) {
	return doValue(ctx, s.guard, "grants", "exchange", func(ctx context.Context) (adapter.Token, error) {
		return s.store.Exchange(ctx, token, verifier)
	})
}

// Nonces is a NonceStore whose calls are guarded.
type Nonces struct {
	store NonceStore
	guard *Guard
}

// Nonces returns store with guarded calls.
func (g *Guard) Nonces(store NonceStore) *Nonces { return &Nonces{store, g} }

// Use stores a nonce, and reports whether it is new.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	return doValue(ctx, n.guard, "nonces", "use", func(ctx context.Context) (bool, error) {
		return n.store.Use(ctx, nonce, timestamp)
	})
}

// Used reports whether a nonce is stored.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	return doValue(ctx, n.guard, "nonces", "used", func(ctx context.Context) (bool, error) {
		return n.store.Used(ctx, nonce)
	})
}

// Media returns a guarded version of open, which opens a media file by name and returns its
// media type. fs.ErrNotExist counts as an answer.
func (g *Guard) Media(open func(ctx context.Context, name string) (*os.File, string, error)) func(ctx context.Context, name string) (*os.File, string, error) {
	return func(ctx context.Context, name string) (file *os.File, mediaType string, err error) {
		err = g.Do(ctx, "media", "open", func(ctx context.Context) (err error) {
			file, mediaType, err = open(ctx, name)
			return err
		})
		return file, mediaType, err
	}
}
