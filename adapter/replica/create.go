package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errNoCreates = errors.New("the backend takes no new records of this resource")
	errNoOwner   = errors.New("no such record")
	errNoSuchID  = errors.New("the backend gave no id")
)

// Create stores a new record: at the side, which checks it and gives it its key, and
// then at the backend.
func (s *store) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.Resource)
	if err := s.open(op); err != nil {
		return 0, err
	}
	if !s.Creates {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoCreates}
	}
	defer s.hidden.create()()
	if !s.isRoot() {
		return s.createPart(ctx, op, p)
	}
	key, err := s.store.Create(ctx, p)
	if adapter.KindOf(err) == adapter.Conflict {
		// With a record, maybe, that was never made.
		if s.settleAll(ctx, s.Resource) > 0 {
			key, err = s.store.Create(ctx, p)
		}
	}
	if err != nil {
		return 0, err
	}
	unlock, err := s.locks.lock(ctx, record{s.Resource, key})
	if err != nil {
		s.takeBack(ctx, key)
		return 0, err
	}
	defer unlock()
	entry, err := s.enterNote(ctx, Mapping{Resource: s.Resource, Key: key}, note{Op: created, Resource: s.Resource, Key: key})
	if err != nil {
		s.takeBack(ctx, key)
		return 0, err
	}
	if err := s.createRoot(ctx, entry, p.Record); err != nil {
		if refused(err) {
			s.takeBack(ctx, key)
		}
		return 0, err
	}
	return key, nil
}

// createRoot creates at the backend a root that the side has, whose entry is given and
// noted. given holds what is write-only, if anything.
func (s *store) createRoot(ctx context.Context, entry Mapping, given adapter.Record) error {
	fresh, err := s.fresh(ctx, entry.Key, given)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: entry.Key, Old: adapter.Record{}, New: fresh, Changed: s.Attributes, Parts: map[adapter.Resource][]Sibling{}}
	for _, k := range s.parts {
		records, err := k.partsOf(ctx, entry.Key, 0)
		if err != nil {
			return err
		}
		for _, r := range records {
			w.Parts[k.Resource] = append(w.Parts[k.Resource], Sibling{Record: r})
		}
	}
	if entry.BackendID, err = s.backend.Create(ctx, w); err != nil {
		return err
	}
	if entry.BackendID == "" {
		return &adapter.Error{Kind: adapter.Internal, Op: "create " + string(s.Resource), Err: errNoSuchID}
	}
	return s.finish(ctx, entry, nil)
}

// fresh returns a new record as the backend gets it.
func (s *store) fresh(ctx context.Context, key adapter.Key, given adapter.Record) (adapter.Record, error) {
	r, err := s.get(ctx, key)
	if err != nil {
		return r, err
	}
	r = r.Clone()
	for i, a := range s.schema.Attributes {
		if a.WriteOnly && given.Schema != nil {
			r.Values[i] = given.Values[i]
		}
	}
	return r, nil
}

// takeBack removes a record that was created for nothing, and its entry. If it cannot,
// the note in the entry says so.
func (s *store) takeBack(ctx context.Context, key adapter.Key) {
	ctx, cancel := aside(ctx)
	defer cancel()
	err := s.remove(ctx, s.keeping, key)
	if err == nil {
		err = s.side.DeleteMapping(ctx, s.Resource, key)
	}
	if err != nil {
		s.log.Warn("a record that the backend has not created is removed later", "resource", s.Resource, "id", key, "error", err)
	}
}

// takeBackPart removes a part that was created for nothing. If it cannot, the note in
// the entry of its root says so.
func (s *store) takeBackPart(ctx context.Context, entry Mapping, n note, key adapter.Key) {
	ctx, cancel := aside(ctx)
	defer cancel()
	err := s.remove(ctx, s.keeping, key)
	if err == nil {
		err = s.putBackOthers(ctx, n)
	}
	if err == nil {
		err = s.dropNote(ctx, entry)
	}
	if err != nil {
		s.log.Warn("a record that the backend has not created is removed later", "resource", s.Resource, "id", key, "error", err)
	}
}

