package cache

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

const (
	// allTag is the tag of every reply. Its generation is the epoch.
	allTag = "all"
	// slotCount is the number of counters besides the counter of allTag. Tags that share a counter
	// invalidate each other's replies, which costs misses, but the memory used does not depend on
	// the number of tags.
	slotCount = 4096
)

// generations are the counters of this process. Tags are mapped to counters by hash.
type generations struct {
	seed     maphash.Seed
	counters [slotCount + 1]atomic.Uint64 // the last one belongs to allTag
}

func newGenerations() *generations { return &generations{seed: maphash.MakeSeed()} }

// A snapshot holds the state of some tags' counters. Counters only grow, so a different sum means
// that one of them has changed.
type snapshot struct {
	slots []uint16
	sum   uint64
}

// snapshot returns the current state of the counters of tags and of allTag.
func (g *generations) snapshot(tags []string) snapshot {
	w := snapshot{slots: make([]uint16, 0, len(tags)+1)}
	for _, tag := range tags {
		w.slots = append(w.slots, g.slot(tag))
	}
	slices.Sort(w.slots)
	w.slots = append(slices.Compact(w.slots), slotCount)
	w.sum = g.sum(w.slots)
	return w
}

func (g *generations) slot(tag string) uint16 {
	if tag == allTag {
		return slotCount
	}
	return uint16(maphash.String(g.seed, tag) % slotCount)
}

func (g *generations) sum(slots []uint16) uint64 {
	var sum uint64
	for _, slot := range slots {
		sum += g.counters[slot].Load()
	}
	return sum
}

// current reports whether no counter of w has changed.
func (g *generations) current(w snapshot) bool { return g.sum(w.slots) == w.sum }

// invalidate increments the counters of tags.
func (g *generations) invalidate(tags ...string) {
	for _, tag := range tags {
		g.counters[g.slot(tag)].Add(1)
	}
}
