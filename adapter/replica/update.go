package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errTouchesOwned = errors.New("the change is of what the backend keeps")
	errUnknownID    = errors.New("the part has no id of the backend: import it")
)

// ownerOf returns the key of the root of a record at the side. Kinds: NotFound.
func (s *store) rootOf(ctx context.Context, key adapter.Key, ownerID int64) (adapter.Key, error) {
	only := []string{}
	if !s.isRoot() {
		only = append(only, s.RootAttribute)
	}
	r, err := s.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID, Only: only})
	if err != nil {
		return 0, err
	}
	return s.rootKeyOf(r), nil
}

// Update changes one record: at the side, and if what the backend keeps is then
// another, at the backend.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.Resource, p.Key)
	if err := s.checkOpen(op); err != nil {
		return err
	}
	root, err := s.rootOf(ctx, p.Key, p.OwnerID)
	if adapter.KindOf(err) == adapter.NotFound {
		return s.missingRecordError(s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, OwnerID: p.OwnerID, Change: func(r adapter.Record) (adapter.Record, error) {
			return r, errNoChange
		}}), op)
	}
	if err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, recordRef{s.root.Resource, root})
	if err != nil {
		return err
	}
	defer unlock()
	mapping, err := s.reconcileRoot(ctx, "update", s.root, root)
	if err != nil {
		return err
	}
	attributes, touchedOwned, err := s.updateUnlessOwned(ctx, p)
	if err != nil || len(touchedOwned) == 0 {
		return err
	}
	return s.updateEverywhere(ctx, p, mapping, attributes)
}

// never returns what a side says of a write that it refuses, to a record that is not
// there.
func (s *store) missingRecordError(err error, op string) error {
	if err == nil || errors.Is(err, errNoChange) {
		return &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	return err
}

// named runs an update at the side if it is of nothing that the backend keeps. If it
// is, it returns the attributes that it names, and which of them the backend keeps.
func (s *store) updateUnlessOwned(ctx context.Context, p *adapter.UpdateParams) (attributes, touchedOwned []string, err error) {
	wrapped := *p
	wrapped.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		if err != nil {
			return change, err
		}
		attributes, touchedOwned = nil, nil
		for i, v := range change.Values {
			a := &s.schema.Attributes[i]
			if v.Kind() == adapter.Absent {
				continue
			}
			attributes = append(attributes, a.Name)
			// What reaches no further than a level leaves the default scope alone.
			if s.owned[i] && (p.StoreID == 0 || a.Scope == adapter.ScopeGlobal) && !sameValue(current.Values[i], v) {
				touchedOwned = append(touchedOwned, a.Name)
			}
		}
		if len(touchedOwned) > 0 {
			return change, errTouchesOwned
		}
		return change, nil
	}
	if err = s.store.Update(ctx, &wrapped); errors.Is(err, errTouchesOwned) {
		err = nil
	} else {
		touchedOwned = nil
	}
	return attributes, touchedOwned, err
}

// update changes a record of what the backend keeps. Its root is locked, and entry is
// up to date.
func (s *store) updateEverywhere(ctx context.Context, p *adapter.UpdateParams, mapping Mapping, attributes []string) error {
	u, err := s.beginUpdate(ctx, fmt.Sprintf("update %s %d", s.Resource, p.Key), mapping, p.Key, p.StoreID, attributes, opUpdate)
	if err != nil {
		return err
	}
	if maybeDone, err := s.updateReplica(ctx, p); err != nil {
		if !maybeDone {
			s.abandonIntent(ctx, u.mapping)
		}
		return err
	}
	return u.finish(ctx)
}

// An updating is an update of a record between its note and its end.
type pendingUpdate struct {
	*store
	op      string
	mapping Mapping // of the root, with the note
	intent  writeIntent
	id      string
	with    []string
	before  adapter.Record
}

// begin notes an update of a record at a level, before the side is changed.
func (s *store) beginUpdate(ctx context.Context, op string, mapping Mapping, key adapter.Key, storeID int64, attributes []string, what string) (*pendingUpdate, error) {
	u := &pendingUpdate{store: s, op: op, intent: writeIntent{Op: what, Resource: s.Resource, Key: key, StoreID: storeID, Attributes: attributes}}
	for _, name := range attributes {
		if at, _ := s.schema.Index(name); s.schema.Attributes[at].OnDemand {
			u.with = append(u.with, name)
		}
	}
	var err error
	if u.id, err = s.idOf(ctx, op, mapping, key); err != nil {
		return nil, err
	}
	if u.before, err = s.get(ctx, key, u.with...); err != nil {
		return nil, err
	}
	atLevel := u.before
	if storeID != 0 {
		if atLevel, err = s.store.Get(ctx, &adapter.GetParams{Key: key, StoreID: storeID, With: u.with}); err != nil {
			return nil, err
		}
	}
	if u.intent.Old, err = s.undoValues(atLevel, u.before, storeID, attributes); err != nil {
		return nil, &adapter.Error{Kind: adapter.Internal, Op: op, Err: err}
	}
	if exclusiveAttributes(s.Resource) != nil {
		if u.intent.Siblings, err = s.siblingsBefore(ctx, mapping.Key, storeID); err != nil {
			return nil, err
		}
	}
	u.mapping, err = s.putIntent(ctx, mapping, u.intent)
	return u, err
}

