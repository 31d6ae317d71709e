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

// A reference is a backend's record to which a document refers.
type reference struct {
	resource adapter.Resource
	id       string
}

// A keyCache caches the legacy ids that the documents of one response refer to, because
// many documents refer to the same few records. It is safe for concurrent use.
type keyCache struct {
	mu   sync.Mutex
	keys map[reference]adapter.Key // 0: the record has no legacy id
}

// documentKeys are the legacy ids that one document refers to.
type documentKeys struct {
	*keyCache
	unresolved map[adapter.Resource][]string // backend ids that have none
}

// resolve looks up the legacy ids that are not cached yet.
func (b *Backend) resolve(ctx context.Context, cache *keyCache, wanted []reference) error {
	missing := map[adapter.Resource][]string{}
	cache.mu.Lock()
	for _, ref := range wanted {
		if _, known := cache.keys[ref]; !known && !slices.Contains(missing[ref.resource], ref.id) {
			missing[ref.resource] = append(missing[ref.resource], ref.id)
		}
	}
	cache.mu.Unlock()
	for r, ids := range missing {
		if b.ids == nil {
			return errNoIDs
		}
		slices.Sort(ids)
		keys, err := b.ids.Keys(ctx, r, ids)
		if err != nil {
			return err
		}
		cache.mu.Lock()
		for _, id := range ids {
			cache.keys[reference{r, id}] = keys[id]
		}
		cache.mu.Unlock()
	}
	return nil
}

// key returns the legacy id of a record that was looked up, or 0 if it has none.
func (c *keyCache) key(r adapter.Resource, id string) adapter.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[reference{r, id}]
}

// appendReferences appends the references in an object to all. prefix is the path of a
// nested object.
func (r *resource) appendReferences(all []reference, object map[string]any, prefix string) []reference {
	for name, v := range object {
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if nested, ok := e.(map[string]any); ok {
					all = r.appendReferences(all, nested, prefix+name+".")
				}
			}
		}
		if of, is := strings.CutSuffix(name, refSuffix); is {
			if to, id := r.References[prefix+of], backendID(v); to != "" && id != "" {
				all = append(all, reference{to, id})
			}
		}
	}
	return all
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

// An idCache has the backend ids to which the records of one write refer.
type idCache struct {
	ids    map[adapter.Resource]map[adapter.Key]string
	wanted map[adapter.Resource][]adapter.Key // not looked up yet
}

// id returns the backend id of a legacy id, or nil if it is unknown.
func (c *idCache) id(r adapter.Resource, key adapter.Key) any {
	if c.ids[r] == nil && key > 0 {
		c.wanted[r] = append(c.wanted[r], key)
	}
	return nullable(c.ids[r][key])
}

// lookUp looks up the ids that were wanted.
func (b *Backend) lookUp(ctx context.Context, c *idCache) error {
	for r, keys := range c.wanted {
		if b.ids == nil {
			return errNoIDs
		}
		slices.Sort(keys)
		ids, err := b.ids.BackendIDs(ctx, r, slices.Compact(keys))
		if err != nil {
			return err
		}
		c.ids[r] = ids
	}
	return nil
}
