package replica

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxPairs is the number of pairs kept in memory, of all resources together.
	maxPairs = 1 << 16
	// pairAge is how long a pair is served without a look at the ledger. A pair never
	// changes, but it goes with its record; as neither of the two is ever used again,
	// nothing worse comes of serving it so long than a record that is not found.
	pairAge = time.Minute
)

// IDs tells which record of the backend a legacy id belongs to, and the other way
// round, and keeps what it was told last. It is safe for concurrent use.
type IDCache struct {
	ledger IDMap
	byKey  *lru.Cache[legacyName, aged[string]]
	byID   *lru.Cache[backendName, aged[adapter.Key]]
}

type legacyName struct {
	resource adapter.Resource
	key      adapter.Key
}

type backendName struct {
	resource adapter.Resource
	id       string
}

// aged is one side of a pair, with the moment from which it is not served any more.
type aged[T any] struct {
	value T
	until time.Time
}

// NewIDs returns the ids of a ledger.
func NewIDCache(ledger IDMap) *IDCache {
	// New fails for a size below 1 alone.
	byKey, _ := lru.New[legacyName, aged[string]](maxPairs)
	byID, _ := lru.New[backendName, aged[adapter.Key]](maxPairs)
	return &IDCache{ledger: ledger, byKey: byKey, byID: byID}
}

// IDs returns the backend's ids of records. Those that have none, or none yet, are
// left out. Kinds: Unavailable, Internal.
func (i *IDCache) BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	found := make(map[adapter.Key]string, len(keys))
	var missing []adapter.Key
	now := time.Now()
	for _, key := range keys {
		if kept, ok := i.byKey.Get(legacyName{r, key}); ok && now.Before(kept.until) {
			found[key] = kept.value
		} else {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	entries, err := i.ledger.MappingsByKey(ctx, r, missing)
	if err != nil {
		return nil, err
	}
	for _, e := range i.keep(entries, now) {
		found[e.Key] = e.BackendID
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
		if kept, ok := i.byID.Get(backendName{r, id}); ok && now.Before(kept.until) {
			found[id] = kept.value
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	entries, err := i.ledger.MappingsByBackendID(ctx, r, missing)
	if err != nil {
		return nil, err
	}
	for _, e := range i.keep(entries, now) {
		found[e.BackendID] = e.Key
	}
	return found, nil
}

// keep keeps the pairs among entries, as they were now, and returns those entries.
func (i *IDCache) keep(entries []Mapping, now time.Time) []Mapping {
	pairs := entries[:0]
	for _, e := range entries {
		if e.BackendID == "" {
			continue // its id is still to come
		}
		i.byKey.Add(legacyName{e.Resource, e.Key}, aged[string]{e.BackendID, now.Add(pairAge)})
		i.byID.Add(backendName{e.Resource, e.BackendID}, aged[adapter.Key]{e.Key, now.Add(pairAge)})
		pairs = append(pairs, e)
	}
	return pairs
}
