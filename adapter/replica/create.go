package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errNoCreates    = errors.New("the backend does not accept new records of this resource")
	errNoRoot       = errors.New("no such record")
	errNoIDReturned = errors.New("the backend returned no id")
)

// Create creates a record: first in the local replica, which checks it and assigns the key,
// then at the backend. The replica's record is undone if the backend refuses it.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.Resource)
	if err := s.checkOpen(op); err != nil {
		return 0, err
	}
	if !s.Creates {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoCreates}
	}
	defer s.hidden.beginCreate()()
	if !s.isRoot() {
		return s.createPart(ctx, op, p)
	}
	key, err := s.store.Create(ctx, p)
	if adapter.KindOf(err) == adapter.Conflict {
		// The conflict may be with a record whose creation was never completed.
		if s.resolveIntents(ctx, s.Resource) > 0 {
			key, err = s.store.Create(ctx, p)
		}
	}
	if err != nil {
		return 0, err
	}
	unlock, err := s.locks.lock(ctx, recordRef{s.Resource, key})
	if err != nil {
		s.undoCreate(ctx, key)
		return 0, err
	}
	defer unlock()
	mapping, err := s.putIntent(ctx, Mapping{Resource: s.Resource, Key: key}, writeIntent{Op: opCreate, Resource: s.Resource, Key: key})
	if err != nil {
		s.undoCreate(ctx, key)
		return 0, err
	}
	if err := s.createRootAtBackend(ctx, mapping, p.Record); err != nil {
		if isRefusal(err) {
			s.undoCreate(ctx, key)
		}
		return 0, err
	}
	return key, nil
}

// createRootAtBackend creates a root at the backend that exists in the local replica.
// mapping holds the write intent. input is the caller's record, for its write-only values;
// it may be empty.
func (s *store) createRootAtBackend(ctx context.Context, mapping Mapping, input adapter.Record) error {
	newRecord, err := s.recordForBackend(ctx, mapping.Key, input)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: mapping.Key, Old: adapter.Record{}, New: newRecord, Changed: s.Attributes, Parts: map[adapter.Resource][]Sibling{}}
	for _, plan := range s.parts {
		records, err := plan.listParts(ctx, mapping.Key, 0)
		if err != nil {
			return err
		}
		for _, r := range records {
			w.Parts[plan.Resource] = append(w.Parts[plan.Resource], Sibling{Record: r})
		}
	}
	if mapping.BackendID, err = s.backend.Create(ctx, w); err != nil {
		return err
	}
	if mapping.BackendID == "" {
		return &adapter.Error{Kind: adapter.Internal, Op: "create " + string(s.Resource), Err: errNoIDReturned}
	}
	return s.completeWrite(ctx, mapping, nil)
}

// recordForBackend returns the replica's record together with the write-only values of
// input.
func (s *store) recordForBackend(ctx context.Context, key adapter.Key, input adapter.Record) (adapter.Record, error) {
	r, err := s.get(ctx, key)
	if err != nil {
		return r, err
	}
	r = r.Clone()
	for i, a := range s.schema.Attributes {
		if a.WriteOnly && input.Schema != nil {
			r.Values[i] = input.Values[i]
		}
	}
	return r, nil
}

// undoCreate deletes a new root and its mapping after the backend has refused it. If that
// fails, the write intent remains and a later scan deletes the record.
func (s *store) undoCreate(ctx context.Context, key adapter.Key) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	if err := s.deleteWithMapping(ctx, s.resourcePlan, key); err != nil {
		s.log.Warn("a record that the backend refused cannot be deleted now; the next scan tries again", "resource", s.Resource, "id", key, "error", err)
	}
}

// undoCreatePart deletes a new part after the backend has refused it. If that fails, the
// write intent remains and a later scan deletes the part.
func (s *store) undoCreatePart(ctx context.Context, mapping Mapping, intent writeIntent, key adapter.Key) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	err := s.deleteFromReplica(ctx, s.resourcePlan, key)
	if err == nil {
		err = s.rollBackSiblings(ctx, intent)
	}
	if err == nil {
		err = s.clearIntent(ctx, mapping)
	}
	if err != nil {
		s.log.Warn("a record that the backend refused cannot be deleted now; the next scan tries again", "resource", s.Resource, "id", key, "error", err)
	}
}

