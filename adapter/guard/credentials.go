package guard

import (
	"context"
	"os"

	"github.com/portico-commerce/portico/adapter"
)

// A CredentialStore finds OAuth consumers and tokens, as authentication asks for
// them.
type CredentialStore interface {
	Consumer(ctx context.Context, key string) (adapter.Consumer, error)
	Token(ctx context.Context, token string) (adapter.Token, error)
}

// A NonceStore remembers OAuth nonces, as authentication asks for them.
type NonceStore interface {
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	Used(ctx context.Context, nonce string) (bool, error)
}

// Credentials is a CredentialStore whose calls are guarded.
type Credentials struct {
	store CredentialStore
	guard *Guard
}

// Credentials returns store, guarded.
func (g *Guard) Credentials(store CredentialStore) *Credentials { return &Credentials{store, g} }

// Consumer returns the consumer of a key.
func (c *Credentials) Consumer(ctx context.Context, key string) (adapter.Consumer, error) {
	return result(ctx, c.guard, "consumers", "get", func(ctx context.Context) (adapter.Consumer, error) {
		return c.store.Consumer(ctx, key)
	})
}

// Token returns a token by its text.
func (c *Credentials) Token(ctx context.Context, token string) (adapter.Token, error) {
	return result(ctx, c.guard, "tokens", "get", func(ctx context.Context) (adapter.Token, error) {
		return c.store.Token(ctx, token)
	})
}

// Nonces is a NonceStore whose calls are guarded.
type Nonces struct {
	store NonceStore
	guard *Guard
}

// Nonces returns store, guarded.
func (g *Guard) Nonces(store NonceStore) *Nonces { return &Nonces{store, g} }

// Use stores a nonce, and reports whether it was new.
func (n *Nonces) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	return result(ctx, n.guard, "nonces", "use", func(ctx context.Context) (bool, error) {
		return n.store.Use(ctx, nonce, timestamp)
	})
}

// Used reports whether a nonce is stored.
func (n *Nonces) Used(ctx context.Context, nonce string) (bool, error) {
	return result(ctx, n.guard, "nonces", "used", func(ctx context.Context) (bool, error) {
		return n.store.Used(ctx, nonce)
	})
}

// Media returns open, guarded: what opens a media file by its name and tells its
// media type. What does not exist is fs.ErrNotExist, which is an answer.
func (g *Guard) Media(open func(ctx context.Context, name string) (*os.File, string, error)) func(ctx context.Context, name string) (*os.File, string, error) {
	return func(ctx context.Context, name string) (file *os.File, mediaType string, err error) {
		err = g.Do(ctx, "media", "open", func(ctx context.Context) (err error) {
			file, mediaType, err = open(ctx, name)
			return err
		})
		return file, mediaType, err
	}
}