// end does at the backend what the side has done, or undoes it.
func (u *pendingUpdate) finish(ctx context.Context) error {
	after, err := u.get(ctx, u.intent.Key, u.with...)
	if err != nil {
		return err
	}
	changed := u.changedAttributes(u.resourcePlan, u.before, after)
	if len(changed) == 0 {
		return u.finishUnchanged(ctx)
	}
	w := &Write{Resource: u.Resource, Key: u.intent.Key, ID: u.id, Old: u.before, New: after, Changed: changed}
	if err = u.addContext(ctx, w, u.mapping); err != nil {
		return err
	}
	err = &adapter.Error{Kind: adapter.Unsupported, Op: u.op, Err: errNoUpdates}
	if u.Updates {
		err = u.backend.Update(ctx, w)
	}
	switch {
	case err == nil:
		return u.completeWrite(ctx, u.mapping, &ownWrite{resource: u.Resource, key: w.Key, attributes: changed, nested: u.nestedResources(u.resourcePlan, changed), written: after})
	case isRefusal(err):
		u.undoUpdate(ctx, u.mapping, u.intent)
		return err
	default:
		return err
	}
}

var errUndone = errors.New("another process has taken the write for one that was given up")

// endUnchanged ends an update after which nothing is different that the backend keeps:
// it was of nothing, or another process that met the note has undone it.
func (u *pendingUpdate) finishUnchanged(ctx context.Context) error {
	mappings, err := u.replica.MappingsByKey(ctx, u.mapping.Resource, []adapter.Key{u.mapping.Key})
	if err != nil {
		return err
	}
	if len(mappings) == 0 || !bytes.Equal(mappings[0].Intent, u.mapping.Intent) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: u.op, Err: errUndone}
	}
	return u.clearIntent(ctx, u.mapping)
}

var errNoUpdates = errors.New("the backend takes no changes")

// change runs an update at the side. done reports whether that may have been done
// although err says otherwise.
func (s *store) updateReplica(ctx context.Context, p *adapter.UpdateParams) (maybeDone bool, err error) {
	var callerErr error
	wrapped := *p
	wrapped.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		callerErr = err
		return change, err
	}
	if err = s.store.Update(ctx, &wrapped); err == nil {
		return true, nil
	}
	return callerErr == nil && !isRefusal(err), err
}

// idOf returns the backend's id of a record; "" for a part that has none by nature.
// Kinds: Unsupported for one whose id is not known.
func (s *store) idOf(ctx context.Context, op string, mapping Mapping, key adapter.Key) (string, error) {
	switch {
	case s.isRoot():
		return mapping.BackendID, nil
	case !s.HasIDs:
		return "", nil
	}
	mappings, err := s.replica.MappingsByKey(ctx, s.Resource, []adapter.Key{key})
	if err != nil {
		return "", err
	}
	if len(mappings) == 0 || mappings[0].BackendID == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errUnknownID}
	}
	return mappings[0].BackendID, nil
}

// complete says what a write of a part has to do with its root, which has that entry.
func (s *store) addContext(ctx context.Context, w *Write, mapping Mapping) error {
	if s.isRoot() {
		return nil
	}
	w.RootKey, w.RootID = mapping.Key, mapping.BackendID
	parts, err := s.loadParts(ctx, s.resourcePlan, mapping.Key)
	if err != nil {
		return err
	}
	for key, r := range parts.records {
		if key == w.Key && w.New.Schema == nil {
			continue // it is about to go
		}
		w.Siblings = append(w.Siblings, Sibling{ID: parts.ids[key], Record: r})
	}
	slices.SortFunc(w.Siblings, func(a, b Sibling) int { return int(keyOf(a.Record) - keyOf(b.Record)) })
	return nil
}

// forget drops the note of a write that was not done. If it cannot, the note stays
// and is found to be of nothing.
func (a *Adapter) abandonIntent(ctx context.Context, mapping Mapping) {
	if err := a.clearIntent(ctx, mapping); err != nil {
		a.log.Warn("a note of a write that was not done is dropped later", "resource", mapping.Resource, "id", mapping.Key, "error", err)
	}
}

// undo puts old values back after the backend has refused an update, and drops the
// note. If it cannot, the note stays and says so.
func (s *store) undoUpdate(ctx context.Context, mapping Mapping, intent writeIntent) {
	detached, cancel := detachedContext(ctx)
	defer cancel()
	err := s.rollBack(detached, intent)
	if err == nil {
		err = s.clearIntent(detached, mapping)
	}
	if err != nil {
		s.log.Warn("an update that the backend refused is undone later", "resource", intent.Resource, "id", intent.Key, "error", err)
	}
}

// finish ends a write that both sides have done: it takes the document that came of
// it for the base, drops the note, and stores entries with that.
func (a *Adapter) completeWrite(ctx context.Context, mapping Mapping, own *ownWrite, mappings ...Mapping) error {
	root := a.plans[mapping.Resource]
	if len(mappings) > 0 {
		if err := a.putMappingsDetached(ctx, mappings...); err != nil {
			return err
		}
	}
	docs, err := a.fetch(ctx, root, []string{mapping.BackendID})
	if errors.Is(ctx.Err(), context.Canceled) { // by a caller who has gone, and not for want of time
		detached, cancel := detachedContext(ctx)
		defer cancel()
		docs, err = a.fetch(detached, root, []string{mapping.BackendID})
	}
	if doc, ok := docs[mapping.BackendID]; err == nil && ok {
		detached, cancel := detachedContext(ctx)
		defer cancel()
		if _, _, err = a.reconcile(detached, root, mapping, doc, own); err == nil {
			return nil
		}
	}
	// The next who reads it compares it.
	mapping.Version, mapping.Intent = "", nil
	return a.putMappingsDetached(ctx, mapping)
}

// enterAside stores entries although the caller may have gone.
func (a *Adapter) putMappingsDetached(ctx context.Context, mappings ...Mapping) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	return a.replica.PutMappings(ctx, mappings...)
}
