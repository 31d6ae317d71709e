//go:build linux

package cache_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// TestStoppedProcess stops this process while it reads and writes. When it continues, all its round
// trips and pings are too late, and the breaker stays closed.
func TestStoppedProcess(t *testing.T) {
	s := startRedis(t)
	r := newReplica(t, s, func(o *cache.Options) { o.Timeout = 500 * time.Millisecond })
	stopped := make(chan error, 1)
	go func() {
		pid := os.Getpid()
		stopped <- exec.Command("sh", "-c", fmt.Sprintf("for i in 1 2 3; do kill -STOP %d; sleep 1; kill -CONT %d; sleep 0.3; done", pid, pid)).Run()
	}()
	var wg sync.WaitGroup
	end := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("product:", i)
			for {
				select {
				case <-end:
					return
				default:
				}
				if r.mustGet(name, fillWith("value")) != "value" {
					return
				}
				if i == 0 {
					r.BeginWrite(t.Context(), []string{name})()
				}
			}
		})
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	close(end)
	wg.Wait()
	for len(r.states) > 0 {
		t.Errorf("the breaker is %s", <-r.states)
	}
}

// TestPrefix lets two stores share a Redis: neither ends replies or uses nonces of the other.
func TestPrefix(t *testing.T) {
	s := startRedis(t)
	one := newReplica(t, s, func(o *cache.Options) { o.MemoryTTL = time.Hour })
	other := newReplica(t, s, func(o *cache.Options) { o.Prefix, o.MemoryTTL = "other:", time.Hour })
	one.get("product:1", "miss", "one", fillWith("one"))
	other.get("product:1", "miss", "other", fillWith("other"))
	other.BeginWrite(t.Context(), []string{"product:1"})()
	if err := other.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.get("product:1", "hit", "one", failingFill)
	expectFresh(t, one.Nonces(&localNonces{}, false), "nonce", true)
	expectFresh(t, other.Nonces(&localNonces{}, false), "nonce", true)
	for _, key := range redisClient(t, s).Keys(t.Context(), "*").Val() {
		if !((len(key) > 8 && key[:8] == "portico:") || (len(key) > 6 && key[:6] == "other:")) {
			t.Errorf("key %s has no prefix", key)
		}
	}
}
