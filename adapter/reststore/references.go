package reststore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// refSuffix marks the backend's id of a reference: expressions see website_id_ref next to
// website_id.
const refSuffix = "_ref"

// errNoIDs is the error of a reference if Options.IDs is nil.
var errNoIDs = errors.New("the mapping has references, but there is no ID map to translate them")

// A keyCache caches the legacy ids that the documents of one response refer to, because
// many documents refer to the same few records. It is safe for concurrent use.
type keyCache struct {
	mu   sync.Mutex
	keys map[adapter.Resource]map[string]adapter.Key // 0: the record has no legacy id
}

// documentKeys are the legacy ids that one document refers to.
type documentKeys struct {
	*keyCache
	unresolved map[adapter.Resource][]string // backend ids that have none
}

// resolve looks up the wanted ids that are not cached yet.
func (b *Backend) resolve(ctx context.Context, known *keyCache, wanted map[adapter.Resource][]string) error {
	for r, ids := range wanted {
		known.mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := known.keys[r][id]; return ok })
		known.mu.Unlock()
		if len(missing) == 0 {
			continue
		}
		if b.ids == nil {
			return errNoIDs
		}
		slices.Sort(missing)
		missing = slices.Compact(missing)
		keys, err := b.ids.Keys(ctx, r, missing)
		if err != nil {
			return err
		}
		known.mu.Lock()
		if known.keys[r] == nil {
			known.keys[r] = map[string]adapter.Key{}
		}
		for _, id := range missing {
			known.keys[r][id] = keys[id]
		}
		known.mu.Unlock()
	}
	return nil
}

// key returns the legacy id of a record that was looked up, or 0 if it has none.
func (f *keyCache) key(r adapter.Resource, id string) adapter.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys[r][id]
}

// collectIDs adds the backend ids that an object refers to to all. prefix is the path of a
// nested object.
func (r *resource) collectIDs(object map[string]any, prefix string, all map[adapter.Resource][]string) {
	for name, v := range object {
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if nested, ok := e.(map[string]any); ok {
					r.collectIDs(nested, prefix+name+".", all)
				}
			}
		}
		of, is := strings.CutSuffix(name, refSuffix)
		to, mapped := r.References[prefix+of]
		if id := backendID(v); is && mapped && id != "" {
			all[to] = append(all[to], id)
		}
	}
}

// backendID returns an id of the backend as a string, or "" if v is not an id.
func backendID(v any) string {
	switch v.(type) {
	case bool, float64:
		return ""
	}
	id, _ := numberText(v)
	return id
}

// collectKeys adds the legacy ids that a record refers to to all.
func (r *resource) collectKeys(record adapter.Record, prefix string, all map[adapter.Resource][]adapter.Key) {
	for i, a := range record.Values {
		name := record.Schema.Attributes[i].Name
		for _, nested := range a.Records() {
			r.collectKeys(nested, prefix+name+".", all)
		}
		if to, mapped := r.References[prefix+name]; mapped && a.Kind() == adapter.Integer && a.Int() > 0 {
			all[to] = append(all[to], adapter.Key(a.Int()))
		}
	}
}

// lookUpIDs returns the backend ids of legacy ids.
func (b *Backend) lookUpIDs(ctx context.Context, wanted map[adapter.Resource][]adapter.Key) (map[adapter.Resource]map[adapter.Key]string, error) {
	all := map[adapter.Resource]map[adapter.Key]string{}
	for r, keys := range wanted {
		if b.ids == nil {
			return nil, errNoIDs
		}
		slices.Sort(keys)
		ids, err := b.ids.BackendIDs(ctx, r, slices.Compact(keys))
		if err != nil {
			return nil, err
		}
		all[r] = ids
	}
	return all, nil
}
