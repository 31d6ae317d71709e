package cache

import (
	"slices"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	// memoryShare is the part of the memory tier that one reply may take.
	memoryShare = 16
	// entryOverhead is what an entry takes beside its value: the entry and its
	// slots, the tier's node and its place in the table, which may be half empty.
	entryOverhead = 320
)

// A remembered is an entry of the memory tier.
type remembered struct {
	reply
	watch watch
	until time.Time // it answers by itself before then
}

// A memory is the tier in this process. A reply is kept once under its key, and
// found by any of the near keys that have led there: what clients add to a request
// to make it another does not fill the tier with copies. Nothing is removed: an
// entry whose generations are over is not handed out, and leaves when room is
// needed.
type memory struct {
	replies *otter.Cache[[32]byte, *remembered]
	keys    *otter.Cache[[32]byte, [32]byte] // by near key
	largest int
}

const (
	// keysShare is the part of the tier that near keys may take.
	keysShare = 8
	// keyOverhead is what a near key takes: the two sums, the tier's node and its
	// place in the table.
	keyOverhead = 256
)

// newMemory returns a tier of so many bytes, or nil for none.
func newMemory(bytes int64) (*memory, error) {
	if bytes <= 0 {
		return nil, nil
	}
	// Upkeep is done by whoever calls: no goroutine is left behind, and a write
	// returns with the tier within its bounds.
	upkeep := func(do func()) { do() }
	m := &memory{largest: int(bytes / memoryShare)}
	var err error
	m.replies, err = otter.New(&otter.Options[[32]byte, *remembered]{
		MaximumWeight: uint64(bytes - bytes/keysShare),
		Weigher:       func(_ [32]byte, e *remembered) uint32 { return uint32(cap(e.value)) + entryOverhead },
		Executor:      upkeep,
	})
	if err != nil {
		return nil, err
	}
	m.keys, err = otter.New(&otter.Options[[32]byte, [32]byte]{
		MaximumSize: max(int(bytes/keysShare/keyOverhead), 1),
		Executor:    upkeep,
	})
	return m, err
}

// get returns the entry of a key, however old; nil is none.
func (m *memory) get(key [32]byte) *remembered {
	if m == nil {
		return nil
	}
	e, _ := m.replies.GetIfPresent(key)
	return e
}

// near returns the entry that a near key has led to.
func (m *memory) near(near [32]byte) *remembered {
	if m == nil {
		return nil
	}
	key, ok := m.keys.GetIfPresent(near)
	if !ok {
		return nil
	}
	return m.get(key)
}

// name notes that a near key leads to a key.
func (m *memory) name(near, key [32]byte) { m.keys.Set(near, key) }

// put keeps e and reports whether it could.
func (m *memory) put(near, key [32]byte, e *remembered) bool {
	if m == nil || len(e.value) > m.largest {
		return false
	}
	// A value may be the beginning of much more, which would be kept with it.
	if cap(e.value)-len(e.value) > len(e.value)/8 {
		e.value = slices.Clone(e.value)
	}
	m.replies.Set(key, e)
	m.name(near, key)
	return true
}

func (m *memory) bytes() float64 {
	if m == nil {
		return 0
	}
	return float64(m.replies.WeightedSize()) + keyOverhead*float64(m.keys.EstimatedSize())
}

func (m *memory) len() float64 {
	if m == nil {
		return 0
	}
	return float64(m.replies.EstimatedSize())
}
