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
	errKept = errors.New("the change is of what the backend keeps")
	errNoID = errors.New("the part has no id of the backend: import it")
)

// ownerOf returns the key of the root of a record at the side. Kinds: NotFound.
func (s *store) ownerOf(ctx context.Context, key adapter.Key, ownerID int64) (adapter.Key, error) {
	only := []string{}
	if !s.isRoot() {
		only = append(only, s.RootAttribute)
	}
	r, err := s.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID, Only: only})
	if err != nil {
		return 0, err
	}
	return s.rootOf(r), nil
}

// Update changes one record: at the side, and if what the backend keeps is then
// another, at the backend.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.Resource, p.Key)
	if err := s.open(op); err != nil {
		return err
	}
	root, err := s.ownerOf(ctx, p.Key, p.OwnerID)
	if adapter.KindOf(err) == adapter.NotFound {
		return s.never(s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, OwnerID: p.OwnerID, Change: func(r adapter.Record) (adapter.Record, error) {
			return r, errNothing
		}}), op)
	}
	if err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, record{s.root.Resource, root})
	if err != nil {
		return err
	}
	defer unlock()
	entry, err := s.one(ctx, "update", s.root, root)
	if err != nil {
		return err
	}
	named, kept, err := s.named(ctx, p)
	if err != nil || len(kept) == 0 {
		return err
	}
	return s.update(ctx, p, entry, named)
}

// never returns what a side says of a write that it refuses, to a record that is not
// there.
func (s *store) never(err error, op string) error {
	if err == nil || errors.Is(err, errNothing) {
		return &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	return err
}

// named runs an update at the side if it is of nothing that the backend keeps. If it
// is, it returns the attributes that it names, and which of them the backend keeps.
func (s *store) named(ctx context.Context, p *adapter.UpdateParams) (named, kept []string, err error) {
	alone := *p
	alone.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		if err != nil {
			return change, err
		}
		named, kept = nil, nil
		for i, v := range change.Values {
			a := &s.schema.Attributes[i]
			if v.Kind() == adapter.Absent {
				continue
			}
			named = append(named, a.Name)
			// What reaches no further than a level leaves the default scope alone.
			if s.keeps[i] && (p.StoreID == 0 || a.Scope == adapter.ScopeGlobal) && !same(current.Values[i], v) {
				kept = append(kept, a.Name)
			}
		}
		if len(kept) > 0 {
			return change, errKept
		}
		return change, nil
	}
	if err = s.store.Update(ctx, &alone); errors.Is(err, errKept) {
		err = nil
	} else {
		kept = nil
	}
	return named, kept, err
}

// update changes a record of what the backend keeps. Its root is locked, and entry is
// up to date.
func (s *store) update(ctx context.Context, p *adapter.UpdateParams, entry Mapping, named []string) error {
	u, err := s.begin(ctx, fmt.Sprintf("update %s %d", s.Resource, p.Key), entry, p.Key, p.StoreID, named, updated)
	if err != nil {
		return err
	}
	if done, err := s.change(ctx, p); err != nil {
		if !done {
			s.forget(ctx, u.entry)
		}
		return err
	}
	return u.end(ctx)
}

// An updating is an update of a record between its note and its end.
type updating struct {
	*store
	op     string
	entry  Mapping // of the root, with the note
	note   note
	id     string
	with   []string
	before adapter.Record
}

// begin notes an update of a record at a level, before the side is changed.
func (s *store) begin(ctx context.Context, op string, entry Mapping, key adapter.Key, level int64, named []string, what string) (*updating, error) {
	u := &updating{store: s, op: op, note: note{Op: what, Resource: s.Resource, Key: key, Level: level, Named: named}}
	for _, name := range named {
		if at, _ := s.schema.Index(name); s.schema.Attributes[at].OnDemand {
			u.with = append(u.with, name)
		}
	}
	var err error
	if u.id, err = s.idOf(ctx, op, entry, key); err != nil {
		return nil, err
	}
	if u.before, err = s.get(ctx, key, u.with...); err != nil {
		return nil, err
	}
	shown := u.before
	if level != 0 {
		if shown, err = s.store.Get(ctx, &adapter.GetParams{Key: key, StoreID: level, With: u.with}); err != nil {
			return nil, err
		}
	}
	if u.note.Old, err = s.old(shown, u.before, level, named); err != nil {
		return nil, &adapter.Error{Kind: adapter.Internal, Op: op, Err: err}
	}
	if shared(s.Resource) != nil {
		if u.note.Before, err = s.before(ctx, entry.Key, level); err != nil {
			return nil, err
		}
	}
	u.entry, err = s.enterNote(ctx, entry, u.note)
	return u, err
}

