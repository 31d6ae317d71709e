package cache_test

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
)

// TestContents: the fresh replies in memory are counted, together and by tag.
func TestContents(t *testing.T) {
	t.Parallel()
	clock := newClock()
	r := newReplica(t, nil, func(o *cache.Options) { o.Now = clock.Now })
	for name, tags := range map[string][]string{"list": {"catalog"}, "one": {"product:1"}, "two": {"product:2"}} {
		if _, _, _, err := r.Get(t.Context(), key("near "+name), key(name), tags, fillWith(name)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, entries, fresh, one int) {
		t.Helper()
		got := r.Contents("product:1", "none")
		if got.Entries != entries || got.Fresh != fresh || got.Bytes <= 0 || len(got.ByTag) != 2 || got.ByTag[0] != one || got.ByTag[1] != 0 {
			t.Errorf("%s: %+v", when, got)
		}
	}
	expect("at first", 3, 3, 1)
	r.BeginWrite(t.Context(), []string{"product:1"})()
	expect("after a write", 3, 2, 0)
	clock.advance(2 * time.Minute)
	expect("after their time", 3, 0, 0)
	off := newReplica(t, nil, func(o *cache.Options) { o.MemoryBytes = 0 })
	if got := off.Contents("a"); got.Entries != 0 || len(got.ByTag) != 1 {
		t.Errorf("without memory: %+v", got)
	}
}
