package imports

import (
	"context"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/rules"
)

// keepPending preserves, in units, the client writes that the system they come from has not received
// yet: values with an entry in the outbox stay as stored. Where both systems have changed a value
// since they last agreed, it decides, and notes the conflict.
func (in *importTx) keepPending(ctx context.Context, units []*unit) error {
	if in.Source == "" || in.Existing != adapter.ReplaceExisting {
		return nil
	}
	byRoot := map[adapter.Resource][]adapter.Key{}
	for _, u := range units {
		root := u.root()
		byRoot[root.Resource] = append(byRoot[root.Resource], root.Key)
	}
	pending := map[outbox.Root][]outbox.Entry{}
	for _, resource := range slices.Sorted(maps.Keys(byRoot)) {
		entries, err := in.Entries(ctx, resource, byRoot[resource])
		if err != nil {
			return err
		}
		for _, e := range entries {
			pending[e.Root] = append(pending[e.Root], e)
		}
	}
	for _, u := range units {
		m := pendingMerge{in: in, unit: u}
		for _, e := range pending[u.root()] {
			if err := m.keep(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled holds the changes of the outbox that follow from an imported record. It is stored only once
// the record is locked.
type settled struct {
	agreed, dropped []outbox.Entry
	conflicts       []outbox.Conflict
}

func (s *settled) isEmpty() bool { return len(s.agreed)+len(s.dropped)+len(s.conflicts) == 0 }

// store stores the changes.
func (s *settled) store(ctx context.Context, tx rules.Tx) error {
	for _, e := range s.agreed {
		if err := tx.Agree(ctx, e); err != nil {
			return err
		}
	}
	for _, e := range s.dropped {
		if err := tx.Drop(ctx, e); err != nil {
			return err
		}
	}
	if len(s.conflicts) == 0 {
		return nil
	}
	return tx.NoteConflicts(ctx, s.conflicts...)
}

// root returns the record whose entries concern a unit.
func (u *unit) root() outbox.Root {
	if u.schema.Root != "" && u.Record.Get(u.schema.RootAttribute).Empty() && u.stored.record.Schema != nil {
		return outbox.RootOf(u.stored.record) // only the key of a record that is gone is known
	}
	return outbox.RootOf(u.Record)
}

// A pendingMerge replaces values of a unit by the pending ones.
type pendingMerge struct {
	in     *importTx
	unit   *unit
	copied bool
}

// keep keeps the values that an entry of the root concerns.
func (m *pendingMerge) keep(ctx context.Context, e outbox.Entry) error {
	u := m.unit
	u.pending = true
	isUnit := e.Resource == u.schema.Resource && e.Key == u.key
	isRoot := e.Resource == e.Root.Resource
	if e.Gone && (isUnit || isRoot) { // with everything that belongs to it
		u.deletedHere = true
		return nil
	}
	if u.Gone {
		if isUnit || u.root() == (outbox.Root{Resource: u.schema.Resource, Key: u.key}) {
			m.drop(e)
		}
		return nil
	}
	own := u.exists && !u.PartsOnly
	if own && (isUnit || u.schema.Resource == e.Root.Resource) {
		m.keepUpdatedAt()
	}
	switch {
	case own && isUnit:
		return m.keepValues(ctx, e)
	case !isUnit && slices.Contains(u.PartsOf, e.Resource):
		return m.keepPart(e)
	default:
		return nil
	}
}

// copyOnce replaces the aggregate by a copy that can be changed.
func (m *pendingMerge) copyOnce() {
	if m.copied {
		return
	}
	one := *m.unit.Aggregate
	one.Record, one.Parts, one.Levels = one.Record.Clone(), slices.Clone(one.Parts), slices.Clone(one.Levels)
	for i := range one.Levels {
		one.Levels[i].Record = one.Levels[i].Record.Clone()
	}
	m.unit.Aggregate, m.copied = &one, true
}

// drop removes an entry of a record that the other system has deleted.
func (m *pendingMerge) drop(e outbox.Entry) {
	m.unit.settled.dropped = append(m.unit.settled.dropped, e)
	m.unit.settled.conflicts = append(m.unit.settled.conflicts, outbox.Conflict{Record: e.Record, Outcome: outbox.Dropped})
}

// keepValues keeps the pending values of the record itself.
func (m *pendingMerge) keepValues(ctx context.Context, e outbox.Entry) error {
	m.copyOnce()
	u := m.unit
	var conflicts []outbox.Conflict
	for _, name := range slices.Sorted(maps.Keys(e.Agreed)) {
		at, ok := u.schema.Index(name)
		if !ok {
			continue
		}
		theirs, ours := u.Record.Values[at], u.stored.record.Values[at]
		if e.StoreID != 0 {
			theirs, ours = valueAt(m.levelIn(u.id(), e.StoreID), at), valueAt(u.stored.levels[levelID{u.id(), e.StoreID}], at)
		}
		merged, conflict := decide(&u.schema.Attributes[at], &e, ours, theirs)
		if conflict != nil {
			conflicts = append(conflicts, *conflict)
		}
		if e.StoreID == 0 {
			u.Record.Values[at] = merged
			continue
		}
		if err := m.setAtViews(ctx, e.StoreID, at, merged); err != nil {
			return err
		}
	}
	m.note(e, conflicts)
	return nil
}

// keepUpdatedAt keeps the time of the client's write.
func (m *pendingMerge) keepUpdatedAt() {
	if at, ok := m.unit.schema.Index("updated_at"); ok {
		m.copyOnce()
		m.unit.Record.Values[at] = m.unit.stored.record.Values[at]
	}
}

// note notes the states on which both systems agree now, and the conflicts.
func (m *pendingMerge) note(e outbox.Entry, conflicts []outbox.Conflict) {
	s := &m.unit.settled
	s.conflicts = append(s.conflicts, conflicts...)
	switch {
	case len(conflicts) == 0:
	case len(e.Agreed) == 0:
		s.dropped = append(s.dropped, e)
	default:
		s.agreed = append(s.agreed, e)
	}
}

// decide returns the value that an attribute keeps while an entry is pending. If both systems have
// changed it, the entry then holds the other system's state as the agreed one, or, if the entry is
// held, no longer has the attribute.
func decide(a *adapter.Attribute, e *outbox.Entry, ours, theirs adapter.Value) (adapter.Value, *outbox.Conflict) {
	state := outbox.State(a, theirs)
	isQuantity := a.Name == "qty" && a.Kind == adapter.KindDecimal
	switch {
	case state == e.Agreed[a.Name], state == outbox.State(a, ours), slices.Contains(e.Sent[a.Name], state):
		return ours, nil
	case isQuantity && e.Sending: // the other system's value may be from before or after the write
		return ours, nil
	}
	before := e.Agreed[a.Name]
	conflict := &outbox.Conflict{Record: e.Record, Attribute: a.Name, Ours: shownText(a, ours), Theirs: shownText(a, theirs), Outcome: outbox.Kept}
	if e.Held {
		delete(e.Agreed, a.Name)
		conflict.Outcome = outbox.Taken
		return theirs, conflict
	}
	e.Agreed[a.Name] = state
	if !isQuantity {
		return ours, conflict
	}
	sum, ok := addDifference(append(slices.Clone(e.Sent[a.Name]), before), ours, theirs)
	if !ok {
		return ours, conflict
	}
	conflict.Outcome = outbox.Added
	return sum, conflict
}

// addDifference returns our quantity plus the change made by the other system. The other system's
// earlier quantity is one of before: the nearest one, as stores sell few pieces at a time.
func addDifference(before []string, ours, theirs adapter.Value) (sum adapter.Value, ok bool) {
	here, ok := adapter.ParseDecimal(ours.Text())
	there, known := adapter.ParseDecimal(theirs.Text())
	if !ok || !known {
		return sum, false
	}
	var nearest int64
	known = false
	for _, state := range before {
		if n, ok := outbox.Number(state); ok && (!known || magnitude(there-n) < magnitude(there-nearest)) {
			nearest, known = n, true
		}
	}
	return adapter.TextValue(adapter.FormatDecimal(here + there - nearest)), known
}

func magnitude(n int64) int64 { return max(n, -n) }

// shownText returns a readable value.
func shownText(a *adapter.Attribute, v adapter.Value) string {
	switch {
	case a.Name == rules.PasswordHash:
		return "a password"
	case v.Kind() == adapter.Records, v.Kind() == adapter.Texts:
		return "a list"
	default:
		return v.Text()
	}
}

// valueAt returns a value of a record that may not be there.
func valueAt(r adapter.Record, at int) adapter.Value {
	if r.Schema == nil {
		return adapter.Value{}
	}
	return r.Values[at]
}

// levelIn returns the values that come with the unit for a record at a scope, without a schema if
// there are none.
func (m *pendingMerge) levelIn(id recordID, level int64) adapter.Record {
	for _, l := range m.unit.Levels {
		if l.StoreID == level && l.Record.Schema.Resource == id.resource && l.Record.Key() == id.key {
			return l.Record
		}
	}
	return adapter.Record{}
}

// levelToSet is levelIn, except that it adds a missing record.
func (m *pendingMerge) levelToSet(id recordID, level int64) adapter.Record {
	if r := m.levelIn(id, level); r.Schema != nil {
		return r
	}
	r := adapter.NewRecord(m.in.schemas.Of(id.resource))
	r.Set(r.Schema.Key, adapter.IntegerValue(int64(id.key)))
	m.unit.Levels = append(m.unit.Levels, adapter.Level{StoreID: level, Record: r})
	return r
}

// setAtViews keeps a value of the record at a store view, and a value of website scope at all store
// views of the website.
func (m *pendingMerge) setAtViews(ctx context.Context, view int64, at int, v adapter.Value) error {
	views := []int64{view}
	if m.unit.schema.Attributes[at].Scope == adapter.ScopeWebsite {
		all, err := m.in.StoreViews(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.ID == view {
				views = rules.ViewsOf(all, one.Website)
			}
		}
	}
	for _, id := range views {
		m.levelToSet(m.unit.id(), id).Values[at] = v
	}
	return nil
}

// keepPart keeps the pending values of a part.
func (m *pendingMerge) keepPart(e outbox.Entry) error {
	m.copyOnce()
	u := m.unit
	is := func(r adapter.Record) bool { return r.Schema.Resource == e.Resource && r.Key() == e.Key }
	if e.Gone {
		u.Parts = slices.DeleteFunc(u.Parts, func(r adapter.Record) bool { return is(r) || isAssignmentOf(r, e) })
		u.Levels = slices.DeleteFunc(u.Levels, func(l adapter.Level) bool { return is(l.Record) })
		m.keepPointersTo(e.Key)
		return nil
	}
	if !slices.ContainsFunc(u.Parts, is) {
		m.drop(e)
		return nil
	}
	var conflicts []outbox.Conflict
	id := recordID{e.Resource, e.Key}
	schema := m.in.schemas.Of(e.Resource)
	for _, name := range slices.Sorted(maps.Keys(e.Agreed)) {
		at, ok := schema.Index(name)
		if !ok || name == "types" || name == "removed" {
			continue
		}
		theirs := m.imageValue(id, e.StoreID, at)
		ours := valueAt(u.stored.levels[levelID{id, e.StoreID}], at)
		merged, conflict := decide(&schema.Attributes[at], &e, ours, theirs)
		if conflict != nil {
			conflicts = append(conflicts, *conflict)
		}
		m.levelToSet(id, e.StoreID).Values[at] = merged
	}
	_, typed := e.Agreed["types"]
	if _, removed := e.Agreed["removed"]; typed || removed || e.Removed {
		m.keepPointers(e.StoreID)
	}
	m.note(e, conflicts)
	return nil
}

// isAssignmentOf reports whether a part is an assignment, which comes without a key, that an entry
// concerns.
func isAssignmentOf(r adapter.Record, e outbox.Entry) bool {
	target := targetOf(r.Schema.Resource)
	if r.Schema.Resource != e.Resource || target.field == "" {
		return false
	}
	named, err := e.Identity.Decode(r.Schema)
	return err == nil && named.Get(target.field).Equal(r.Get(target.field))
}

// imageValue returns the value that comes for an image at a scope, or in the default scope if the
// scope has none.
func (m *pendingMerge) imageValue(id recordID, level int64, at int) adapter.Value {
	if v := valueAt(m.levelIn(id, level), at); !v.Empty() {
		return v
	}
	return valueAt(m.levelIn(id, 0), at)
}

// keepPointers keeps the images to which the types point at a scope: a client has changed one of the
// pointers, and the image that it points to takes it from another image.
func (m *pendingMerge) keepPointers(level int64) {
	id := m.unit.id()
	stored := m.unit.stored.levels[levelID{id, level}]
	to := m.levelToSet(id, level)
	for _, name := range rules.ImageTypes() {
		at, _ := m.unit.schema.Index(rules.PointerTo(name))
		to.Values[at] = valueAt(stored, at)
	}
}

// keepPointersTo keeps the pointers at all scopes where the other system points to an image that is
// gone here.
func (m *pendingMerge) keepPointersTo(image adapter.Key) {
	for _, l := range slices.Clone(m.unit.Levels) {
		if l.Record.Schema.Resource != adapter.Products {
			continue
		}
		if slices.ContainsFunc(rules.ImageTypes(), func(name string) bool { return adapter.Key(l.Record.Get(rules.PointerTo(name)).Int()) == image }) {
			m.keepPointers(l.StoreID)
		}
	}
}
