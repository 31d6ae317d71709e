package cache_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// localNonces is a store of nonces in this process.
type localNonces struct {
	mu   sync.Mutex
	used map[string]bool
	asks int
	err  error
}

func (l *localNonces) Use(_ context.Context, nonce string, _ int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks++
	if l.err != nil {
		return false, l.err
	}
	if l.used == nil {
		l.used = map[string]bool{}
	}
	fresh := !l.used[nonce]
	l.used[nonce] = true
	return fresh, nil
}

func (l *localNonces) Used(_ context.Context, nonce string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks++
	return l.used[nonce], l.err
}

const nonceLife = 2 * time.Hour

func TestNonces(t *testing.T) {
	s := startRedis(t)
	now := newClock()
	edit := func(o *cache.Options) { o.Now, o.Timeout = now.Now, 100*time.Millisecond }
	r, other := newReplica(t, s, edit), newReplica(t, s, edit)
	local, otherLocal := &localNonces{}, &localNonces{}
	nonces, others := r.Nonces(local), other.Nonces(otherLocal)
	use := func(n *cache.Nonces, nonce string, want bool) {
		t.Helper()
		if fresh, err := n.Use(t.Context(), nonce, 1700000000); fresh != want || err != nil {
			t.Errorf("%s is fresh: %v, %v; want %v", nonce, fresh, err, want)
		}
	}
	used := func(n *cache.Nonces, nonce string, want bool) {
		t.Helper()
		if got, err := n.Used(t.Context(), nonce); got != want || err != nil {
			t.Errorf("%s was used: %v, %v; want %v", nonce, got, err, want)
		}
	}

	if _, err := local.Use(t.Context(), "before", 0); err != nil {
		t.Fatal(err)
	}
	use(nonces, "before", false) // by the local store, before Redis was there
	now.advance(nonceLife + 1)
	asks := local.asks
	used(nonces, "a", false)
	use(nonces, "a", true)
	use(nonces, "a", false)
	used(nonces, "a", true)
	use(others, "a", false) // on another replica
	use(nonces, "ünïcode {}\n", true)
	use(nonces, "ünïcode {}\n", false)
	if local.asks != asks {
		t.Errorf("the local store was asked %d times while Redis was there", local.asks-asks)
	}
	if life, err := s.client().PTTL(t.Context(), "portico:nonce:a").Result(); life <= nonceLife-time.Minute || life > nonceLife || err != nil {
		t.Errorf("a nonce is kept for %s, %v", life, err)
	}

	s.save()
	s.kill()
	use(nonces, "b", true)
	use(nonces, "b", false)
	used(nonces, "b", true)
	if n := r.count("portico_nonce_fallbacks_total"); n != 3 {
		t.Errorf("%v fallbacks counted, want 3", n)
	}
	r.await("open")
	s.start()
	r.await("closed")
	use(nonces, "a", false) // by Redis, which has kept it
	used(nonces, "b", true)
	use(nonces, "b", false) // during the outage
	use(nonces, "c", true)
	local.mu.Lock()
	local.err = errUpstream
	local.mu.Unlock()
	if fresh, err := nonces.Use(t.Context(), "d", 1); fresh || !errors.Is(err, errUpstream) {
		t.Errorf("%v, %v; want the error of the local store, which may know it", fresh, err)
	}
	now.advance(nonceLife + time.Minute)
	use(nonces, "e", true) // the local store is not asked any more
}

// TestNoncesAtOnce lets many use one nonce on two replicas: one finds it new.
func TestNoncesAtOnce(t *testing.T) {
	s := startRedis(t)
	var fresh atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		nonces := newReplica(t, s, nil).Nonces(&localNonces{})
		for range 50 {
			wg.Go(func() {
				ok, err := nonces.Use(t.Context(), "nonce", 1)
				if err != nil {
					t.Error(err)
				}
				if ok {
					fresh.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if fresh.Load() != 1 {
		t.Errorf("%d found it new", fresh.Load())
	}
}

// TestNoncesWithoutRedis are the local ones, and no fallback.
func TestNoncesWithoutRedis(t *testing.T) {
	r := newReplica(t, nil, nil)
	nonces := r.Nonces(&localNonces{})
	for _, want := range []bool{true, false} {
		if fresh, err := nonces.Use(t.Context(), "a", 1); fresh != want || err != nil {
			t.Errorf("fresh: %v, %v; want %v", fresh, err, want)
		}
	}
	if used, err := nonces.Used(t.Context(), "a"); !used || err != nil {
		t.Error(used, err)
	}
	if n := r.count("portico_nonce_fallbacks_total"); n != 0 {
		t.Errorf("%v fallbacks", n)
	}
}
