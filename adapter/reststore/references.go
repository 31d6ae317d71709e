package reststore

import (
	"cmp"
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

// An idMap is one direction of Options.IDs; nil if there is no ID map.
type idMap[From cmp.Ordered, To any] func(context.Context, adapter.Resource, []From) (map[From]To, error)

// An idCache caches what an idMap has, because the documents of a response refer to the same
// few records. It is safe for concurrent use.
type idCache[From cmp.Ordered, To any] struct {
	mu    sync.Mutex
	known map[reference[From]]To // the zero value for ids that the ID map does not have
}

// A reference refers to a record by its id.
type reference[ID cmp.Ordered] struct {
	resource adapter.Resource
	id       ID
}

// A keyCache caches the legacy ids to which documents refer.
type keyCache = idCache[string, adapter.Key]

// lookUp looks up the ids that are not cached yet. They may be repeated. Other calls wait, as
// most of them want the same ids.
func (c *idCache[From, To]) lookUp(ctx context.Context, ids idMap[From, To], wanted map[adapter.Resource][]From) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[reference[From]]To{}
	}
	for r, all := range wanted {
		missing := make([]From, 0, len(all))
		for _, id := range all {
			if _, known := c.known[reference[From]{r, id}]; !known {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			continue
		}
		if ids == nil {
			return errNoIDs
		}
		slices.Sort(missing)
		missing = slices.Compact(missing)
		found, err := ids(ctx, r, missing)
		if err != nil {
			return err
		}
		for _, id := range missing {
			c.known[reference[From]{r, id}] = found[id]
		}
	}
	return nil
}

// get returns the other id of a record that was looked up, or the zero value.
func (c *idCache[From, To]) get(r adapter.Resource, id From) To {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[reference[From]{r, id}]
}

// documentKeys are the legacy ids that one document refers to.
type documentKeys struct {
	*keyCache
	unresolved map[adapter.Resource][]string // backend ids that have none
}

// writeIDs are the backend ids to which the records of one write refer.
type writeIDs struct {
	idCache[adapter.Key, string]
	wanted map[adapter.Resource][]adapter.Key
	setIDs []func() // put the ids into the objects that expressions see
}

// add lets resolve set the backend id of a reference in an object.
func (w *writeIDs) add(object map[string]any, name string, to adapter.Resource, key adapter.Key) {
	if key > 0 {
		w.wanted[to] = append(w.wanted[to], key)
	}
	w.setIDs = append(w.setIDs, func() { object[name+refSuffix] = nullable(w.get(to, key)) })
}

// resolve looks up the ids and sets them.
func (w *writeIDs) resolve(ctx context.Context, ids idMap[adapter.Key, string]) error {
	err := w.lookUp(ctx, ids, w.wanted)
	for _, set := range w.setIDs {
		set()
	}
	return err
}

// addReferences adds the backend ids of the references in an object to all. prefix is the
// path of a nested object.
func (r *resource) addReferences(all map[adapter.Resource][]string, object map[string]any, prefix string) {
	for name, v := range object {
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if nested, ok := e.(map[string]any); ok {
					r.addReferences(all, nested, prefix+name+".")
				}
			}
		}
		if of, is := strings.CutSuffix(name, refSuffix); is {
			if to, id := r.References[prefix+of], backendID(v); to != "" && id != "" {
				all[to] = append(all[to], id)
			}
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
