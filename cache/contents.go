package cache

// Contents counts the replies in the memory tier.
type Contents struct {
	Entries int     // replies, including expired and invalidated ones
	Fresh   int     // replies that may be returned
	Bytes   float64 // size of the tier
	// ByTag counts the fresh replies with each of the tags asked for. A few tags share a counter, and
	// then count for each other.
	ByTag []int
}

// Contents looks at every reply in memory, which takes milliseconds for a full tier.
func (c *Cache) Contents(tags ...string) Contents {
	slots := make([]uint16, len(tags))
	for i, tag := range tags {
		slots[i] = c.generations.slot(tag)
	}
	now := c.now()
	contents := Contents{Entries: int(c.memory.len()), Bytes: c.memory.bytes()}
	contents.Fresh, contents.ByTag = c.memory.count(func(e *memoryEntry) bool { return e.fresh(now) && c.generations.current(e.snapshot) }, slots)
	return contents
}
