package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// cacheEntries bounds how many consumers, how many tokens and how many keys are
	// remembered at a time.
	cacheEntries = 10_000
	// lookupTimeout bounds a look-up, which several callers may wait for and
	// which none of them may cancel for the others. A store that has a limit of its
	// own for its calls, as it should, has a shorter one: it learns nothing from a
	// call that was given up.
	lookupTimeout = 30 * time.Second
)

// credentialCache remembers what the credential store said. To forget it all,
// use a new one: look-ups under way still fill the old one, where nobody looks.
type credentialCache struct {
	consumers *cache[adapter.Consumer]
	tokens    *cache[adapter.Token]
	keys      *cache[adapter.APIKey] // by their hashes; nil without any
	// failedNonces are those that came with a wrong signature, by who sent them.
	failedNonces *cache[struct{}]
}

func newCredentialCache(credentials Credentials, keys Keys, ttl time.Duration, now func() time.Time) *credentialCache {
	c := &credentialCache{
		consumers: newCache("consumer", credentials.Consumer, ttl, now),
		tokens:    newCache("token", credentials.Token, ttl, now),

		failedNonces: newCache[struct{}]("failed nonce", nil, failedNonceLife, now),
	}
	if keys != nil {
		c.keys = newCache("key", keys.Key, ttl, now)
	}
	return c
}

// A cache remembers for ttl what find returned, and which keys it did not know.
// Keys that differ only in the case of ASCII letters are the same.
type cache[T any] struct {
	what   string // for errors
	find   func(context.Context, string) (T, error)
	ttl    time.Duration
	now    func() time.Time
	flight singleflight.Group

	mu sync.Mutex
	// Entries are added to recent; when that is half of cacheEntries it becomes
	// older, and what was older goes. So dropping costs nothing, however many
	// keys are made up.
	recent, older map[string]entry[T]
}

// An entry is one answer of the store.
type entry[T any] struct {
	value T
	known bool
	until time.Time
}

func newCache[T any](what string, find func(context.Context, string) (T, error), ttl time.Duration, now func() time.Time) *cache[T] {
	return &cache[T]{what: what, find: find, ttl: ttl, now: now, recent: map[string]entry[T]{}}
}

// get returns the value under key and whether there is one. An error means that
// the store could not tell.
func (c *cache[T]) get(ctx context.Context, key string) (value T, known bool, err error) {
	if !storable(key) {
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

// storable reports whether a store can hold a text; some fail on one that they cannot.
func storable(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

func (c *cache[T]) fetch(ctx context.Context, key, folded string) (entry[T], error) {
	// The look-up that was under way may have ended since the caller missed.
	if e, ok := c.load(folded); ok {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	// The time counts from before the look-up: the answer may be as old as that.
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
