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
	errTouchesOwned = errors.New("the change touches a backend-owned attribute")
	errUnknownID    = errors.New("the backend id of the part is unknown: import it with portico ids import")
)

// rootOf returns the key of the root that a record of the local replica belongs to. Kinds:
// NotFound.
func (s *store) lookupRootKey(ctx context.Context, key adapter.Key, ownerID int64) (adapter.Key, error) {
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

// Update changes one record in the local replica, and at the backend if the change touches
// a backend-owned attribute. The replica's record is restored if the backend refuses the
// change.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.Resource, p.Key)
	if err := s.checkOpen(op); err != nil {
		return err
	}
	rootKey, err := s.lookupRootKey(ctx, p.Key, p.OwnerID)
	if adapter.KindOf(err) == adapter.NotFound {
		return s.missingRecordError(s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, OwnerID: p.OwnerID, Change: func(r adapter.Record) (adapter.Record, error) {
			return r, errNoChange
		}}), op)
	}
	if err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, recordRef{s.root.Resource, rootKey})
	if err != nil {
		return err
	}
	defer unlock()
	mapping, err := s.reconcileRoot(ctx, "update", s.root, rootKey)
	if err != nil {
		return err
	}
	attributes, touchedOwned, err := s.updateUnlessOwned(ctx, p)
	if err != nil || len(touchedOwned) == 0 {
		return err
	}
	return s.updateEverywhere(ctx, p, mapping, attributes)
}

