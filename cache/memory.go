package cache

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	// memoryShare limits a value to this fraction of the memory tier.
	memoryShare = 16
	// entryOverhead is the memory that an entry takes besides its value: the entry, its
	// slots, the node of the tier and its place in a hash table that may be half empty.
	entryOverhead = 352
	// keyOverhead is the memory that a key of an entry takes besides its text.
	keyOverhead = 24
)

// A memoryEntry is an entry of the memory tier.
type memoryEntry struct {
	reply
	snapshot   snapshot
	validUntil time.Time // until then it may be returned without asking Redis
	// generations are the keys in Redis of the generations that the digest covers. The entry is current until one of
	// them changes. nil: the generations do not decide, and the reply must be read from Redis.
	generations []string
	unanswered  atomic.Bool // Redis did not answer GetLocal, so that the next call of Get need not ask
}

// size returns the memory that the entry takes.
func (e *memoryEntry) size() uint32 {
	size := cap(e.value) + entryOverhead
	for _, key := range e.generations {
		size += len(key) + keyOverhead
	}
	return uint32(size)
}

// A memory is the memory tier. A reply is stored once, under its key, and is found by the
// fingerprints of all requests for it, so that requests with irrelevant differences do not
// fill the tier with copies. Entries are not deleted: an invalidated entry is not
// returned, and is evicted when space is needed.
type memory struct {
	replies      *otter.Cache[[32]byte, *memoryEntry]
	fingerprints *otter.Cache[[32]byte, [32]byte] // keys by fingerprint
	maxValue     int
}

const (
	// fingerprintShare is the fraction of the tier for fingerprints.
	fingerprintShare = 8
	// fingerprintOverhead is the memory that a fingerprint takes: two hashes, the node of
	// the tier and its place in the hash table.
	fingerprintOverhead = 256
)

// newMemory returns a memory tier of so many bytes, or nil for 0.
func newMemory(bytes int64) (*memory, error) {
	if bytes <= 0 {
		return nil, nil
	}
	// Callers run maintenance themselves, so no goroutine is needed, and the tier is
	// within its bounds when a write returns.
	upkeep := func(do func()) { do() }
	m := &memory{maxValue: int(bytes / memoryShare)}
	var err error
	m.replies, err = otter.New(&otter.Options[[32]byte, *memoryEntry]{
		MaximumWeight: uint64(bytes - bytes/fingerprintShare),
		Weigher:       func(_ [32]byte, e *memoryEntry) uint32 { return e.size() },
		Executor:      upkeep,
	})
	if err != nil {
		return nil, err
	}
	m.fingerprints, err = otter.New(&otter.Options[[32]byte, [32]byte]{
		MaximumSize: max(int(bytes/fingerprintShare/fingerprintOverhead), 1),
		Executor:    upkeep,
	})
	return m, err
}

// get returns the entry of a key, however old, or nil.
func (m *memory) get(key [32]byte) *memoryEntry {
	if m == nil {
		return nil
	}
	e, _ := m.replies.GetIfPresent(key)
	return e
}

// byFingerprint returns the entry for the request with this fingerprint, or nil.
func (m *memory) byFingerprint(fingerprint [32]byte) *memoryEntry {
	if m == nil {
		return nil
	}
	key, ok := m.fingerprints.GetIfPresent(fingerprint)
	if !ok {
		return nil
	}
	return m.get(key)
}

// renew lets memory return e, the entry for the request with this fingerprint, until a later time.
func (m *memory) renew(fingerprint [32]byte, e *memoryEntry, until time.Time) {
	if key, ok := m.fingerprints.GetIfPresent(fingerprint); ok && m.get(key) == e { // else a newer one has replaced it
		m.replies.Set(key, &memoryEntry{reply: e.reply, snapshot: e.snapshot, validUntil: until, generations: e.generations})
	}
}

// link records that requests with this fingerprint ask for key.
func (m *memory) link(fingerprint, key [32]byte) { m.fingerprints.Set(fingerprint, key) }

// put stores e. It reports false if the value is too large.
func (m *memory) put(fingerprint, key [32]byte, e *memoryEntry) bool {
	if m == nil || len(e.value) > m.maxValue {
		return false
	}
	// Do not retain a much larger array that value is a slice of.
	if cap(e.value)-len(e.value) > len(e.value)/8 {
		e.value = slices.Clone(e.value)
	}
	m.replies.Set(key, e)
	m.link(fingerprint, key)
	return true
}

// count counts the replies of which usable reports true, together and by the tags, given as
// counters of generations.
func (m *memory) count(usable func(*memoryEntry) bool, slots []uint16) (all int, bySlot []int) {
	bySlot = make([]int, len(slots))
	if m == nil {
		return 0, bySlot
	}
	for _, e := range m.replies.All() {
		if !usable(e) {
			continue
		}
		all++
		for i, slot := range slots {
			if slices.Contains(e.snapshot.slots, slot) {
				bySlot[i]++
			}
		}
	}
	return all, bySlot
}

func (m *memory) bytes() float64 {
	if m == nil {
		return 0
	}
	return float64(m.replies.WeightedSize()) + fingerprintOverhead*float64(m.fingerprints.EstimatedSize())
}

func (m *memory) len() float64 {
	if m == nil {
		return 0
	}
	return float64(m.replies.EstimatedSize())
}
