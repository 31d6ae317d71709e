package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// callWith returns the problem of a PLAINTEXT call with the token.
func callWith(t *testing.T, a *Authenticator, token string) string {
	t.Helper()
	_, err := a.Authenticate(t.Context(), get("/", plaintext().with("token", token).header()))
	return problemOf(t, err)
}

func TestCacheLifetime(t *testing.T) {
	now := time.Unix(serverTime, 0)
	a, credentials, _ := newAuthenticator(Options{Now: func() time.Time { return now }})
	steps := []struct {
		name                      string
		after                     time.Duration
		token                     string
		consumers, admin, unknown int
		want                      string
	}{
		{"first", 0, adminToken, 1, 1, 0, ""},
		{"again", 2999 * time.Millisecond, adminToken, 1, 1, 0, ""},
		{"expired", time.Millisecond, adminToken, 2, 2, 0, ""},
		{"capitals are the same", 0, strings.ToUpper(adminToken), 2, 2, 0, ""},
		{"unknown", 0, unknown, 2, 2, 1, "token_rejected"},
		{"unknown again", time.Second, unknown, 2, 2, 1, "token_rejected"},
		{"unknown expired", 2 * time.Second, unknown, 3, 2, 2, "token_rejected"},
	}
	for _, s := range steps {
		now = now.Add(s.after)
		if got := callWith(t, a, s.token); got != s.want {
			t.Errorf("%s: problem %q, want %q", s.name, got, s.want)
		}
		if c := credentials.Asked; c[consumerKey] != s.consumers || c[adminToken] != s.admin || c[unknown] != s.unknown || c[strings.ToUpper(adminToken)] != 0 {
			t.Errorf("%s: asked %v", s.name, c)
		}
	}
}

func TestRevocation(t *testing.T) {
	now := time.Unix(serverTime, 0)
	a, credentials, _ := newAuthenticator(Options{Now: func() time.Time { return now }})
	if got := callWith(t, a, adminToken); got != "" {
		t.Fatalf("problem %q", got)
	}
	token := credentials.Tokens[adminToken]
	token.Revoked = true
	credentials.Tokens[adminToken] = token
	now = now.Add(credentialTTL)
	if got := callWith(t, a, adminToken); got != "token_revoked" {
		t.Errorf("after the TTL: problem %q", got)
	}
}

func TestPurge(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	callWith(t, a, adminToken)
	delete(credentials.Tokens, adminToken)
	if got := callWith(t, a, adminToken); got != "" {
		t.Errorf("remembered: problem %q", got)
	}
	a.Purge()
	if got := callWith(t, a, adminToken); got != "token_rejected" {
		t.Errorf("purged: problem %q", got)
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	credentials.Fail = errors.New("down")
	for range 2 {
		if _, err := a.Authenticate(t.Context(), get("/", plaintext().header())); !errors.Is(err, credentials.Fail) {
			t.Errorf("error %v", err)
		}
	}
	credentials.Fail = nil
	if got := callWith(t, a, adminToken); got != "" || credentials.Asked[consumerKey] != 3 {
		t.Errorf("problem %q, asked %v", got, credentials.Asked)
	}
}

func TestInvalidKeysAreNotLookedUp(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	for name, token := range map[string]string{
		"too long":  adminToken + "c",
		"NUL":       adminToken[1:] + "\x00",
		"bad UTF-8": adminToken[1:] + "\xff",
	} {
		if got := callWith(t, a, token); got != "token_rejected" || credentials.Asked[token] != 0 {
			t.Errorf("%s: problem %q, asked %d times", name, got, credentials.Asked[token])
		}
	}
}

func TestConcurrentMissesShareOneLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, credentials, _ := newAuthenticator(Options{})
		release := make(chan struct{})
		credentials.Block = release
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if got := callWith(t, a, adminToken); got != "" {
					t.Errorf("problem %q", got)
				}
			})
		}
		synctest.Wait() // all are blocked on the first look-up
		if credentials.Asked[consumerKey] != 1 {
			t.Errorf("consumer asked for %d times", credentials.Asked[consumerKey])
		}
		close(release)
		callers.Wait()
		if credentials.Asked[consumerKey] != 1 || credentials.Asked[adminToken] != 1 {
			t.Errorf("asked %v", credentials.Asked)
		}
	})
}

func TestLookupOutlivesFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, credentials, _ := newAuthenticator(Options{})
		release := make(chan struct{})
		credentials.Block = release
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				if _, err := a.Authenticate(ctx, get("/", plaintext().header())); err != nil {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		close(release)
		callers.Wait()
	})
}

func TestLookupTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, credentials, _ := newAuthenticator(Options{})
		credentials.Block = make(chan struct{})
		_, err := a.Authenticate(t.Context(), get("/", plaintext().header()))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestPurgeDropsLookupsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, credentials, _ := newAuthenticator(Options{})
		callWith(t, a, customerToken) // the consumer is known
		release := make(chan struct{})
		credentials.Block = release
		var caller sync.WaitGroup
		caller.Go(func() { callWith(t, a, adminToken) })
		synctest.Wait() // the old token is read, and not yet remembered
		delete(credentials.Tokens, adminToken)
		a.Purge()
		close(release)
		caller.Wait()
		if got := callWith(t, a, adminToken); got != "token_rejected" {
			t.Errorf("problem %q", got)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	const calls = 3*cacheEntries + 1
	for i := range calls {
		callWith(t, a, fmt.Sprintf("%032d", i))
	}
	tokens := a.cache.Load().tokens
	if n := len(tokens.recent) + len(tokens.older); n > cacheEntries || n < cacheEntries/2 {
		t.Errorf("%d entries", n)
	}
	last := fmt.Sprintf("%032d", calls-cacheEntries/2)
	callWith(t, a, last)
	if credentials.Asked[last] != 1 {
		t.Errorf("the last %d are not remembered", cacheEntries/2)
	}
}
