package replica

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// A syncState says how a root in the local replica compares with the backend.
type syncState uint8

const (
	// inSync: the document has the version that was last reconciled.
	inSync syncState = iota
	// stale: the document has another version, or a write intent must be resolved.
	stale
	// pending: the record is being created, and the backend may not have it yet.
	pending
	// unmapped: the record has no mapping.
	unmapped
	// missing: the backend no longer has the record.
	missing
)

// syncStates returns the sync state of roots, at the cost of one query of the ID map and
// one request to the backend.
func (a *Adapter) syncStates(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]syncState, error) {
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	states := make(map[adapter.Key]syncState, len(keys))
	for _, key := range keys {
		states[key] = unmapped
	}
	byID, ids := make(map[string]*Mapping, len(mappings)), make([]string, 0, len(mappings))
	for i := range mappings {
		mapping := &mappings[i]
		switch {
		case mapping.BackendID != "":
			states[mapping.Key] = missing
			if mapping.Intent != nil {
				states[mapping.Key] = stale
			}
			byID[mapping.BackendID], ids = mapping, append(ids, mapping.BackendID)
		case mapping.Intent != nil:
			states[mapping.Key] = pending
		}
	}
	docs, err := a.fetch(ctx, root, ids)
	for id, doc := range docs {
		mapping := byID[id]
		states[mapping.Key] = inSync
		if mapping.Intent != nil || mapping.Version != doc.Version || mapping.Base == nil {
			states[mapping.Key] = stale
		}
	}
	return states, err
}

// fetch returns the documents that exist for these backend ids, by id.
func (a *Adapter) fetch(ctx context.Context, root *resourcePlan, ids []string) (map[string]Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := a.backend.Fetch(ctx, root.Resource, ids)
	if err != nil {
		return nil, asUnavailable("fetch "+string(root.Resource), err)
	}
	requested := make(map[string]bool, len(ids))
	for _, id := range ids {
		requested[id] = true
	}
	docs := make(map[string]Document, len(found))
	for _, doc := range found {
		if !requested[doc.ID] {
			return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "fetch " + string(root.Resource), Err: fmt.Errorf("the backend returned document %q, which was not requested", doc.ID)}
		}
		docs[doc.ID] = doc
	}
	return docs, nil
}

// asUnavailable turns a refusal into kind Unavailable. It is for requests that the caller
// of the adapter did not make, so that a refusal is not mistaken for the answer to its own.
func asUnavailable(op string, err error) error {
	if isRefusal(err) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return err
}

// reconcileRoots locks roots and reconciles them with the backend. It returns the mappings
// of those that the backend has.
func (a *Adapter) reconcileRoots(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	unlock, err := a.locks.lockAll(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return a.reconcileLocked(ctx, root, keys)
}

// reconcileLocked reconciles roots that the caller has locked. It returns the mappings of
// those that the backend has, none of them with a write intent. Kinds: Unavailable,
// Internal.
func (a *Adapter) reconcileLocked(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	reconciled, err := a.reconcileLockedRoots(ctx, root, keys)
	if err != nil {
		return nil, asUnavailable("compare "+string(root.Resource), err)
	}
	return reconciled, nil
}

// reconcileLockedRoots is reconcileLocked, except that it may return refusals.
func (a *Adapter) reconcileLockedRoots(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range mappings {
		if mapping := &mappings[i]; mapping.BackendID == "" && mapping.Intent != nil {
			resolved, err := a.resolveCreate(ctx, root, *mapping)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // the record stays invisible
				a.log.Warn("the creation of a record cannot be resolved now; the next scan tries again", "resource", root.Resource, "id", mapping.Key, "error", err)
				continue
			}
			*mapping = resolved
		}
		if mappings[i].BackendID != "" {
			ids = append(ids, mappings[i].BackendID)
		}
	}
	docs, err := a.fetch(ctx, root, ids)
	if err != nil {
		return nil, err
	}
	reconciled := make(map[adapter.Key]Mapping, len(mappings))
	for _, mapping := range mappings {
		doc, ok := docs[mapping.BackendID]
		if mapping.Intent != nil {
			if mapping, err = a.resolveIntent(ctx, root, mapping, doc, ok); err != nil {
				return nil, err
			}
		}
		if !ok || mapping.BackendID == "" {
			continue
		}
		if string(mapping.Base) == emptyBase {
			var imported bool
			if mapping, imported, err = a.importMapped(ctx, root, mapping, doc); err != nil {
				return nil, err
			}
			if !imported {
				continue
			}
		}
		if mapping.Intent != nil || mapping.Version != doc.Version || mapping.Base == nil {
			if mapping, _, err = a.reconcile(ctx, root, mapping, doc, nil); err != nil {
				return nil, err
			}
		}
		reconciled[mapping.Key] = mapping
	}
	return reconciled, nil
}

// reconcileRoot is reconcileLocked for one root. Kinds: NotFound, Unavailable, Internal.
func (a *Adapter) reconcileRoot(ctx context.Context, op string, root *resourcePlan, key adapter.Key) (Mapping, error) {
	reconciled, err := a.reconcileLocked(ctx, root, []adapter.Key{key})
	if err != nil {
		return Mapping{}, err
	}
	mapping, ok := reconciled[key]
	if !ok {
		return Mapping{}, notFound(op, root.Resource, key)
	}
	return mapping, nil
}
