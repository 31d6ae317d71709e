package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var errDeletable = errors.New("the record can be deleted")

// Delete deletes one record: first at the backend, as a delete there cannot be undone, then
// in the local replica.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	if !s.Deletes {
		return &adapter.Error{Kind: adapter.Unsupported, Op: fmt.Sprintf("delete %s %d", s.Resource, p.Key), Err: errNotAccepted}
	}
	return take(ctx, s.foreignWriteWait, func() error { return s.delete(ctx, p) })
}

func (s *store) delete(ctx context.Context, p *adapter.DeleteParams) error {
	mapping, unlock, err := s.lockRecord(ctx, "delete", p.Key, p.OwnerID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.checkDelete(ctx, p); err != nil {
		return err
	}
	if s.schema.PerLevel {
		return s.deleteFromLevel(ctx, mapping, p)
	}
	w, err := s.beginChange(ctx, mapping, intent{Op: opDelete, Key: p.Key})
	if err != nil {
		return err
	}
	return w.send(ctx, &Write{Old: w.before})
}

// deleteFromLevel removes a record from one scope, the default scope or a store view. The
// record itself is deleted when no other scope uses it, which only the local replica knows.
func (s *store) deleteFromLevel(ctx context.Context, mapping idmap.Mapping, p *adapter.DeleteParams) error {
	w, err := s.beginChange(ctx, mapping, intent{Op: opDelete, Key: p.Key, StoreID: p.StoreID, Attributes: s.exclusive})
	if err != nil {
		return err
	}
	params := *p
	params.Check, params.Locked = nil, nil // they were called
	params.Last = func() (err error) {
		if p.Last != nil {
			err = p.Last()
		}
		return cmp.Or(err, errDeletable) // the backend deletes it first
	}
	err = w.inReplica(ctx, func() error { return s.writes.Delete(ctx, &params) })
	switch {
	case errors.Is(err, errDeletable):
		return w.send(ctx, &Write{Old: w.before})
	case err != nil:
		return err
	default:
		return w.sendChange(ctx, false)
	}
}

// checkDelete runs the caller's check, and the local replica's own checks, without deleting
// the record.
func (s *store) checkDelete(ctx context.Context, p *adapter.DeleteParams) error {
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(_, _ adapter.Record) error { return errDeletable })
	if err := s.writes.Delete(ctx, &observed); !errors.Is(err, errDeletable) {
		return err
	}
	return nil
}

// deleteAtBackend deletes a record at the backend, then in the local replica.
func (w *pendingWrite) deleteAtBackend(ctx context.Context, sent *Write) error {
	if err := w.backend.Delete(ctx, sent); err != nil && adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	detached, cancel := detachedContext(ctx)
	defer cancel()
	deleteHere := w.deleteHere
	if deleteHere == nil {
		deleteHere = func(ctx context.Context) error { return w.deleteFromReplica(ctx, w.resourcePlan, w.writes, sent.Key) }
	}
	err := deleteHere(detached)
	if err == nil {
		err = w.replica.DeleteMapping(detached, w.Resource, sent.Key)
	}
	if err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("delete %s %d", w.Resource, sent.Key), Err: err}
	}
	return nil
}

var (
	errStillThere   = errors.New("the backend still has it")
	errUnresolved   = errors.New("the outcome of a write is unknown: wait until a running server has resolved it")
	errPartsUnknown = errors.New("the backend's document does not say whether it has such parts")
	errNoMapping    = errors.New("it has no ID mapping")
)

// Forget deletes the remains of a record that no longer exists at the backend: the record
// in the local replica, its parts, and all their mappings. If the record no longer exists
// in the replica either, it deletes only the mappings, regardless of the backend. Kinds:
// NotFound when there is no mapping; Conflict while the backend has the record or its state
// is unknown; Unsupported for a resource without backend-owned attributes, or whose records
// have no ids; and the kinds of the backend and the replica.
func (a *Adapter) Forget(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("forget %s %d", r, key)
	plan := a.plans[r]
	if plan == nil || !plan.hasMappings() {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	found, err := a.rowWithRecord(ctx, plan, key)
	switch {
	case err != nil:
		return err
	case found.mapping == nil:
		return &adapter.Error{Kind: adapter.NotFound, Op: op, Err: errNoMapping}
	case !found.exists:
		return a.replica.DeleteMapping(ctx, r, key)
	}
	if err := a.checkForget(ctx, op, plan, found.mapping); err != nil {
		return err
	}
	return a.deleteWithMapping(ctx, plan, key)
}

// checkForget returns an error if a record must not be deleted.
func (a *Adapter) checkForget(ctx context.Context, op string, plan *resourcePlan, mapping *idmap.Mapping) error {
	conflict := func(why error) error { return &adapter.Error{Kind: adapter.Conflict, Op: op, Err: why} }
	roots, err := a.rowsOf(ctx, plan.root, []adapter.Key{cmp.Or(mapping.RootKey, mapping.Key)})
	if err != nil {
		return err
	}
	root := roots[0].mapping
	switch {
	case mapping.Intent != nil || root != nil && root.Intent != nil:
		return conflict(errUnresolved)
	case root == nil:
		return nil // without a root the backend has no parts
	case root.BackendID == "": // a document may carry its legacy id
		_, err = a.find(ctx, plan.root, root.Key)
		if kind := adapter.KindOf(err); kind == adapter.NotFound || kind == adapter.Unsupported {
			return nil
		}
		return cmp.Or(err, conflict(errStillThere))
	}
	err = a.addDocuments(ctx, plan.root, roots)
	switch {
	case err != nil || roots[0].doc == nil:
		return err
	case plan.isRoot():
		return conflict(errStillThere)
	}
	_, parts, err := roots[0].doc.Read(ctx)
	items, present := parts[plan.Resource]
	switch {
	case err != nil:
		return err
	case !present:
		return conflict(errPartsUnknown)
	case slices.ContainsFunc(items, func(i Item) bool { return i.ID == mapping.BackendID }):
		return conflict(errStillThere)
	default:
		return nil
	}
}

const (
	// maxHidden bounds the number of roots that are remembered. With more of them, pages of
	// lists may be shorter than their limit.
	maxHidden = 1000
	// hiddenFor is how long a root is remembered before it is looked up again.
	hiddenFor = time.Minute
)

// hidden remembers roots of the local replica that must not be visible, because the
// backend no longer has them or they have no mapping. Lists exclude them from the query, so
// that pages have their full length and counts are right.
type hidden struct {
	mu    sync.Mutex
	until map[ref]time.Time
}

// Hide remembers a root, and reports whether it was visible. The caller holds the lock of a
// root without a mapping, as it may be about to get one.
func (h *hidden) Hide(r adapter.Resource, key adapter.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = map[ref]time.Time{}
	}
	_, known := h.until[ref{r, key}]
	if len(h.until) < maxHidden {
		h.until[ref{r, key}] = time.Now().Add(hiddenFor)
	}
	return !known
}

// Unhide makes lists include roots again, because the backend has them after all, and returns
// the roots that lists did not include.
func (h *hidden) Unhide(r adapter.Resource, keys ...adapter.Key) (shown []adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if _, hidden := h.until[ref{r, key}]; hidden {
			delete(h.until, ref{r, key})
			shown = append(shown, key)
		}
	}
	return shown
}

// Keys returns the roots of a resource that are remembered.
func (h *hidden) Keys(r adapter.Resource) (keys []adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for root, until := range h.until {
		switch {
		case time.Now().After(until):
			delete(h.until, root)
		case root.resource == r:
			keys = append(keys, root.key)
		}
	}
	return keys
}
