package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var (
	errNotAccepted = errors.New("the backend does not accept such writes of this resource")
	errUnknownID   = errors.New("the backend id of the part is unknown: import it with portico ids import")
	errTooLong     = errors.New("the write took so long that other processes may take it for one that was interrupted")
)

// maxWriteTime bounds the time of a write's requests. It is shorter than the age at which other
// processes resolve the write's intent; their clocks may differ by the difference.
const maxWriteTime = 45 * time.Second

// A pendingWrite is a write between storing its write intent and its end.
type pendingWrite struct {
	*store
	mapping     idmap.Mapping // of the root, with the intent; the writer holds the root's lock
	intent      intent
	before      adapter.Record // the values at the default scope, of a record that exists before the write
	viewsBefore Views          // the values at store views before an update or an import
	since       time.Time      // when the intent was stored last
	// deleteHere deletes the record in the local replica; nil deletes it as a client's delete does.
	deleteHere func(context.Context) error
}

// lockRecord locks the root of an existing record, reconciles it with the backend, and
// returns its mapping. It fails with turns.ErrBusy if another process is writing it. Kinds: NotFound,
// Unavailable, Internal.
func (s *store) lockRecord(ctx context.Context, verb string, key adapter.Key, ownerID int64) (mapping idmap.Mapping, unlock func(), err error) {
	r, err := s.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID, Only: s.withRootKey([]string{})})
	if err != nil {
		return mapping, nil, err
	}
	return s.lockRoot(ctx, verb, s.rootKeyOf(r))
}

// lockRoot is lockRecord for the key of the root.
func (s *store) lockRoot(ctx context.Context, verb string, rootKey adapter.Key) (mapping idmap.Mapping, unlock func(), err error) {
	if unlock, err = s.locks.Lock(ctx, s.root.Resource, rootKey); err != nil {
		return mapping, nil, err
	}
	isOther := false // another process has stored it since it was reconciled
	reconciled, err := s.reconcileRoot(ctx, s.root, rootKey)
	if err == nil && reconciled != nil && reconciled.ChangedAt.IsZero() {
		version := reconciled.Version
		var stored row
		if stored, err = s.rowOf(ctx, s.root, rootKey); stored.mapping != nil {
			reconciled = stored.mapping
			isOther = reconciled.Version != version
		}
	}
	switch {
	case err != nil:
	case reconciled == nil:
		err = notFound(verb, s.root.Resource, rootKey)
	case reconciled.Intent != nil || isOther:
		err = busy(fmt.Sprintf("%s %s %d", verb, s.root.Resource, rootKey), errBusy)
	}
	if err != nil {
		unlock()
		return mapping, nil, err
	}
	return *reconciled, unlock, nil
}

// begin stores the write intent of a write whose root is locked. It fails with turns.ErrBusy if another
// process has written the root since its mapping was read.
func (s *store) begin(ctx context.Context, mapping idmap.Mapping, intent intent) (*pendingWrite, error) {
	intent.Resource = s.Resource
	w := &pendingWrite{store: s, mapping: mapping, intent: intent, since: time.Now()}
	return w, s.reconciler.begin(ctx, &w.mapping, &w.intent)
}

// renew stores the write intent again if it is no longer new, so that no process mistakes a write of
// many requests for an interrupted one. It returns errResolved if one has.
func (w *pendingWrite) renew(ctx context.Context) error {
	if time.Since(w.since) < maxWriteTime/3 {
		return nil
	}
	w.since = time.Now()
	return w.replaceIntent(ctx, w.mapping.Intent)
}

// beginChange is begin for an update or a delete, before the local replica changes. The
// intent has the attributes that the write sets, if any.
func (s *store) beginChange(ctx context.Context, mapping idmap.Mapping, intent intent) (*pendingWrite, error) {
	onDemand := s.localRecords().OnDemand(intent.Attributes)
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
		intent.Old = adapter.EncodeJSON(s.localRecords().UndoValues(atLevel, before, intent.StoreID, intent.Attributes))
		if s.exclusive != nil {
			if intent.Siblings, err = s.siblingsBefore(ctx, mapping.Key, intent.StoreID); err != nil {
				return nil, err
			}
		}
	}
	var views Views
	if intent.Op == opUpdate && s.isRoot() {
		if views, err = s.storedViews(ctx, s.resourcePlan, intent.Key); err != nil {
			return nil, err
		}
	}
	w, err := s.begin(ctx, mapping, intent)
	w.before, w.viewsBefore = before, views
	return w, err
}

// undo undoes a refused write in the local replica, and clears the intent. If that fails, the intent
// remains, and a later scan undoes the write.
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

// finish calls do even if the caller has gone away, and logs its error with the message, unless another
// process has resolved the write.
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
	if adapter.IsRefusal(err) && !errors.Is(err, errDeletable) {
		w.undo(ctx)
	}
	return err
}

