package replica

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

var errUnknownID = errors.New("the backend id of the part is unknown: import it with portico ids import")

// A pendingWrite is a write between storing its write intent and its end.
type pendingWrite struct {
	*store
	mapping Mapping // of the root, with the intent; the writer holds the root's lock
	intent  writeIntent
	// Of a record that exists before the write: its backend id, and its values at the
	// default scope.
	id     string
	before adapter.Record
}

// lockRecord locks the root of an existing record, reconciles it with the backend, and
// returns its mapping. Kinds: NotFound, Unavailable, Internal.
func (s *store) lockRecord(ctx context.Context, verb string, key adapter.Key, ownerID int64) (mapping Mapping, unlock func(), err error) {
	r, err := s.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID, Only: s.withRootKey([]string{})})
	if err != nil {
		return mapping, nil, err
	}
	return s.lockRoot(ctx, verb, s.rootKeyOf(r))
}

// lockRoot is lockRecord for the key of the root.
func (s *store) lockRoot(ctx context.Context, verb string, rootKey adapter.Key) (mapping Mapping, unlock func(), err error) {
	if unlock, err = s.locks.lock(ctx, s.root.Resource, rootKey); err != nil {
		return mapping, nil, err
	}
	reconciled, err := s.reconcileLocked(ctx, s.root, []adapter.Key{rootKey})
	mapping, ok := reconciled[rootKey]
	if err == nil && !ok {
		err = notFound(verb, s.root.Resource, rootKey)
	}
	if err != nil {
		unlock()
	}
	return mapping, unlock, err
}

// begin stores the write intent of a write whose root is locked.
func (s *store) begin(ctx context.Context, mapping Mapping, intent writeIntent) (w *pendingWrite, err error) {
	intent.Resource = s.Resource
	w = &pendingWrite{store: s, mapping: mapping, intent: intent}
	if w.mapping, err = s.putIntent(ctx, mapping, intent); err == nil {
		w.intent, err = decodeIntent(w.mapping) // undo and recovery work with the same
	}
	return w, err
}

// beginChange is begin for an update or a delete, before the local replica changes. The
// intent has the attributes that the write sets, if any.
func (s *store) beginChange(ctx context.Context, op string, mapping Mapping, intent writeIntent) (*pendingWrite, error) {
	id, err := s.idOf(ctx, op, mapping, intent.Key)
	if err != nil {
		return nil, err
	}
	onDemand := s.onDemandOf(intent.Attributes)
	before, err := s.get(ctx, intent.Key, onDemand...)
	if err != nil {
		return nil, err
	}
	if intent.Attributes != nil {
		atLevel := before
		if intent.StoreID != 0 {
			if atLevel, err = s.store.Get(ctx, &adapter.GetParams{Key: intent.Key, StoreID: intent.StoreID, With: onDemand}); err != nil {
				return nil, err
			}
		}
		intent.Old = s.undoValues(atLevel, before, intent.StoreID, intent.Attributes)
		if s.exclusive != nil {
			if intent.Siblings, err = s.siblingsBefore(ctx, mapping.Key, intent.StoreID); err != nil {
				return nil, err
			}
		}
	}
	w, err := s.begin(ctx, mapping, intent)
	w.id, w.before = id, before
	return w, err
}

// undo takes back in the local replica what was refused, and clears the intent, even if the
// caller has gone away. If that fails, the intent remains, and a later scan undoes the
// write.
func (w *pendingWrite) undo(ctx context.Context) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	err := w.rollBack(ctx, w.intent)
	switch {
	case err != nil:
	case w.isRoot() && w.intent.Op == opCreate:
		err = w.replica.DeleteMapping(ctx, w.Resource, w.intent.Key)
	default:
		w.mapping.Intent = nil
		err = w.replica.PutMappings(ctx, w.mapping)
	}
	if err != nil {
		w.log.Warn("a write that was refused cannot be undone now; the next scan tries again", "resource", w.Resource, "id", w.intent.Key, "error", err)
	}
}

// inReplica calls do, which makes the write in the local replica, and clears the intent if
// do certainly wrote nothing.
func (w *pendingWrite) inReplica(ctx context.Context, do func() error) error {
	err := do()
	var fromStore *adapter.Error
	// An error of the caller's own function is returned unchanged.
	ofCaller := err != nil && ctx.Err() == nil && !errors.As(err, &fromStore)
	if adapter.IsRefusal(err) || ofCaller {
		w.undo(ctx)
	}
	return err
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
	r, err := s.rowOf(ctx, s.resourcePlan, key)
	if err != nil {
		return "", err
	}
	if r.mapping == nil || r.mapping.BackendID == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errUnknownID}
	}
	return r.mapping.BackendID, nil
}

// addContext completes what is sent to the backend: a new root with its parts; a part with
// the identifiers of its root and with all parts of its resource under that root, in the
// order of their keys. The part itself is among them unless it is being deleted.
func (w *pendingWrite) addContext(ctx context.Context, sent *Write) error {
	if w.isRoot() {
		if sent.Old.Schema != nil {
			return nil
		}
		sent.Parts = map[adapter.Resource][]Sibling{}
		for _, plan := range w.parts {
			records, err := plan.listParts(ctx, sent.Key, 0)
			if err != nil {
				return err
			}
			for _, r := range records {
				sent.Parts[plan.Resource] = append(sent.Parts[plan.Resource], Sibling{Record: r})
			}
		}
		return nil
	}
	sent.RootKey, sent.RootID = w.mapping.Key, w.mapping.BackendID
	parts, err := w.loadParts(ctx, w.resourcePlan, w.mapping.Key)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(parts.records)) {
		if key != sent.Key || sent.New.Schema != nil {
			sent.Siblings = append(sent.Siblings, Sibling{ID: parts.ids[key], Record: parts.records[key]})
		}
	}
	return nil
}

// complete ends a write that the replica and the backend have both done: it reconciles with
// the resulting document, which becomes the new base, clears the intent, and stores the
// given mappings.
func (w *pendingWrite) complete(ctx context.Context, own *ownWrite, mappings ...Mapping) error {
	if len(mappings) > 0 {
		if err := w.putMappingsDetached(ctx, mappings...); err != nil {
			return err
		}
	}
	rows := []row{{key: w.mapping.Key, mapping: &w.mapping}}
	err := w.addDocuments(ctx, w.root, rows)
	detached, cancel := detachedContext(ctx)
	defer cancel()
	if errors.Is(ctx.Err(), context.Canceled) { // the caller has gone; its deadline has not passed
		err = w.addDocuments(detached, w.root, rows)
	}
	if err == nil && rows[0].doc != nil {
		_, err = w.reconcile(detached, w.root, w.mapping, *rows[0].doc, own)
		if errors.Is(err, errResolved) {
			_, err = w.reconcileLocked(detached, w.root, []adapter.Key{w.mapping.Key})
		}
		if err == nil {
			return nil
		}
	}
	// The next read reconciles the record.
	mapping := w.mapping
	mapping.Version, mapping.Intent = "", nil
	return w.putMappingsDetached(ctx, mapping)
}

// putMappingsDetached stores mappings even if the caller has gone away.
func (rc *reconciler) putMappingsDetached(ctx context.Context, mappings ...Mapping) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	return rc.replica.PutMappings(ctx, mappings...)
}
