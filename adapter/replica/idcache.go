package replica

import (
	"context"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// idCacheSize is the number of id pairs cached, of all resources together.
	idCacheSize = 1 << 16
	// idCacheTTL is how long a pair is served from the cache. A pair never changes, but is
	// deleted with its record. As ids are never reused, a stale pair only leads to a record
	// that is not found.
	idCacheTTL = time.Minute
)

// An IDCache translates between legacy ids and backend ids, and caches the ID map's answers
// for a minute. It is safe for concurrent use.
type IDCache struct {
	idMap IDMap
	byKey *lru.Cache[recordRef, expiring[string]]
	byID  *lru.Cache[backendRef, expiring[adapter.Key]]
}

type backendRef struct {
	resource adapter.Resource
	id       string
}

// An expiring is a cached value with its expiry.
type expiring[T any] struct {
	value   T
	expires time.Time
}

// NewIDCache returns a cache of an ID map.
func NewIDCache(idMap IDMap) *IDCache {
	// lru.New fails only for a size below 1.
	byKey, _ := lru.New[recordRef, expiring[string]](idCacheSize)
	byID, _ := lru.New[backendRef, expiring[adapter.Key]](idCacheSize)
	return &IDCache{idMap: idMap, byKey: byKey, byID: byID}
}

// BackendIDs returns the backend ids of legacy ids. Those that have none, or none yet, are
// left out. Kinds: Unavailable, Internal.
func (i *IDCache) BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	found, missing := lookUp(i.byKey, keys, func(key adapter.Key) recordRef { return recordRef{r, key} })
	if len(missing) == 0 {
		return found, nil
	}
	mappings, err := i.idMap.MappingsByKey(ctx, r, missing)
	for _, mapping := range i.add(mappings) {
		found[mapping.Key] = mapping.BackendID
	}
	return found, err
}

// Keys returns the legacy ids of backend ids. Those that have none are left out. Kinds:
// Unavailable, Internal.
func (i *IDCache) Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	found, missing := lookUp(i.byID, ids, func(id string) backendRef { return backendRef{r, id} })
	if len(missing) == 0 {
		return found, nil
	}
	mappings, err := i.idMap.MappingsByBackendID(ctx, r, missing)
	for _, mapping := range i.add(mappings) {
		found[mapping.BackendID] = mapping.Key
	}
	return found, err
}

// lookUp returns what a cache has of the wanted ids, and those that it does not have.
func lookUp[ID, Ref comparable, Value any](cache *lru.Cache[Ref, expiring[Value]], wanted []ID, refOf func(ID) Ref) (found map[ID]Value, missing []ID) {
	found = make(map[ID]Value, len(wanted))
	now := time.Now()
	for _, id := range wanted {
		if cached, ok := cache.Get(refOf(id)); ok && now.Before(cached.expires) {
			found[id] = cached.value
		} else {
			missing = append(missing, id)
		}
	}
	return found, missing
}

// add caches the mappings that have a backend id, and returns them.
func (i *IDCache) add(mappings []Mapping) []Mapping {
	expires := time.Now().Add(idCacheTTL)
	// Without a backend id the record is still being created.
	mappings = slices.DeleteFunc(mappings, func(m Mapping) bool { return m.BackendID == "" })
	for _, m := range mappings {
		i.byKey.Add(recordRef{m.Resource, m.Key}, expiring[string]{m.BackendID, expires})
		i.byID.Add(backendRef{m.Resource, m.BackendID}, expiring[adapter.Key]{m.Key, expires})
	}
	return mappings
}
