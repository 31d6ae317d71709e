package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var (
	errNotAccepted = errors.New("the backend does not accept such writes of this resource")
	errUnknownID   = errors.New("the backend id of the part is unknown: import it with portico ids import")
)

// A pendingWrite is a write between storing its write intent and its end.
type pendingWrite struct {
	*store
	mapping idmap.Mapping // of the root, with the intent; the writer holds the root's lock
	intent  writeIntent
	before  adapter.Record // the values at the default scope, of a record that exists before the write
	// deleteHere deletes the record in the local replica; nil: as a client's delete does.
	deleteHere func(context.Context) error
}

// lockRecord locks the root of an existing record, reconciles it with the backend, and
// returns its mapping. Kinds: NotFound, Unavailable, Internal.
func (s *store) lockRecord(ctx context.Context, verb string, key adapter.Key, ownerID int64) (mapping idmap.Mapping, unlock func(), err error) {
	r, err := s.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID, Only: s.withRootKey([]string{})})
	if err != nil {
		return mapping, nil, err
	}
	return s.lockRoot(ctx, verb, s.rootKeyOf(r))
}

// lockRoot is lockRecord for the key of the root.
func (s *store) lockRoot(ctx context.Context, verb string, rootKey adapter.Key) (mapping idmap.Mapping, unlock func(), err error) {
	if unlock, err = s.locks.lock(ctx, s.root.Resource, rootKey); err != nil {
		return mapping, nil, err
	}
	reconciled, err := s.reconcileRoot(ctx, s.root, rootKey)
	if err == nil && reconciled == nil {
		err = notFound(verb, s.root.Resource, rootKey)
	}
	if err != nil {
		unlock()
		return mapping, nil, err
	}
	return *reconciled, unlock, nil
}

// begin stores the write intent of a write whose root is locked.
func (s *store) begin(ctx context.Context, mapping idmap.Mapping, intent writeIntent) (w *pendingWrite, err error) {
	intent.Resource, intent.Writer = s.Resource, s.instanceID
	w = &pendingWrite{store: s, mapping: mapping, intent: intent}
	if w.mapping.Intent, err = json.Marshal(intent); err != nil {
		return w, internalError(err, "encode intent of", mapping.Resource, mapping.Key)
	}
	if w.intent, err = decodeIntent(w.mapping); err != nil { // undo and recovery work with the same
		return w, err
	}
	return w, s.replica.PutMappings(ctx, w.mapping)
}

// beginChange is begin for an update or a delete, before the local replica changes. The
// intent has the attributes that the write sets, if any.
func (s *store) beginChange(ctx context.Context, mapping idmap.Mapping, intent writeIntent) (*pendingWrite, error) {
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
	w.before = before
	return w, err
}

// undo takes back in the local replica what was refused, and clears the intent. If that fails,
// the intent remains, and a later scan undoes the write.
func (w *pendingWrite) undo(ctx context.Context) {
	w.finish(ctx, "a write that was refused cannot be undone now; the next scan tries again", func(ctx context.Context) error {
		if w.isRoot() && w.before.Schema == nil {
			return w.rollBackCreate(ctx, w.intent)
		}
		if err := w.rollBack(ctx, w.intent); err != nil {
			return err
		}
		return w.replaceIntent(ctx, nil)
	})
}

// finish calls do even if the caller has gone away, and logs an error of it with the message,
// unless another process has resolved the write.
func (w *pendingWrite) finish(ctx context.Context, message string, do func(context.Context) error) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	if err := do(ctx); err != nil && !errors.Is(err, errResolved) {
		w.log.WarnContext(ctx, message, "resource", w.Resource, "id", w.intent.Key, "error", err)
	}
}

// inReplica calls do, which makes the write in the local replica, and clears the intent if
// do certainly wrote nothing.
func (w *pendingWrite) inReplica(ctx context.Context, do func() error) error {
	err := do()
	var fromStore *adapter.Error
	// An error of the caller's own function is returned unchanged.
	ofCaller := err != nil && ctx.Err() == nil && !errors.As(err, &fromStore) && !errors.Is(err, errDeletable)
	if adapter.IsRefusal(err) || ofCaller {
		w.undo(ctx)
	}
	return err
}

// send makes a write at the backend and completes it. If the backend refuses it, send undoes
// it in the local replica. Where the outcome is unknown, the intent remains.
func (w *pendingWrite) send(ctx context.Context, sent *Write) error {
	err := w.request(ctx, sent)
	if err == nil {
		if err = w.complete(ctx, sent); errors.Is(err, errResolved) {
			err = nil // the backend has the write
		}
	}
	if adapter.IsRefusal(err) {
		w.undo(ctx)
	}
	return err
}

