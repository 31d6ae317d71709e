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
	"github.com/portico-commerce/portico/config/testenv"
)

// localNonces is an in-memory store of nonces.
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

const nonceTTL = 2 * time.Hour

// expectFresh fails the test unless Use reports want.
func expectFresh(t *testing.T, n *cache.Nonces, nonce string, want bool) {
	t.Helper()
	if got, err := n.Use(t.Context(), nonce, 1700000000); got != want || err != nil {
		t.Errorf("%s is fresh: %v, %v; want %v", nonce, got, err, want)
	}
}

// expectUsed fails the test unless Used reports want.
func expectUsed(t *testing.T, n *cache.Nonces, nonce string, want bool) {
	t.Helper()
	if got, err := n.Used(t.Context(), nonce); got != want || err != nil {
		t.Errorf("%s was used: %v, %v; want %v", nonce, got, err, want)
	}
}

// TestNonces checks that the store decides, and that Redis reports nonces used on other
// replicas.
func TestNonces(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	r, other := newReplica(t, s, nil), newReplica(t, s, nil)
	store, otherStore := &localNonces{}, &localNonces{}
	nonces, others := r.Nonces(store, false), other.Nonces(otherStore, false)

	expectUsed(t, nonces, "a", false)
	expectFresh(t, nonces, "a", true)
	expectFresh(t, nonces, "a", false)
	expectUsed(t, nonces, "a", true)
	expectFresh(t, others, "a", false)
	expectUsed(t, others, "a", true)
	expectFresh(t, nonces, "ünïcode {}\n", true)
	expectFresh(t, nonces, "ünïcode {}\n", false)
	if life, err := redisClient(t, s).PTTL(t.Context(), "portico:nonce:a").Result(); life <= nonceTTL-time.Minute || life > nonceTTL || err != nil {
		t.Errorf("ttl of a nonce: %s, %v", life, err)
	}

	s.Kill()
	expectFresh(t, nonces, "ünïcode {}\n", false)
	expectFresh(t, nonces, "b", true)
	expectFresh(t, nonces, "b", false)
	expectUsed(t, nonces, "b", true)
	if n := r.count("portico_nonce_fallbacks_total"); n != 4 {
		t.Errorf("%v fallbacks counted, want 4", n)
	}
	r.awaitState("open")
	s.Start()
	r.awaitState("closed")
	expectFresh(t, nonces, "b", false) // according to the store, although Redis was unavailable
	expectFresh(t, nonces, "c", true)
	store.mu.Lock()
	store.err = errUpstream
	store.mu.Unlock()
	if fresh, err := nonces.Use(t.Context(), "d", 1); fresh || !errors.Is(err, errUpstream) {
		t.Errorf("%v, %v; want the error of the store, which may know it", fresh, err)
	}
	expectFresh(t, nonces, "c", false) // according to Redis only
}

// TestNoncesEvicted checks that a nonce stays used after Redis has evicted it.
func TestNoncesEvicted(t *testing.T) {
	s := startRedis(t)
	nonces := newReplica(t, s, nil).Nonces(&localNonces{}, false)
	expectFresh(t, nonces, "captured", true)
	client := redisClient(t, s)
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
	expectUsed(t, nonces, "captured", true)
	expectFresh(t, nonces, "captured", false)
}

// TestNoncesConcurrent uses one nonce concurrently on two replicas: exactly one call finds
// it new.
func TestNoncesConcurrent(t *testing.T) {
	s := startRedis(t)
	var fresh atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		nonces := newReplica(t, s, nil).Nonces(&localNonces{}, false)
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
	nonces := r.Nonces(&localNonces{}, false)
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

// TestNoncesHeardOf uses nonces on a replica and, after Redis was killed, on another one with a
// store of its own, which has heard of them. Nonces used since then are refused when Redis is back.
func TestNoncesHeardOf(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	r, other := newReplica(t, s, nil), newReplica(t, s, nil)
	nonces, others := r.Nonces(&localNonces{}, false), other.Nonces(&localNonces{}, false)
	expectFresh(t, nonces, "before", true)
	expectUsed(t, others, "before", true)
	testenv.Await(t, "the other replica to hear of the nonce", func() bool { return other.HeardOf("before") })
	s.Kill()
	for _, one := range []*replica{r, other} {
		one.awaitState("open")
	}
	expectUsed(t, others, "before", true)
	expectFresh(t, others, "before", false)
	expectFresh(t, nonces, "during", true)
	s.DeleteData()
	s.Start()
	for _, one := range []*replica{r, other} {
		one.awaitState("closed")
	}
	expectFresh(t, others, "during", false)
	expectFresh(t, nonces, "before", false)
}

// TestNoncesOfCommonStore are not sent to other replicas.
func TestNoncesOfCommonStore(t *testing.T) {
	s := startRedis(t)
	r, other := newReplica(t, s, nil), newReplica(t, s, nil)
	store := &localNonces{}
	nonces, others := r.Nonces(store, true), other.Nonces(store, true)
	expectFresh(t, nonces, "a", true)
	expectFresh(t, others, "a", false)
	redisClient(t, s).FlushAll(t.Context())
	expectFresh(t, others, "a", false)
}
