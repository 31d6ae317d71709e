package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"slices"
	"strings"
	"sync"
)

var errNoIDs = errors.New("the mapping has references, but there is no ID map to translate them")

// noIDs stands for the IDs of a mapping without references.
type noIDs struct{}

func (noIDs) BackendIDs(context.Context, adapter.Resource, []adapter.Key) (map[adapter.Key]string, error) {
	return nil, errNoIDs
}

func (noIDs) Keys(context.Context, adapter.Resource, []string) (map[string]adapter.Key, error) {
	return nil, errNoIDs
}

// refSuffix marks the backend's id of a reference: expressions see website_id_ref next to
// website_id.
const refSuffix = "_ref"

// A keyCache caches the legacy ids to which the documents of a response refer, because the
// documents refer to the same few records. It is safe for concurrent use.
type keyCache struct {
	mu    sync.Mutex
	known map[adapter.Resource]map[string]adapter.Key // 0 for ids that the ID map does not have
}

// lookUp looks up the ids that are not cached yet. They may be repeated. Other calls wait, as
// most of them want the same ids.
func (c *keyCache) lookUp(ctx context.Context, ids IDs, wanted map[adapter.Resource][]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[adapter.Resource]map[string]adapter.Key{}
	}
	for r, all := range wanted {
		if c.known[r] == nil {
			c.known[r] = map[string]adapter.Key{}
		}
		missing := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(all))), func(id string) bool { _, known := c.known[r][id]; return known })
		if len(missing) == 0 {
			continue
		}
		found, err := ids.Keys(ctx, r, missing)
		if err != nil {
			return err
		}
		for _, id := range missing {
			c.known[r][id] = found[id]
		}
	}
	return nil
}

// get returns the legacy id of a record that was looked up, 0 for none.
func (c *keyCache) get(r adapter.Resource, id string) adapter.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[r][id]
}

// A documentReader collects the unresolved references and the left-out values of one document while
// it is read.
type documentReader struct {
	*keyCache                                // the legacy ids that the document refers to
	unresolved map[adapter.Resource][]string // backend ids without legacy ids
	leftOut    []string                      // see replica.Item
}

// leaveOut notes that a result of e for a resource is left out.
func (d *documentReader) leaveOut(e *expression, r *resource, what string, err error) {
	d.leftOut = append(d.leftOut, fmt.Sprintf("%s: %s of %s %v", e.at, what, r.name, err))
}

// writeIDs are the backend ids to which the records of one write refer.
type writeIDs struct {
	wanted map[adapter.Resource][]adapter.Key
	found  map[adapter.Resource]map[adapter.Key]string
	setIDs []func() // put the ids into the objects that expressions see
}

// add lets resolve set the backend id of a reference in an object.
func (w *writeIDs) add(object map[string]any, name string, to adapter.Resource, key adapter.Key) {
	if key > 0 {
		w.wanted[to] = append(w.wanted[to], key)
	}
	w.setIDs = append(w.setIDs, func() { object[name+refSuffix] = nullable(w.found[to][key]) })
}

// resolve looks up the ids and sets them.
func (w *writeIDs) resolve(ctx context.Context, ids IDs) (err error) {
	w.found = make(map[adapter.Resource]map[adapter.Key]string, len(w.wanted))
	for r, keys := range w.wanted {
		if w.found[r], err = ids.BackendIDs(ctx, r, slices.Compact(slices.Sorted(slices.Values(keys)))); err != nil {
			return err
		}
	}
	for _, set := range w.setIDs {
		set()
	}
	return nil
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
	id, _ := expr.Text(v)
	return id
}
