package idmap

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/portico-commerce/portico/adapter"
)

const (
	// cacheSize is the number of id pairs cached, of all resources together.
	cacheSize = 1 << 16
	// cacheTTL is how long a pair is served from the cache. A pair never changes, but is
	// deleted with its record. As ids are never reused, a stale pair only leads to a record
	// that is not found.
	cacheTTL = time.Minute
)

// A Cache translates between legacy ids and backend ids, and caches the ID map's answers
// for a minute. It is safe for concurrent use.
type Cache struct {
	idMap Map
	byKey *lru.Cache[ref[adapter.Key], expiring[string]]
	byID  *lru.Cache[ref[string], expiring[adapter.Key]]
}

// A ref identifies a record by its legacy id or its backend id.
type ref[ID comparable] struct {
	resource adapter.Resource
	id       ID
}

// An expiring is a cached value with its expiry.
type expiring[T any] struct {
	value   T
	expires time.Time
}

// NewCache returns a cache of an ID map.
func NewCache(idMap Map) *Cache {
	// lru.New fails only for a size below 1.
	byKey, _ := lru.New[ref[adapter.Key], expiring[string]](cacheSize)
	byID, _ := lru.New[ref[string], expiring[adapter.Key]](cacheSize)
	return &Cache{idMap: idMap, byKey: byKey, byID: byID}
}

// BackendIDs returns the backend ids of legacy ids. It leaves out legacy ids that have
// none, or none yet. Kinds: Unavailable, Internal.
func (c *Cache) BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	return lookUp(keys,
		func(key adapter.Key) (expiring[string], bool) { return c.byKey.Get(ref[adapter.Key]{r, key}) },
		func(missing []adapter.Key) ([]Mapping, error) { return c.idMap.MappingsByKey(ctx, r, missing) },
		func(m Mapping) (adapter.Key, string) { c.add(m); return m.Key, m.BackendID })
}

// Keys returns the legacy ids of backend ids. It leaves out backend ids that have none.
// Kinds: Unavailable, Internal.
func (c *Cache) Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	return lookUp(ids,
		func(id string) (expiring[adapter.Key], bool) { return c.byID.Get(ref[string]{r, id}) },
		func(missing []string) ([]Mapping, error) { return c.idMap.MappingsByBackendID(ctx, r, missing) },
		func(m Mapping) (string, adapter.Key) { c.add(m); return m.BackendID, m.Key })
}

// lookUp translates ids from the cache, and uncached ids by their mappings.
func lookUp[From, To comparable](ids []From, cached func(From) (expiring[To], bool), mappingsOf func([]From) ([]Mapping, error), pair func(Mapping) (From, To)) (map[From]To, error) {
	found := make(map[From]To, len(ids))
	var missing []From
	now := time.Now()
	for _, id := range ids {
		if to, ok := cached(id); ok && now.Before(to.expires) {
			found[id] = to.value
		} else {
			missing = append(missing, id)
		}
	}
	if missing == nil {
		return found, nil
	}
	mappings, err := mappingsOf(missing)
	for _, m := range mappings {
		if m.BackendID != "" { // without one, the record is still being created
			id, to := pair(m)
			found[id] = to
		}
	}
	return found, err
}

// add caches a mapping.
func (c *Cache) add(m Mapping) {
	expires := time.Now().Add(cacheTTL)
	c.byKey.Add(ref[adapter.Key]{m.Resource, m.Key}, expiring[string]{m.BackendID, expires})
	c.byID.Add(ref[string]{m.Resource, m.BackendID}, expiring[adapter.Key]{m.Key, expires})
}
