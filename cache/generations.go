package cache

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

const (
	// all is the tag that every reply depends on: its generation is the epoch.
	all = "all"
	// slots is how many counters there are beside that of all. Tags that fall on
	// the same one end each other's replies, which costs a miss; with more tags
	// than the cache can hold replies, memory stays what it is.
	slots = 4096
)

// generations are the counters of this process: a change of a tag raises the
// counter that the tag falls on.
type generations struct {
	seed     maphash.Seed
	counters [slots + 1]atomic.Uint64 // the last is that of all
}

// A watch is what the counters of some tags were. Counters only grow, so their
// sum tells whether any of them has changed.
type watch struct {
	slots []uint16
	sum   uint64
}

// watch returns what the counters of tags, and that of all, are now.
func (g *generations) watch(tags []string) watch {
	w := watch{slots: make([]uint16, 0, len(tags)+1)}
	for _, tag := range tags {
		w.slots = append(w.slots, g.slot(tag))
	}
	slices.Sort(w.slots)
	w.slots = append(slices.Compact(w.slots), slots)
	w.sum = g.sum(w.slots)
	return w
}

func (g *generations) slot(tag string) uint16 {
	if tag == all {
		return slots
	}
	return uint16(maphash.String(g.seed, tag) % slots)
}

func (g *generations) sum(slots []uint16) uint64 {
	var sum uint64
	for _, slot := range slots {
		sum += g.counters[slot].Load()
	}
	return sum
}

// current reports whether nothing of what w watches has changed.
func (g *generations) current(w watch) bool { return g.sum(w.slots) == w.sum }

// end ends what depends on one of tags.
func (g *generations) end(tags ...string) {
	for _, tag := range tags {
		g.counters[g.slot(tag)].Add(1)
	}
}
