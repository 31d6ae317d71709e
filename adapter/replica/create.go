package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errNoCreates    = errors.New("the backend takes no new records of this resource")
	errNoRoot       = errors.New("no such record")
	errNoIDReturned = errors.New("the backend gave no id")
)

// Create stores a new record: at the side, which checks it and gives it its key, and
// then at the backend.
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
		// With a record, maybe, that was never made.
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

// createRoot creates at the backend a root that the side has, whose entry is given and
// noted. given holds what is write-only, if anything.
func (s *store) createRootAtBackend(ctx context.Context, mapping Mapping, input adapter.Record) error {
	created, err := s.recordForBackend(ctx, mapping.Key, input)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: mapping.Key, Old: adapter.Record{}, New: created, Changed: s.Attributes, Parts: map[adapter.Resource][]Sibling{}}
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

// fresh returns a new record as the backend gets it.
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

// takeBack removes a record that was created for nothing, and its entry. If it cannot,
// the note in the entry says so.
func (s *store) undoCreate(ctx context.Context, key adapter.Key) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	err := s.deleteFromReplica(ctx, s.resourcePlan, key)
	if err == nil {
		err = s.replica.DeleteMapping(ctx, s.Resource, key)
	}
	if err != nil {
		s.log.Warn("a record that the backend has not created is removed later", "resource", s.Resource, "id", key, "error", err)
	}
}

// takeBackPart removes a part that was created for nothing. If it cannot, the note in
// the entry of its root says so.
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
		s.log.Warn("a record that the backend has not created is removed later", "resource", s.Resource, "id", key, "error", err)
	}
}

// createPart creates a part of a root.
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

// noRoot is the answer to the creation of a part of what is not there, or not to be
// seen: that of the side, or else of its caller's check.
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

// make creates a record at the side. done reports whether that may have been done
// although err says otherwise.
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

// createPartOf creates at the backend a part that the side has. entry is that of the
// root, and noted.
func (s *store) createPartAtBackend(ctx context.Context, mapping Mapping, key adapter.Key, input adapter.Record) error {
	created, err := s.recordForBackend(ctx, key, input)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: key, New: created, Changed: s.Attributes}
	if err := s.addContext(ctx, w, mapping); err != nil {
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
	if err := s.restorePart(ctx, part, created); err != nil {
		return err
	}
	own := &ownWrite{resource: s.Resource, key: key, wholeRecord: true}
	if !s.HasIDs {
		return s.completeWrite(ctx, mapping, own)
	}
	return s.completeWrite(ctx, mapping, own, part)
}

// bringBack stores a new part once more if another process has taken it away: it met
// the note before the backend had the part.
func (s *store) restorePart(ctx context.Context, part Mapping, created adapter.Record) error {
	detached, cancel := detachedContext(ctx)
	defer cancel()
	_, err := s.store.Get(detached, &adapter.GetParams{Key: part.Key, Only: []string{}})
	if adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	if _, err = s.replica.ImportRecords(detached, []ImportedRecord{{Mapping: part, RootAttribute: s.RootAttribute, Record: s.importedRecord(Item{Record: created})}}); err != nil {
		err = &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("create %s %d", s.Resource, part.Key), Err: errors.Join(errUndone, err)}
	}
	return err
}
