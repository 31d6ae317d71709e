package replica

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// A standing says how a root at the side stands to the backend.
type standing uint8

const (
	// agrees: the document is the one that was compared last.
	agrees standing = iota
	// stale: the document is another one, or a write has to be looked after.
	stale
	// pending: the backend is not known to have made it yet.
	pending
	// unmapped: there is no entry.
	unmapped
	// vanished: the backend has it no longer.
	vanished
)

// compare tells how roots stand to the backend: by one query of the ledger, and one
// question to the backend.
func (a *Adapter) compare(ctx context.Context, root *keeping, keys []adapter.Key) (map[adapter.Key]standing, error) {
	entries, err := a.side.MappingsByKey(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	standings := make(map[adapter.Key]standing, len(keys))
	for _, key := range keys {
		standings[key] = unmapped
	}
	byID, ids := make(map[string]*Mapping, len(entries)), make([]string, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		switch {
		case e.BackendID != "":
			standings[e.Key] = vanished
			if e.Intent != nil {
				standings[e.Key] = stale
			}
			byID[e.BackendID], ids = e, append(ids, e.BackendID)
		case e.Intent != nil:
			standings[e.Key] = pending
		}
	}
	docs, err := a.fetch(ctx, root, ids)
	for id, doc := range docs {
		e := byID[id]
		standings[e.Key] = agrees
		if e.Intent != nil || e.Version != doc.Version || e.Base == nil {
			standings[e.Key] = stale
		}
	}
	return standings, err
}

// fetch returns the documents of these ids that there are.
func (a *Adapter) fetch(ctx context.Context, root *keeping, ids []string) (map[string]Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := a.backend.Fetch(ctx, root.Resource, ids)
	if err != nil {
		return nil, unanswered("fetch "+string(root.Resource), err)
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
func unanswered(op string, err error) error {
	if refused(err) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return err
}

// refresh brings roots up to date, each when it is its turn. What has come to pass
// stands in the ledger then, and at the side. It returns the entries of those that
// are there.
func (a *Adapter) refresh(ctx context.Context, root *keeping, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	unlock, err := a.locks.lockAll(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return a.current(ctx, root, keys)
}

// current brings roots up to date that the caller has locked, and returns the entries
// of those that are there, none of them with a note. Kinds: Unavailable, Internal.
func (a *Adapter) current(ctx context.Context, root *keeping, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	there, err := a.bringUp(ctx, root, keys)
	if err != nil {
		return nil, unanswered("compare "+string(root.Resource), err)
	}
	return there, nil
}

func (a *Adapter) bringUp(ctx context.Context, root *keeping, keys []adapter.Key) (map[adapter.Key]Mapping, error) {
	entries, err := a.side.MappingsByKey(ctx, root.Resource, keys)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range entries {
		if e := &entries[i]; e.BackendID == "" && e.Intent != nil {
			settled, err := a.settleCreated(ctx, root, *e)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // the record is not to be seen, as it was not before
				a.log.Warn("a record that was being created is looked after later", "resource", root.Resource, "id", e.Key, "error", err)
				continue
			}
			*e = settled
		}
		if entries[i].BackendID != "" {
			ids = append(ids, entries[i].BackendID)
		}
	}
	docs, err := a.fetch(ctx, root, ids)
	if err != nil {
		return nil, err
	}
	there := make(map[adapter.Key]Mapping, len(entries))
	for _, e := range entries {
		doc, ok := docs[e.BackendID]
		if e.Intent != nil {
			if e, err = a.settle(ctx, root, e, doc, ok); err != nil {
				return nil, err
			}
		}
		if !ok || e.BackendID == "" {
			continue
		}
		if string(e.Base) == nothingKnown {
			var admitted bool
			if e, admitted, err = a.admit(ctx, root, e, doc); err != nil {
				return nil, err
			}
			if !admitted {
				continue
			}
		}
		if e.Intent != nil || e.Version != doc.Version || e.Base == nil {
			if e, _, err = a.merge(ctx, root, e, doc, nil); err != nil {
				return nil, err
			}
		}
		there[e.Key] = e
	}
	return there, nil
}

// one is current for one root. Kinds: NotFound.
func (a *Adapter) one(ctx context.Context, op string, root *keeping, key adapter.Key) (Mapping, error) {
	there, err := a.current(ctx, root, []adapter.Key{key})
	if err != nil {
		return Mapping{}, err
	}
	e, ok := there[key]
	if !ok {
		return Mapping{}, gone(op, root.Resource, key)
	}
	return e, nil
}
