package cache_test

import (
	"context"
	"errors"
	"strconv"
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

// fresh fails unless a nonce is, or is not, new.
func fresh(t *testing.T, n *cache.Nonces, nonce string, want bool) {
	t.Helper()
	if got, err := n.Use(t.Context(), nonce, 1700000000); got != want || err != nil {
		t.Errorf("%s is fresh: %v, %v; want %v", nonce, got, err, want)
	}
}

// used fails unless a nonce was, or was not, used.
func used(t *testing.T, n *cache.Nonces, nonce string, want bool) {
	t.Helper()
	if got, err := n.Used(t.Context(), nonce); got != want || err != nil {
		t.Errorf("%s was used: %v, %v; want %v", nonce, got, err, want)
	}
}

// TestNonces: the store decides, and Redis knows what was used on other replicas.
func TestNonces(t *testing.T) {
	s := startRedis(t)
	edit := func(o *cache.Options) { o.Timeout = 100 * time.Millisecond }
	r, other := newReplica(t, s, edit), newReplica(t, s, edit)
	store, otherStore := &localNonces{}, &localNonces{}
	nonces, others := r.Nonces(store), other.Nonces(otherStore)

	used(t, nonces, "a", false)
	fresh(t, nonces, "a", true)
	fresh(t, nonces, "a", false)
	used(t, nonces, "a", true)
	fresh(t, others, "a", false)
	used(t, others, "a", true)
	fresh(t, nonces, "ünïcode {}\n", true)
	fresh(t, nonces, "ünïcode {}\n", false)
	if life, err := s.client().PTTL(t.Context(), "portico:nonce:a").Result(); life <= nonceLife-time.Minute || life > nonceLife || err != nil {
		t.Errorf("a nonce is kept for %s, %v", life, err)
	}

	s.kill()
	fresh(t, nonces, "a", false)
	fresh(t, nonces, "b", true)
	fresh(t, nonces, "b", false)
	used(t, nonces, "b", true)
	if n := r.count("portico_nonce_fallbacks_total"); n != 4 {
		t.Errorf("%v fallbacks counted, want 4", n)
	}
	r.await("open")
	s.start()
	r.await("closed")
	fresh(t, nonces, "b", false) // by the store, although Redis was away
	fresh(t, nonces, "c", true)
	store.mu.Lock()
	store.err = errUpstream
	store.mu.Unlock()
	if fresh, err := nonces.Use(t.Context(), "d", 1); fresh || !errors.Is(err, errUpstream) {
		t.Errorf("%v, %v; want the error of the store, which may know it", fresh, err)
	}
	fresh(t, nonces, "c", false) // by Redis alone
}

// TestNoncesEvicted: a nonce that Redis has evicted for replies stays used.
func TestNoncesEvicted(t *testing.T) {
	s := startRedis(t)
	nonces := newReplica(t, s, nil).Nonces(&localNonces{})
	fresh(t, nonces, "captured", true)
	client := s.client()
	for setting, value := range map[string]string{"maxmemory-policy": "allkeys-lru", "maxmemory": "4mb"} {
		if err := client.ConfigSet(t.Context(), setting, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	reply := make([]byte, 16<<10)
	for i := 0; client.Exists(t.Context(), "portico:nonce:captured").Val() > 0; i++ {
		if err := client.Set(t.Context(), "portico:reply:"+strconv.Itoa(i), reply, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	used(t, nonces, "captured", true)
	fresh(t, nonces, "captured", false)
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
