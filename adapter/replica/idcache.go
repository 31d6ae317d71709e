package replica

import (
	"context"
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
	byKey *lru.Cache[legacyRef, expiring[string]]
	byID  *lru.Cache[backendRef, expiring[adapter.Key]]
}

type legacyRef struct {
	resource adapter.Resource
	key      adapter.Key
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
	byKey, _ := lru.New[legacyRef, expiring[string]](idCacheSize)
	byID, _ := lru.New[backendRef, expiring[adapter.Key]](idCacheSize)
	return &IDCache{idMap: idMap, byKey: byKey, byID: byID}
}

// BackendIDs returns the backend ids of legacy ids. Those that have none, or none yet, are
// left out. Kinds: Unavailable, Internal.
func (i *IDCache) BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	found := make(map[adapter.Key]string, len(keys))
	var missing []adapter.Key
	now := time.Now()
	for _, key := range keys {
		if cached, ok := i.byKey.Get(legacyRef{r, key}); ok && now.Before(cached.expires) {
			found[key] = cached.value
		} else {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	mappings, err := i.idMap.MappingsByKey(ctx, r, missing)
	if err != nil {
		return nil, err
	}
	for _, mapping := range i.add(mappings, now) {
		found[mapping.Key] = mapping.BackendID
	}
	return found, nil
}

// Keys returns the legacy ids of backend ids. Those that have none are left out. Kinds:
// Unavailable, Internal.
func (i *IDCache) Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	found := make(map[string]adapter.Key, len(ids))
	var missing []string
	now := time.Now()
	for _, id := range ids {
		if cached, ok := i.byID.Get(backendRef{r, id}); ok && now.Before(cached.expires) {
			found[id] = cached.value
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	mappings, err := i.idMap.MappingsByBackendID(ctx, r, missing)
	if err != nil {
		return nil, err
	}
	for _, mapping := range i.add(mappings, now) {
		found[mapping.BackendID] = mapping.Key
	}
	return found, nil
}

// add caches the mappings that have a backend id, and returns them.
func (i *IDCache) add(mappings []Mapping, now time.Time) []Mapping {
	pairs := mappings[:0]
	for _, mapping := range mappings {
		if mapping.BackendID == "" {
			continue // the record is still being created
		}
		i.byKey.Add(legacyRef{mapping.Resource, mapping.Key}, expiring[string]{mapping.BackendID, now.Add(idCacheTTL)})
		i.byID.Add(backendRef{mapping.Resource, mapping.BackendID}, expiring[adapter.Key]{mapping.Key, now.Add(idCacheTTL)})
		pairs = append(pairs, mapping)
	}
	return pairs
}