// send makes a write at the backend and completes it. If the backend refuses it, send undoes it in the
// local replica. Where the outcome is unknown, the intent remains, as described at end.
func (w *pendingWrite) send(ctx context.Context, sent *Write) error {
	err := w.request(ctx, sent)
	if err == nil {
		if err = w.complete(ctx, sent); errors.Is(err, errResolved) && !w.setsUnowned() {
			err = nil // the backend has the write
		}
	}
	return w.end(ctx, err)
}

// end ends a write whose requests have returned err, and returns err. It undoes a write that the backend
// has refused. If the outcome is unknown, it releases the stored intent, so that other processes resolve
// it without waiting. It does not release the intent of a new root: they would delete the root, and a
// request may still create it at the backend.
func (w *pendingWrite) end(ctx context.Context, err error) error {
	switch {
	case adapter.IsRefusal(err):
		w.undo(ctx)
	case err != nil && !errors.Is(err, errResolved) && !(w.isRoot() && w.intent.Op == opCreate):
		w.finish(ctx, "a write that was interrupted is resolved in a minute at the earliest", func(ctx context.Context) error {
			w.intent.Writer = ""
			released, err := json.Marshal(w.intent)
			if err != nil {
				return err
			}
			return w.replaceIntent(ctx, released)
		})
	}
	return err
}

// setsUnowned reports whether an update sets values that only the local replica has, and that are lost
// there if the write is rolled back.
func (w *pendingWrite) setsUnowned() bool {
	return slices.ContainsFunc(w.intent.Attributes, func(name string) bool {
		at, ok := w.schema.Index(name)
		return !ok || !w.owns(&w.schema.Attributes[at], w.intent.StoreID)
	})
}

// request makes a write at the backend, within the time for which other processes do not touch its
// intent.
func (w *pendingWrite) request(ctx context.Context, sent *Write) error {
	held, cancel := context.WithDeadline(ctx, w.since.Add(maxWriteTime))
	defer cancel()
	err := w.addContext(held, sent)
	if err == nil {
		err = w.requestHeld(held, sent)
	}
	if err != nil && held.Err() != nil && ctx.Err() == nil {
		err = busy(fmt.Sprintf("%s %s %d", w.intent.Op, sent.Resource, sent.Key), errors.Join(errTooLong, err))
	}
	return err
}

func (w *pendingWrite) requestHeld(ctx context.Context, sent *Write) error {
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

// addContext completes the data sent to the backend: a new root gets its parts; a part gets the
// identifiers and the record of its root, and all parts of its resource under that root, in the order of their
// keys. The part itself is among them unless it is being deleted. Kinds: Unsupported for an existing part whose
// backend id is unknown.
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
	var err error
	if sent.Root, err = w.root.get(ctx, w.mapping.Key); err != nil {
		return err
	}
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

// complete ends writes that the replica and the backend have both done: it reconciles with the resulting
// document, which becomes the new base, and clears the intent. It returns errResolved if another process
// has cleared it.
func (w *pendingWrite) complete(ctx context.Context, sent ...*Write) error {
	if sent[0].Resource == w.root.Resource && sent[0].New.Schema == nil {
		return nil // its mapping was deleted
	}
	err := w.reconcileWritten(ctx, sent...)
	if err == nil || errors.Is(err, errResolved) {
		return err
	}
	if w.intent.Op == opPush && !w.isRoot() {
		return asUnavailable("push "+string(w.Resource), err) // the intent stays: see merge.pushed
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
	reading := detached
	if w.intent.Op == opPush && !slices.ContainsFunc(sent, func(s *Write) bool { return len(s.Views) > 0 }) {
		reading = withoutViews(detached) // a push has just made or compared the root, so that they are as before
	}
	_, err = w.reconcile(reading, w.root, w.mapping, *rows[0].doc, sent...)
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

// withBase returns a root's mapping with a new base.
func withBase(mapping idmap.Mapping, b base) (idmap.Mapping, error) {
	var err error
	mapping.Base, err = b.Encode()
	return mapping, internalError(err, "encode base of", mapping.Resource, mapping.Key)
}

// internalError returns err, unless it is nil, as an error of kind Internal. It is for
// stored data that cannot be encoded or decoded.
func internalError(err error, op string, r adapter.Resource, key adapter.Key) error {
	if err == nil {
		return nil
	}
	return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("%s %s %d", op, r, key), Err: err}
}

// baseOf returns the base of a root's mapping.
func baseOf(root *resourcePlan, mapping idmap.Mapping) (base, error) {
	parts := make(map[adapter.Resource]*adapter.Schema, len(root.parts))
	for _, part := range root.parts {
		parts[part.Resource] = part.schema
	}
	b, err := decodeBase(mapping.Base, root.schema, parts)
	return b, internalError(err, "decode base of", mapping.Resource, mapping.Key)
}

// convert returns a list with each element converted by f.
func convert[T, U any](list []T, f func(T) U) []U {
	converted := make([]U, len(list))
	for i, element := range list {
		converted[i] = f(element)
	}
	return converted
}

// tryConvert is convert for an f that can fail.
func tryConvert[T, U any](list []T, f func(T) (U, error)) (converted []U, err error) {
	converted = convert(list, func(element T) (u U) {
		if err == nil {
			u, err = f(element)
		}
		return u
	})
	return converted, err
}
