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
	entryOverhead = 400
)

// A remembered is an entry of the memory tier.
type remembered struct {
	reply
	watch watch
	until time.Time // it answers by itself before then
}

// A memory is the tier in this process. Its entries are keyed by the near key.
// Nothing is removed from it: an entry whose generations are over is not handed
// out, and leaves when room is needed.
type memory struct {
	entries *otter.Cache[[32]byte, *remembered]
	largest int
}

// newMemory returns a tier of so many bytes, or nil for none.
func newMemory(bytes int64) (*memory, error) {
	if bytes <= 0 {
		return nil, nil
	}
	entries, err := otter.New(&otter.Options[[32]byte, *remembered]{
		MaximumWeight: uint64(bytes),
		Weigher:       func(_ [32]byte, e *remembered) uint32 { return uint32(cap(e.value)) + entryOverhead },
		// Upkeep is done by whoever calls: no goroutine is left behind, and a
		// write returns with the tier within its bounds.
		Executor: func(upkeep func()) { upkeep() },
	})
	if err != nil {
		return nil, err
	}
	return &memory{entries: entries, largest: int(bytes / memoryShare)}, nil
}

// get returns the entry of a key, however old; nil is none.
func (m *memory) get(near [32]byte) *remembered {
	if m == nil {
		return nil
	}
	e, _ := m.entries.GetIfPresent(near)
	return e
}

// put keeps e and reports whether it could.
func (m *memory) put(near [32]byte, e *remembered) bool {
	if m == nil || len(e.value) > m.largest {
		return false
	}
	// A value may be the beginning of much more, which would be kept with it.
	if cap(e.value)-len(e.value) > len(e.value)/8 {
		e.value = slices.Clone(e.value)
	}
	m.entries.Set(near, e)
	return true
}

func (m *memory) bytes() float64 {
	if m == nil {
		return 0
	}
	return float64(m.entries.WeightedSize())
}

func (m *memory) len() float64 {
	if m == nil {
		return 0
	}
	return float64(m.entries.EstimatedSize())
}