// end does at the backend what the side has done, or undoes it.
func (u *updating) end(ctx context.Context) error {
	after, err := u.get(ctx, u.note.Key, u.with...)
	if err != nil {
		return err
	}
	changed := u.differing(u.keeping, u.before, after)
	if len(changed) == 0 {
		return u.endUnchanged(ctx)
	}
	w := &Write{Resource: u.Resource, Key: u.note.Key, ID: u.id, Old: u.before, New: after, Changed: changed}
	if err = u.complete(ctx, w, u.entry); err != nil {
		return err
	}
	err = &adapter.Error{Kind: adapter.Unsupported, Op: u.op, Err: errNoUpdates}
	if u.Updates {
		err = u.backend.Update(ctx, w)
	}
	switch {
	case err == nil:
		return u.finish(ctx, u.entry, &writer{resource: u.Resource, key: w.Key, names: changed, nested: u.nested(u.keeping, changed), wrote: after})
	case refused(err):
		u.undo(ctx, u.entry, u.note)
		return err
	default:
		return err
	}
}

var errUndone = errors.New("another process has taken the write for one that was given up")

// endUnchanged ends an update after which nothing is different that the backend keeps:
// it was of nothing, or another process that met the note has undone it.
func (u *updating) endUnchanged(ctx context.Context) error {
	entries, err := u.side.MappingsByKey(ctx, u.entry.Resource, []adapter.Key{u.entry.Key})
	if err != nil {
		return err
	}
	if len(entries) == 0 || !bytes.Equal(entries[0].Intent, u.entry.Intent) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: u.op, Err: errUndone}
	}
	return u.dropNote(ctx, u.entry)
}

var errNoUpdates = errors.New("the backend takes no changes")

// change runs an update at the side. done reports whether that may have been done
// although err says otherwise.
func (s *store) change(ctx context.Context, p *adapter.UpdateParams) (done bool, err error) {
	var mine error
	watched := *p
	watched.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		mine = err
		return change, err
	}
	if err = s.store.Update(ctx, &watched); err == nil {
		return true, nil
	}
	return mine == nil && !refused(err), err
}

// idOf returns the backend's id of a record; "" for a part that has none by nature.
// Kinds: Unsupported for one whose id is not known.
func (s *store) idOf(ctx context.Context, op string, entry Mapping, key adapter.Key) (string, error) {
	switch {
	case s.isRoot():
		return entry.BackendID, nil
	case !s.HasIDs:
		return "", nil
	}
	entries, err := s.side.MappingsByKey(ctx, s.Resource, []adapter.Key{key})
	if err != nil {
		return "", err
	}
	if len(entries) == 0 || entries[0].BackendID == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoID}
	}
	return entries[0].BackendID, nil
}

// complete says what a write of a part has to do with its root, which has that entry.
func (s *store) complete(ctx context.Context, w *Write, entry Mapping) error {
	if s.isRoot() {
		return nil
	}
	w.RootKey, w.RootID = entry.Key, entry.BackendID
	have, err := s.partsAt(ctx, s.keeping, entry.Key)
	if err != nil {
		return err
	}
	for key, r := range have.records {
		if key == w.Key && w.New.Schema == nil {
			continue // it is about to go
		}
		w.Siblings = append(w.Siblings, Sibling{ID: have.ids[key], Record: r})
	}
	slices.SortFunc(w.Siblings, func(a, b Sibling) int { return int(keyOf(a.Record) - keyOf(b.Record)) })
	return nil
}

// forget drops the note of a write that was not done. If it cannot, the note stays
// and is found to be of nothing.
func (a *Adapter) forget(ctx context.Context, entry Mapping) {
	if err := a.dropNote(ctx, entry); err != nil {
		a.log.Warn("a note of a write that was not done is dropped later", "resource", entry.Resource, "id", entry.Key, "error", err)
	}
}

// undo puts old values back after the backend has refused an update, and drops the
// note. If it cannot, the note stays and says so.
func (s *store) undo(ctx context.Context, entry Mapping, n note) {
	aside, cancel := aside(ctx)
	defer cancel()
	err := s.putBack(aside, n)
	if err == nil {
		err = s.dropNote(aside, entry)
	}
	if err != nil {
		s.log.Warn("an update that the backend refused is undone later", "resource", n.Resource, "id", n.Key, "error", err)
	}
}

// finish ends a write that both sides have done: it takes the document that came of
// it for the base, drops the note, and stores entries with that.
func (a *Adapter) finish(ctx context.Context, entry Mapping, by *writer, entries ...Mapping) error {
	root := a.kept[entry.Resource]
	if len(entries) > 0 {
		if err := a.enterAside(ctx, entries...); err != nil {
			return err
		}
	}
	docs, err := a.fetch(ctx, root, []string{entry.BackendID})
	if errors.Is(ctx.Err(), context.Canceled) { // by a caller who has gone, and not for want of time
		aside, cancel := aside(ctx)
		defer cancel()
		docs, err = a.fetch(aside, root, []string{entry.BackendID})
	}
	if doc, ok := docs[entry.BackendID]; err == nil && ok {
		aside, cancel := aside(ctx)
		defer cancel()
		if _, _, err = a.merge(aside, root, entry, doc, by); err == nil {
			return nil
		}
	}
	// The next who reads it compares it.
	entry.Version, entry.Intent = "", nil
	return a.enterAside(ctx, entry)
}

// enterAside stores entries although the caller may have gone.
func (a *Adapter) enterAside(ctx context.Context, entries ...Mapping) error {
	ctx, cancel := aside(ctx)
	defer cancel()
	return a.side.PutMappings(ctx, entries...)
}