// request makes a write at the backend.
func (w *pendingWrite) request(ctx context.Context, sent *Write) error {
	if err := w.addContext(ctx, sent); err != nil {
		return err
	}
	creates, deletes := sent.Old.Schema == nil, sent.New.Schema == nil
	switch {
	case creates:
		return w.createAtBackend(ctx, sent)
	case deletes && w.Deletes:
		return w.deleteAtBackend(ctx, sent)
	case !deletes && w.Updates:
		return w.backend.Update(ctx, sent)
	default:
		return &adapter.Error{Kind: adapter.Unsupported, Op: fmt.Sprintf("%s %s %d", w.intent.Op, sent.Resource, sent.Key), Err: errNotAccepted}
	}
}

// addContext completes what is sent to the backend: a new root with its parts; a part with
// the identifiers of its root and with all parts of its resource under that root, in the
// order of their keys. The part itself is among them unless it is being deleted. Kinds:
// Unsupported for an existing part whose backend id is unknown.
func (w *pendingWrite) addContext(ctx context.Context, sent *Write) error {
	sent.Resource, sent.Key = w.Resource, w.intent.Key
	if w.isRoot() {
		sent.ID = w.mapping.BackendID
		if sent.Old.Schema != nil {
			return nil
		}
		sent.Parts = map[adapter.Resource][]Sibling{}
		for _, plan := range w.parts {
			records, err := plan.listParts(ctx, sent.Key, 0)
			if err != nil {
				return err
			}
			sent.Parts[plan.Resource] = convert(records, func(r adapter.Record) Sibling { return Sibling{Record: r} })
		}
		return nil
	}
	sent.RootKey, sent.RootID = w.mapping.Key, w.mapping.BackendID
	parts, err := w.loadParts(ctx, w.resourcePlan, w.mapping.Key)
	if err != nil {
		return err
	}
	if sent.ID = cmp.Or(sent.ID, parts.ids[sent.Key]); sent.ID == "" && w.HasIDs && sent.Old.Schema != nil {
		return &adapter.Error{Kind: adapter.Unsupported, Op: fmt.Sprintf("%s %s %d", w.intent.Op, w.Resource, sent.Key), Err: errUnknownID}
	}
	for _, r := range parts.sorted() {
		if r.Key() != sent.Key || sent.New.Schema != nil {
			sent.Siblings = append(sent.Siblings, Sibling{ID: parts.ids[r.Key()], Record: r})
		}
	}
	return nil
}

// complete ends writes that the replica and the backend have both done: it reconciles with
// the resulting document, which becomes the new base, and clears the intent. It returns
// errResolved if another process has done so.
func (w *pendingWrite) complete(ctx context.Context, sent ...*Write) error {
	if sent[0].Resource == w.root.Resource && sent[0].New.Schema == nil {
		return nil // its mapping was deleted
	}
	err := w.reconcileWritten(ctx, sent...)
	if err == nil || errors.Is(err, errResolved) {
		return err
	}
	w.mapping.Version = "" // the next read reconciles the record
	return w.replaceIntent(ctx, nil)
}

// reconcileWritten fetches the document that writes have led to, and reconciles with it.
func (w *pendingWrite) reconcileWritten(ctx context.Context, sent ...*Write) error {
	rows := []row{{key: w.mapping.Key, mapping: &w.mapping}}
	err := w.addDocuments(ctx, w.root, rows)
	detached, cancel := detachedContext(ctx)
	defer cancel()
	if errors.Is(ctx.Err(), context.Canceled) { // the caller has gone; its deadline has not passed
		err = w.addDocuments(detached, w.root, rows)
	}
	switch {
	case err != nil:
		return err
	case rows[0].doc == nil:
		return notFound("reconcile", w.root.Resource, w.mapping.Key)
	}
	_, err = w.reconcile(detached, w.root, w.mapping, *rows[0].doc, sent...)
	if errors.Is(err, errResolved) {
		if _, failed := w.reconcileRoot(detached, w.root, w.mapping.Key); failed != nil {
			return failed
		}
	}
	return err
}

// replaceIntent stores the mapping of the root with another intent, nil for none, even if the
// caller has gone away. It returns errResolved if another process has resolved the current one.
func (w *pendingWrite) replaceIntent(ctx context.Context, intent []byte) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	replaced := w.mapping
	replaced.Intent = intent
	return w.completeIntent(ctx, w.mapping.Intent, replaced)
}
