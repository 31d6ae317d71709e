package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"golang.org/x/sync/singleflight"
)

const (
	// cacheEntries is the maximum number of cached consumers, of cached tokens and of cached
	// keys.
	cacheEntries = 10_000
	// lookupTimeout limits a lookup, which several callers may wait for and none of them
	// may cancel for the others. The store should have a shorter timeout of its own, because
	// it does not notice that a caller has given up.
	lookupTimeout = 30 * time.Second
)

// credentialCache caches results of the credential store. To empty it, replace it with a new one:
// lookups in flight then fill the old one, which is no longer in use.
type credentialCache struct {
	consumers *cache[adapter.Consumer]
	tokens    *cache[adapter.Token]
	keys      *cache[adapter.APIKey] // by hash; nil if API keys are not supported
	// failedNonces are nonces that came with a wrong signature, by sender.
	failedNonces *cache[struct{}]
}

// credentialTTL is how long lookups of credentials are cached, including failed ones.
const credentialTTL = 3 * time.Second

func newCredentialCache(credentials Credentials, keys Keys, now func() time.Time) *credentialCache {
	c := &credentialCache{
		consumers: newCache("consumer", credentials.Consumer, credentialTTL, now),
		tokens:    newCache("token", credentials.Token, credentialTTL, now),

		failedNonces: newCache[struct{}]("failed nonce", nil, failedNonceLife, now),
	}
	if keys != nil {
		c.keys = newCache("key", keys.Key, credentialTTL, now)
	}
	return c
}

// A cache holds results of find for ttl, including that a key does not exist. Keys ignore the
// case of ASCII letters.
type cache[T any] struct {
	what   string // for error messages
	find   func(context.Context, string) (T, error)
	ttl    time.Duration
	now    func() time.Time
	flight singleflight.Group

	mu sync.Mutex
	// New entries go to recent. When it holds half of cacheEntries, it becomes older, and
	// the previous older is dropped. So eviction takes constant time, however many keys
	// clients invent.
	recent, older map[string]entry[T]
}

// An entry is one result of the store.
type entry[T any] struct {
	value T
	known bool
	until time.Time
}

func newCache[T any](what string, find func(context.Context, string) (T, error), ttl time.Duration, now func() time.Time) *cache[T] {
	return &cache[T]{what: what, find: find, ttl: ttl, now: now, recent: map[string]entry[T]{}}
}

// get returns the value for key and whether it exists. An error means that the store failed.
func (c *cache[T]) get(ctx context.Context, key string) (value T, known bool, err error) {
	if !isStorable(key) {
		return value, false, nil
	}
	folded := strings.Map(lowerASCII, key)
	if e, ok := c.load(folded); ok {
		return e.value, e.known, nil
	}
	found, err, _ := c.flight.Do(folded, func() (any, error) { return c.fetch(ctx, key, folded) })
	if err != nil {
		return value, false, fmt.Errorf("auth: find %s: %w", c.what, err)
	}
	e := found.(entry[T])
	return e.value, e.known, nil
}

// isStorable reports whether a store can hold a text; some stores fail on other texts.
func isStorable(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

func (c *cache[T]) fetch(ctx context.Context, key, folded string) (entry[T], error) {
	// A lookup in flight may have finished since the caller missed.
	if e, ok := c.load(folded); ok {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	// The TTL counts from before the lookup, because the result may be that old.
	e := entry[T]{until: c.now().Add(c.ttl)}
	value, err := c.find(ctx, key)
	switch {
	case err == nil:
		e.value, e.known = value, true
	case adapter.KindOf(err) != adapter.NotFound:
		return e, err
	}
	c.store(folded, e)
	return e, nil
}

func (c *cache[T]) load(folded string) (entry[T], bool) {
	c.mu.Lock()
	e, ok := c.recent[folded]
	if !ok {
		e, ok = c.older[folded]
	}
	c.mu.Unlock()
	return e, ok && c.now().Before(e.until)
}

func (c *cache[T]) store(folded string, e entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) >= cacheEntries/2 {
		c.recent, c.older = map[string]entry[T]{}, c.recent
	}
	c.recent[folded] = e
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r - 'A' + 'a'
	}
	return r
}
