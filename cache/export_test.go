package cache

import "slices"

// SharesCounter reports whether two of the tags share a counter of this process, so that changes
// of one invalidate replies with the other.
func (c *Cache) SharesCounter(tags ...string) bool {
	var slots []uint16
	for _, tag := range tags {
		slots = append(slots, c.generations.slot(tag))
	}
	slices.Sort(slots)
	return len(slices.Compact(slots)) < len(tags)
}

// HeardOf reports whether another replica was heard to have used a nonce.
func (c *Cache) HeardOf(nonce string) bool { return c.remote.nonces.Load().heardOf(nonce) }

// RedisKey returns the key of a reply in Redis.
func (c *Cache) RedisKey(key [32]byte) string {
	return c.remote.keys.reply(c.epoch.Load().entry(key))
}

// WaitingKeys returns the number of keys that wait for each of the next round trips with lookups.
func (c *Cache) WaitingKeys() (keys []int) {
	b := &c.remote.lookups
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.waiting {
		keys = append(keys, len(t.keys))
	}
	return keys
}