// missingRecordError returns the error for an update of a record that does not exist: the
// local replica's own, else kind NotFound.
func (s *store) missingRecordError(err error, op string) error {
	if err == nil || errors.Is(err, errNoChange) {
		return &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	return err
}

// updateUnlessOwned updates the local replica if the change touches no backend-owned
// attribute. Otherwise it writes nothing and returns the attributes that the change sets,
// and the backend-owned ones among them.
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
			if v.Kind() == adapter.Absent || a.WriteOnly {
				continue
			}
			attributes = append(attributes, a.Name)
			// A value of a narrower scope leaves the default scope unchanged.
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

// updateEverywhere applies a change that touches backend-owned attributes, in the local
// replica and at the backend. The caller holds the root's lock; mapping is the root's, just
// reconciled.
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

// A pendingUpdate is an update between storing its write intent and its end.
type pendingUpdate struct {
	*store
	op       string
	mapping  Mapping // of the root, with the write intent
	intent   writeIntent
	id       string         // the backend id
	onDemand []string       // on-demand attributes that the update sets
	before   adapter.Record // at the default scope
}

// beginUpdate stores the write intent of an update at a store view, before the local
// replica changes. attributes are those that the update sets.
func (s *store) beginUpdate(ctx context.Context, op string, mapping Mapping, key adapter.Key, storeID int64, attributes []string, intentOp string) (*pendingUpdate, error) {
	u := &pendingUpdate{store: s, op: op, intent: writeIntent{Op: intentOp, Resource: s.Resource, Key: key, StoreID: storeID, Attributes: attributes}}
	for _, name := range attributes {
		if at, _ := s.schema.Index(name); s.schema.Attributes[at].OnDemand {
			u.onDemand = append(u.onDemand, name)
		}
	}
	var err error
	if u.id, err = s.idOf(ctx, op, mapping, key); err != nil {
		return nil, err
	}
	if u.before, err = s.get(ctx, key, u.onDemand...); err != nil {
		return nil, err
	}
	atLevel := u.before
	if storeID != 0 {
		if atLevel, err = s.store.Get(ctx, &adapter.GetParams{Key: key, StoreID: storeID, With: u.onDemand}); err != nil {
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

// finish sends the change to the backend. If the backend refuses it, finish restores the
// replica's record.
func (u *pendingUpdate) finish(ctx context.Context) error {
	after, err := u.get(ctx, u.intent.Key, u.onDemand...)
	if err != nil {
		return err
	}
	changed := u.changedAttributes(u.resourcePlan, u.before, after)
	if len(changed) == 0 {
		return u.finishUnchanged(ctx)
	}
	w := &Write{Resource: u.Resource, Key: u.intent.Key, ID: u.id, Old: u.before, New: after, Changed: changed}
	if err = u.addRootAndSiblings(ctx, w, u.mapping); err != nil {
		return err
	}
	err = &adapter.Error{Kind: adapter.Unsupported, Op: u.op, Err: errNoUpdates}
	if u.Updates {
		err = u.backend.Update(ctx, w)
	}
	switch {
	case err == nil:
		return u.completeWrite(ctx, u.mapping, &ownWrite{resource: u.Resource, key: w.Key, attributes: changed, nested: u.nestedResources(u.resourcePlan, changed)})
	case isRefusal(err):
		u.undoUpdate(ctx, u.mapping, u.intent)
		return err
	default:
		return err
	}
}

var errUndone = errors.New("another process has rolled back the write, as if its process had ended")

// finishUnchanged ends an update after which no backend-owned attribute differs. Either the
// update changed nothing, or another process resolved the write intent and rolled the
// update back.
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

var errNoUpdates = errors.New("the backend does not accept changes of this resource")

// updateReplica applies an update in the local replica. maybeDone reports whether the
// update may have been applied even though err is not nil.
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

// idOf returns the backend id of a record; "" for a part of a resource without ids. Kinds:
// Unsupported for a part whose id is unknown.
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

// addRootAndSiblings completes the write of a part with the identifiers of its root, which
// mapping has, and with all parts of its resource under that root, in the order of their
// keys. The part itself is among them unless it is being deleted. A write of a root is left
// as it is.
func (s *store) addRootAndSiblings(ctx context.Context, w *Write, mapping Mapping) error {
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
			continue // it is being deleted
		}
		w.Siblings = append(w.Siblings, Sibling{ID: parts.ids[key], Record: r})
	}
	slices.SortFunc(w.Siblings, func(a, b Sibling) int { return int(keyOf(a.Record) - keyOf(b.Record)) })
	return nil
}

// abandonIntent clears the intent of a write that was not done. If that fails, the intent
// remains, and a later scan finds that there is nothing to resolve.
func (a *Adapter) abandonIntent(ctx context.Context, mapping Mapping) {
	if err := a.clearIntent(ctx, mapping); err != nil {
		a.log.Warn("the intent of a write that was not done cannot be cleared now; the next scan tries again", "resource", mapping.Resource, "id", mapping.Key, "error", err)
	}
}

// undoUpdate restores the replica's old values after the backend has refused an update, and
// clears the intent. If that fails, the intent remains and a later scan restores them.
func (s *store) undoUpdate(ctx context.Context, mapping Mapping, intent writeIntent) {
	detached, cancel := detachedContext(ctx)
	defer cancel()
	err := s.rollBack(detached, intent)
	if err == nil {
		err = s.clearIntent(detached, mapping)
	}
	if err != nil {
		s.log.Warn("an update that the backend refused cannot be undone now; the next scan tries again", "resource", intent.Resource, "id", intent.Key, "error", err)
	}
}

// completeWrite ends a write that the replica and the backend have both done: it reconciles
// with the resulting document, which becomes the new base, clears the intent, and stores
// the given mappings.
func (a *Adapter) completeWrite(ctx context.Context, mapping Mapping, own *ownWrite, mappings ...Mapping) error {
	root := a.plans[mapping.Resource]
	if len(mappings) > 0 {
		if err := a.putMappingsDetached(ctx, mappings...); err != nil {
			return err
		}
	}
	rows := []row{{key: mapping.Key, mapping: &mapping}}
	err := a.addDocuments(ctx, root, rows)
	detached, cancel := detachedContext(ctx)
	defer cancel()
	if errors.Is(ctx.Err(), context.Canceled) { // the caller has gone; its deadline has not passed
		err = a.addDocuments(detached, root, rows)
	}
	if err == nil && rows[0].doc != nil {
		_, _, err = a.reconcile(detached, root, mapping, *rows[0].doc, own)
		if errors.Is(err, errResolved) {
			_, err = a.reconcileLocked(detached, root, []adapter.Key{mapping.Key})
		}
		if err == nil {
			return nil
		}
	}
	// The next read reconciles the record.
	mapping.Version, mapping.Intent = "", nil
	return a.putMappingsDetached(ctx, mapping)
}

// putMappingsDetached stores mappings even if the caller has gone away.
func (a *Adapter) putMappingsDetached(ctx context.Context, mappings ...Mapping) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	return a.replica.PutMappings(ctx, mappings...)
}
