package replica

import (
	"context"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// keysBatch is the number of records that one query of the side names.
const keysBatch = 100

// heldBy returns, for each of the records that the side has, the key of its root, 0
// for one that is a root.
func heldBy(ctx context.Context, side Replica, k *BackendResource, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
	owners := make(map[adapter.Key]adapter.Key, len(keys))
	key := adapter.NewSchemas().Of(k.Resource).Key
	for batch := range slices.Chunk(keys, keysBatch) {
		named := make([]string, len(batch))
		for i, key := range batch {
			named[i] = strconv.FormatInt(int64(key), 10)
		}
		q := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: key, Op: adapter.In, Operands: named}}}}}
		records, err := listed(ctx, side, k, &q)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			var owner adapter.Key
			if k.RootAttribute != "" {
				owner = adapter.Key(r.Get(k.RootAttribute).Int())
			}
			owners[adapter.Key(r.Get(key).Int())] = owner
		}
	}
	return owners, nil
}

// listed returns the records that a query selects, with no more than their keys and
// owners.
func listed(ctx context.Context, side Replica, k *BackendResource, q *adapter.Query) ([]adapter.Record, error) {
	store, err := side.Store(k.Resource)
	if err != nil {
		return nil, err
	}
	only := []string{}
	if k.RootAttribute != "" {
		only = append(only, k.RootAttribute)
	}
	found, err := store.List(ctx, &adapter.ListParams{Query: *q, Only: only})
	if err != nil {
		return nil, err
	}
	if !found.Partial || len(found.Records) == 0 {
		return found.Records, nil
	}
	records, _, err := adapter.Apply(ctx, found.Records[0].Schema, found.Records, q)
	return records, err
}

func entriesByKey(ctx context.Context, l IDMap, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	found, err := l.MappingsByKey(ctx, r, keys)
	entries := make(map[adapter.Key]Mapping, len(found))
	for _, e := range found {
		entries[e.Key] = e
	}
	return entries, err
}

func entriesByID(ctx context.Context, l IDMap, r adapter.Resource, ids []string) (map[string]Mapping, error) {
	found, err := l.MappingsByBackendID(ctx, r, ids)
	entries := make(map[string]Mapping, len(found))
	for _, e := range found {
		entries[e.BackendID] = e
	}
	return entries, err
}
