package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var (
	errNoRoot       = errors.New("no such record")
	errNoIDReturned = errors.New("the backend returned no id")
	errKeyInUse     = errors.New("a record with the next legacy id is just being imported")
)

// Create creates a record: first in the local replica, which checks it and assigns the key,
// then at the backend. The replica's record is undone if the backend refuses it.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.Resource)
	if err := s.checkOpen(op); err != nil {
		return 0, err
	}
	if !s.Creates {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNotAccepted}
	}
	var key adapter.Key
	err := take(ctx, s.foreignWriteWait, func() (err error) {
		if s.isRoot() {
			key, err = s.createRoot(ctx, p)
		} else {
			key, err = s.createPart(ctx, op, p)
		}
		return err
	})
	return key, err
}

// createRoot creates a root.
func (s *store) createRoot(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	w, unlock, err := s.insertRoot(ctx, p)
	if adapter.KindOf(err) == adapter.Conflict && s.resolveIntents(ctx, s.Resource) > 0 {
		// The conflict may have been with a record whose creation was never completed.
		w, unlock, err = s.insertRoot(ctx, p)
	}
	if err != nil {
		return 0, err
	}
	defer unlock()
	return w.intent.Key, w.sendNew(ctx, p.Record)
}

// insertRoot stores a new root in the local replica with its write intent, and locks it. Its key is
// known only in the transaction, so that no other writer can have locked it yet.
func (s *store) insertRoot(ctx context.Context, p *adapter.CreateParams) (w *pendingWrite, unlock func(), err error) {
	_, err = s.clientWrites.CreateWithIntent(ctx, p, func(key adapter.Key) (encoded []byte, err error) {
		if unlock != nil { // the transaction is repeated
			unlock()
		}
		if unlock, _ = s.locks.TryLock(s.Resource, key); unlock == nil {
			return nil, &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("create %s %d", s.Resource, key), Err: errKeyInUse}
		}
		w = &pendingWrite{store: s, mapping: idmap.Mapping{Resource: s.Resource, Key: key}, since: time.Now()}
		w.intent = intent{Op: opCreate, Resource: s.Resource, Key: key}
		err = s.encodeIntent(&w.mapping, &w.intent)
		return w.mapping.Intent, err
	})
	if err != nil && unlock != nil {
		unlock()
	}
	return w, unlock, err
}

// createPart creates a part of an existing root.
func (s *store) createPart(ctx context.Context, op string, p *adapter.CreateParams) (adapter.Key, error) {
	mapping, unlock, err := s.lockRoot(ctx, "create", adapter.Key(p.Record.Get(s.rootKey).Int()))
	if adapter.KindOf(err) == adapter.NotFound {
		return 0, s.missingRootError(ctx, op, p)
	}
	if err != nil {
		return 0, err
	}
	defer unlock()
	intent := intent{Op: opCreate, StoreID: p.StoreID}
	if intent.Siblings, err = s.siblingsBefore(ctx, mapping.Key, p.StoreID); err != nil {
		return 0, err
	}
	w, err := s.begin(ctx, mapping, intent)
	if err != nil {
		return 0, err
	}
	if err := w.inReplica(ctx, func() (err error) { w.intent.Key, err = s.writes.Create(ctx, p); return err }); err != nil {
		return 0, err
	}
	err = w.sendNew(ctx, p.Record)
	if adapter.KindOf(err) == adapter.NotFound {
		err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.rootKey, Err: err}
	}
	return w.intent.Key, err
}

// missingRootError returns the error for creating a part of a root that does not exist or is not
// visible: the error of the local replica or of the caller's check if either fails, otherwise an
// error of kind Invalid.
func (s *store) missingRootError(ctx context.Context, op string, p *adapter.CreateParams) error {
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(_, _ adapter.Record) error { return errNoRoot })
	_, err := s.writes.Create(ctx, &observed)
	if errors.Is(err, errNoRoot) {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.rootKey, Err: errNoRoot}
	}
	return err
}

// sendNew sends to the backend a record that exists in the local replica. input is the
// caller's record, for its write-only values; it may be empty.
func (w *pendingWrite) sendNew(ctx context.Context, input adapter.Record) error {
	r, err := w.get(ctx, w.intent.Key)
	if err != nil {
		return err
	}
	r = r.Clone()
	for i, a := range w.schema.Attributes {
		if a.WriteOnly && input.Schema != nil {
			r.Values[i] = input.Values[i]
		}
	}
	views, err := w.storedViews(ctx, w.resourcePlan, w.intent.Key)
	if err != nil {
		return err
	}
	return w.send(ctx, &Write{New: r, Changed: w.Attributes, Views: w.viewWrites(nil, views)})
}

// createAtBackend creates a record at the backend, and maps it.
func (w *pendingWrite) createAtBackend(ctx context.Context, sent *Write) error {
	id, err := w.backend.Create(ctx, sent)
	if adapter.KindOf(err) == adapter.Conflict && w.isRoot() && w.intent.Op == opPush {
		// The backend may have the record already, without a mapping.
		if doc, findErr := w.find(ctx, w.root, sent.Key); findErr == nil {
			id, err = doc.ID, nil
		}
	}
	switch {
	case err != nil:
		return err
	case id == "" && w.hasMappings():
		return &adapter.Error{Kind: adapter.Internal, Op: "create " + string(w.Resource), Err: errNoIDReturned}
	case w.isRoot():
		w.mapping.BackendID = id
		return nil
	}
	detached, cancel := detachedContext(ctx)
	defer cancel()
	part := partMapping(w.resourcePlan, sent.Key, id, w.mapping.Key)
	if err := w.restorePart(detached, part, sent.New); err != nil || !w.HasIDs {
		return err
	}
	return w.replica.PutMappings(detached, part)
}

// restorePart stores a new part again if another process has deleted it. That happens when
// the process resolved the write intent before the backend had the part.
func (s *store) restorePart(ctx context.Context, part idmap.Mapping, newRecord adapter.Record) error {
	_, err := s.store.Get(ctx, &adapter.GetParams{Key: part.Key, Only: []string{}})
	if adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	if _, err = s.replica.ImportRecords(ctx, []ImportedRecord{s.importedPart(Item{ID: part.BackendID, Key: part.Key, Record: newRecord}, part.RootKey)}); err != nil {
		err = &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("create %s %d", s.Resource, part.Key), Err: errors.Join(errResolved, err)}
	}
	return err
}
