package replica

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// A standing says how a root at the side stands to the backend.
type syncState uint8

const (
	// agrees: the document is the one that was compared last.
	inSync syncState = iota
	// stale: the document is another one, or a write has to be looked after.
	stale
	// pending: the backend is not known to have made it yet.
	pending
	// unmapped: there is no entry.
	unmapped
	// vanished: the backend has it no longer.
	missing
)

// compare tells how roots stand to the backend: by one query of the ledger, and one
// question to the backend.
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

// fetch returns the documents of these ids that there are.
func (a *Adapter) fetch(ctx context.Context, root *resourcePlan, ids []string) (map[string]Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := a.backend.Fetch(ctx, root.Resource, ids)
	if err != nil {
		return nil, asUnavailable("fetch "+string(root.Resource), err)
	}
	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	docs := make(map[string]Document, len(found))
	for _, doc := range found {
		if !asked[doc.ID] {
			return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "fetch " + string(root.Resource), Err: fmt.Errorf("the backend answered %q, which was not asked for", doc.ID)}
		}
		docs[doc.ID] = doc
	}
	return docs, nil
}

// unanswered returns the error of something that is no part of what the caller asked
// for: that it was refused says nothing to the caller.
func asUnavailable(op string, err error) error {
	if isRefusal(err) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return err
}

// refresh brings roots up to date, each when it is its turn. What has come to pass
// stands in the ledger then, and at the side. It returns the entries of those that
// are there.
func (a *Adapter) reconcileRoots(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	unlock, err := a.locks.lockAll(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return a.reconcileLocked(ctx, root, keys)
}

// current brings roots up to date that the caller has locked, and returns the entries
// of those that are there, none of them with a note. Kinds: Unavailable, Internal.
func (a *Adapter) reconcileLocked(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	reconciled, err := a.reconcileLockedRoots(ctx, root, keys)
	if err != nil {
		return nil, asUnavailable("compare "+string(root.Resource), err)
	}
	return reconciled, nil
}

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
			if err != nil { // the record is not to be seen, as it was not before
				a.log.Warn("a record that was being created is looked after later", "resource", root.Resource, "id", mapping.Key, "error", err)
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
			var admitted bool
			if mapping, admitted, err = a.importMapped(ctx, root, mapping, doc); err != nil {
				return nil, err
			}
			if !admitted {
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

// one is current for one root. Kinds: NotFound.
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