// createPart creates a part of a root.
func (s *store) createPart(ctx context.Context, op string, p *adapter.CreateParams) (adapter.Key, error) {
	owner := adapter.Key(p.Record.Get(s.RootAttribute).Int())
	unlock, err := s.locks.lock(ctx, record{s.root.Resource, owner})
	if err != nil {
		return 0, err
	}
	defer unlock()
	entry, err := s.one(ctx, "create", s.root, owner)
	if adapter.KindOf(err) == adapter.NotFound {
		return 0, s.noRoot(ctx, op, p)
	}
	if err != nil {
		return 0, err
	}
	n := note{Op: created, Resource: s.Resource, Level: p.StoreID}
	if n.Before, err = s.before(ctx, owner, p.StoreID); err != nil {
		return 0, err
	}
	if entry, err = s.enterNote(ctx, entry, n); err != nil {
		return 0, err
	}
	key, done, err := s.make(ctx, p)
	if err != nil {
		if !done {
			s.forget(ctx, entry)
		}
		return 0, err
	}
	if err = s.createPartOf(ctx, entry, key, p.Record); err == nil {
		return key, nil
	}
	if refused(err) {
		s.takeBackPart(ctx, entry, n, key)
	}
	if adapter.KindOf(err) == adapter.NotFound {
		err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.RootAttribute, Err: err}
	}
	return 0, err
}

// noRoot is the answer to the creation of a part of what is not there, or not to be
// seen: that of the side, or else of its caller's check.
func (s *store) noRoot(ctx context.Context, op string, p *adapter.CreateParams) error {
	_, err := s.store.Create(ctx, &adapter.CreateParams{Record: p.Record, StoreID: p.StoreID, Check: func() error {
		if p.Check != nil {
			if err := p.Check(); err != nil {
				return err
			}
		}
		return errNoOwner
	}})
	if errors.Is(err, errNoOwner) {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: s.RootAttribute, Err: errNoOwner}
	}
	return err
}

// make creates a record at the side. done reports whether that may have been done
// although err says otherwise.
func (s *store) make(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, done bool, err error) {
	var mine error
	watched := *p
	watched.Check = func() error {
		if p.Check != nil {
			mine = p.Check()
		}
		return mine
	}
	if key, err = s.store.Create(ctx, &watched); err == nil {
		return key, true, nil
	}
	return 0, mine == nil && !refused(err), err
}

// createPartOf creates at the backend a part that the side has. entry is that of the
// root, and noted.
func (s *store) createPartOf(ctx context.Context, entry Mapping, key adapter.Key, given adapter.Record) error {
	fresh, err := s.fresh(ctx, key, given)
	if err != nil {
		return err
	}
	w := &Write{Resource: s.Resource, Key: key, New: fresh, Changed: s.Attributes}
	if err := s.complete(ctx, w, entry); err != nil {
		return err
	}
	id, err := s.backend.Create(ctx, w)
	if err != nil {
		return err
	}
	if s.HasIDs && id == "" {
		return &adapter.Error{Kind: adapter.Internal, Op: "create " + string(s.Resource), Err: errNoSuchID}
	}
	part := partEntry(s.keeping, key, id, entry.Key)
	if err := s.bringBack(ctx, part, fresh); err != nil {
		return err
	}
	by := &writer{resource: s.Resource, key: key, all: true}
	if !s.HasIDs {
		return s.finish(ctx, entry, by)
	}
	return s.finish(ctx, entry, by, part)
}

// bringBack stores a new part once more if another process has taken it away: it met
// the note before the backend had the part.
func (s *store) bringBack(ctx context.Context, part Mapping, fresh adapter.Record) error {
	aside, cancel := aside(ctx)
	defer cancel()
	_, err := s.store.Get(aside, &adapter.GetParams{Key: part.Key, Only: []string{}})
	if adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	if _, err = s.side.ImportRecords(aside, []ImportedRecord{{Mapping: part, RootAttribute: s.RootAttribute, Record: s.adopted(Item{Record: fresh})}}); err != nil {
		err = &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("create %s %d", s.Resource, part.Key), Err: errors.Join(errUndone, err)}
	}
	return err
}