// createPart creates a part of an existing root.
func (s *store) createPart(ctx context.Context, op string, p *adapter.CreateParams) (adapter.Key, error) {
	rootKey := adapter.Key(p.Record.Get(s.RootAttribute).Int())
	unlock, err := s.locks.lock(ctx, recordRef{s.root.Resource, rootKey})
	if err != nil {
		return 0, err
	}
	defer unlock()
	mapping, err := s.reconcileRoot(ctx, "create", s.root, rootKey)
	if adapter.KindOf(err) == adapter.NotFound {
		return 0, s.missingRootError(ctx, op, p)
	}
	if err != nil {
		return 0, err
	}
	intent := writeIntent{Op: opCreate, Resource: s.Resource, StoreID: p.StoreID}
	if intent.Siblings, err = s.siblingsBefore(ctx, rootKey, p.StoreID); err != nil {
		return 0, err
	}
	if mapping, err = s.putIntent(ctx, mapping, intent); err != nil {
		return 0, err
	}
	key, maybeDone, err := s.createInReplica(ctx, p)
	if err != nil {
		if !maybeDone {
			s.abandonIntent(ctx, mapping)
		}
		return 0, err
	}
	if err = s.createPartAtBackend(ctx, mapping, key, p.Record); err == nil {
		return key, nil
	}
	if isRefusal(err) {
		s.undoCreatePart(ctx, mapping, intent, key)
	}
	if adapter.KindOf(err) == adapter.NotFound {
		err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.RootAttribute, Err: err}
	}
	return 0, err
}

// missingRootError returns the error for creating a part of a root that does not exist or
// is not visible: that of the local replica or of the caller's check if either fails, else
// kind Invalid.
func (s *store) missingRootError(ctx context.Context, op string, p *adapter.CreateParams) error {
	_, err := s.store.Create(ctx, &adapter.CreateParams{Record: p.Record, StoreID: p.StoreID, Check: func() error {
		if p.Check != nil {
			if err := p.Check(); err != nil {
				return err
			}
		}
		return errNoRoot
	}})
	if errors.Is(err, errNoRoot) {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.RootAttribute, Err: errNoRoot}
	}
	return err
}

// createInReplica creates a record in the local replica. maybeDone reports whether the
// record may exist even though err is not nil.
func (s *store) createInReplica(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, maybeDone bool, err error) {
	var callerErr error
	wrapped := *p
	wrapped.Check = func() error {
		if p.Check != nil {
			callerErr = p.Check()
		}
		return callerErr
	}
	if key, err = s.store.Create(ctx, &wrapped); err == nil {
		return key, true, nil
	}
	return 0, callerErr == nil && !isRefusal(err), err
}

// createPartAtBackend creates a part at the backend that exists in the local replica.
// mapping is the root's and holds the write intent.
func (s *store) createPartAtBackend(ctx context.Context, mapping Mapping, key adapter.Key, input adapter.Record) error {
	newRecord, err := s.recordForBackend(ctx, key, input)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: key, New: newRecord, Changed: s.Attributes}
	if err := s.addRootAndSiblings(ctx, w, mapping); err != nil {
		return err
	}
	id, err := s.backend.Create(ctx, w)
	if err != nil {
		return err
	}
	if s.HasIDs && id == "" {
		return &adapter.Error{Kind: adapter.Internal, Op: "create " + string(s.Resource), Err: errNoIDReturned}
	}
	part := partMapping(s.resourcePlan, key, id, mapping.Key)
	if err := s.restorePart(ctx, part, newRecord); err != nil {
		return err
	}
	own := &ownWrite{resource: s.Resource, key: key, wholeRecord: true}
	if !s.HasIDs {
		return s.completeWrite(ctx, mapping, own)
	}
	return s.completeWrite(ctx, mapping, own, part)
}

// restorePart stores a new part again if another process has deleted it. That happens when
// the process resolved the write intent before the backend had the part.
func (s *store) restorePart(ctx context.Context, part Mapping, newRecord adapter.Record) error {
	detached, cancel := detachedContext(ctx)
	defer cancel()
	_, err := s.store.Get(detached, &adapter.GetParams{Key: part.Key, Only: []string{}})
	if adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	if _, err = s.replica.ImportRecords(detached, []ImportedRecord{{Mapping: part, RootAttribute: s.RootAttribute, Record: s.importedRecord(Item{Record: newRecord})}}); err != nil {
		err = &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("create %s %d", s.Resource, part.Key), Err: errors.Join(errUndone, err)}
	}
	return err
}
