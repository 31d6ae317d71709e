package cache_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// changes stands for another program, whose changes the test triggers.
type changes struct {
	pending atomic.Pointer[func()] // invalidates the changed replies
	unknown atomic.Bool
}

func (c *changes) Await(context.Context) bool {
	if apply := c.pending.Swap(nil); apply != nil {
		(*apply)()
	}
	return !c.unknown.Load()
}

// TestChanges checks that replies whose data another program has changed are not returned, and
// that, while changes are unknown, cached replies are returned only if the upstream cannot answer.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		redis bool
	}{{"memory", false}, {"redis", true}} {
		t.Run(tt.name, func(t *testing.T) {
			var s *apptest.Redis
			if tt.redis {
				s = startRedis(t)
			}
			var all []*replica
			var seen [2]changes
			for i := range seen {
				all = append(all, newReplica(t, s, func(o *cache.Options) { o.Changes = &seen[i] }))
			}
			r, other := all[0], all[1]
			const kept = "product:2"
			change := func(tag string) { // by another program, which both replicas will notice
				for i := range seen {
					apply := func() { all[i].BeginWrite(t.Context(), []string{tag})() }
					seen[i].pending.Store(&apply)
				}
			}
			local := func(name string, want bool) {
				t.Helper()
				if _, ok := r.GetLocal(t.Context(), key("near "+name)); ok != want {
					t.Errorf("%s in memory: %v, want %v", name, ok, want)
				}
			}
			r.get("product:1", "miss", "1", fillWith("1"))
			r.get(kept, "miss", "2", fillWith("2"))
			local("product:1", true)
			change("product:1")
			local("product:1", false)
			r.get(kept, "hit", "2", failingFill)
			r.get("product:1", "miss", "1b", fillWith("1b"))
			if tt.redis {
				other.get(kept, "hit", "2", failingFill)
				other.get("product:1", "miss", "1b", fillWith("1b")) // it invalidates, too
				r.get("product:1", "hit", "1b", failingFill)
			}

			seen[0].unknown.Store(true)
			local("product:1", false)
			r.get("product:1", "stale", "1b", failingFill)
			r.get("product:1", "miss", "1c", fillWith("1c"))
			seen[0].unknown.Store(false)
			r.get("product:1", "hit", "1c", failingFill)
		})
	}
}
