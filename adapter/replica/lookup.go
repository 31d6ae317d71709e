package replica

import (
	"context"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// keysPerQuery is the number of records that one query of the local replica names.
const keysPerQuery = 100

// rootKeys returns, for each of these records that the local replica has, the key of its
// root; 0 for a root.
func rootKeys(ctx context.Context, replica Replica, res *BackendResource, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
	roots := make(map[adapter.Key]adapter.Key, len(keys))
	key := adapter.NewSchemas().Of(res.Resource).Key
	for batch := range slices.Chunk(keys, keysPerQuery) {
		attributes := make([]string, len(batch))
		for i, key := range batch {
			attributes[i] = strconv.FormatInt(int64(key), 10)
		}
		q := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: key, Op: adapter.In, Operands: attributes}}}}}
		records, err := listKeys(ctx, replica, res, &q)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			var rootKey adapter.Key
			if res.RootAttribute != "" {
				rootKey = adapter.Key(r.Get(res.RootAttribute).Int())
			}
			roots[adapter.Key(r.Get(key).Int())] = rootKey
		}
	}
	return roots, nil
}

// listKeys returns the records that a query selects, with only their keys and the keys of
// their roots.
func listKeys(ctx context.Context, replica Replica, res *BackendResource, q *adapter.Query) ([]adapter.Record, error) {
	store, err := replica.Store(res.Resource)
	if err != nil {
		return nil, err
	}
	only := []string{}
	if res.RootAttribute != "" {
		only = append(only, res.RootAttribute)
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

func mappingsByKey(ctx context.Context, l IDMap, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	found, err := l.MappingsByKey(ctx, r, keys)
	mappings := make(map[adapter.Key]Mapping, len(found))
	for _, mapping := range found {
		mappings[mapping.Key] = mapping
	}
	return mappings, err
}

func mappingsByBackendID(ctx context.Context, l IDMap, r adapter.Resource, ids []string) (map[string]Mapping, error) {
	found, err := l.MappingsByBackendID(ctx, r, ids)
	mappings := make(map[string]Mapping, len(found))
	for _, mapping := range found {
		mappings[mapping.BackendID] = mapping
	}
	return mappings, err
}
