package replica

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxPairs is the number of pairs kept in memory, of all resources together.
	idCacheSize = 1 << 16
	// pairAge is how long a pair is served without a look at the ledger. A pair never
	// changes, but it goes with its record; as neither of the two is ever used again,
	// nothing worse comes of serving it so long than a record that is not found.
	idCacheTTL = time.Minute
)

// IDs tells which record of the backend a legacy id belongs to, and the other way
// round, and keeps what it was told last. It is safe for concurrent use.
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

// aged is one side of a pair, with the moment from which it is not served any more.
type expiring[T any] struct {
	value   T
	expires time.Time
}

// NewIDs returns the ids of a ledger.
func NewIDCache(ledger IDMap) *IDCache {
	// New fails for a size below 1 alone.
	byKey, _ := lru.New[legacyRef, expiring[string]](idCacheSize)
	byID, _ := lru.New[backendRef, expiring[adapter.Key]](idCacheSize)
	return &IDCache{idMap: ledger, byKey: byKey, byID: byID}
}

// IDs returns the backend's ids of records. Those that have none, or none yet, are
// left out. Kinds: Unavailable, Internal.
func (i *IDCache) BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	found := make(map[adapter.Key]string, len(keys))
	var missing []adapter.Key
	now := time.Now()
	for _, key := range keys {
		if kept, ok := i.byKey.Get(legacyRef{r, key}); ok && now.Before(kept.expires) {
			found[key] = kept.value
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

// Keys returns the legacy ids of records of the backend. Those that have none are left
// out. Kinds: Unavailable, Internal.
func (i *IDCache) Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	found := make(map[string]adapter.Key, len(ids))
	var missing []string
	now := time.Now()
	for _, id := range ids {
		if kept, ok := i.byID.Get(backendRef{r, id}); ok && now.Before(kept.expires) {
			found[id] = kept.value
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

// keep keeps the pairs among entries, as they were now, and returns those entries.
func (i *IDCache) add(mappings []Mapping, now time.Time) []Mapping {
	pairs := mappings[:0]
	for _, mapping := range mappings {
		if mapping.BackendID == "" {
			continue // its id is still to come
		}
		i.byKey.Add(legacyRef{mapping.Resource, mapping.Key}, expiring[string]{mapping.BackendID, now.Add(idCacheTTL)})
		i.byID.Add(backendRef{mapping.Resource, mapping.BackendID}, expiring[adapter.Key]{mapping.Key, now.Add(idCacheTTL)})
		pairs = append(pairs, mapping)
	}
	return pairs
}
