package replica

import (
	"context"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A writer is a write that has just been done. What the backend says of its values is
// how it keeps them, and nothing to take over.
type writer struct {
	resource adapter.Resource
	key      adapter.Key
	all      bool     // of the record, which is new
	names    []string // the attributes that it changed
	nested   []adapter.Resource
	wrote    adapter.Record // the record as it was written, of an update
}

// of reports whether an attribute of a record is what was written.
func (w *writer) of(r adapter.Resource, key adapter.Key, name string) bool {
	switch {
	case w == nil:
		return false
	case slices.Contains(w.nested, r):
		return true
	default:
		return w.resource == r && w.key == key && (w.all || slices.Contains(w.names, name))
	}
}

// A merge brings the side up to date with one document.
type merge struct {
	*Adapter
	root  *keeping
	key   adapter.Key
	by    *writer // nil for none, or one that another process has undone
	entry Mapping
	was   base
	// What becomes of it.
	is      base
	entries []Mapping // of parts
	changed bool      // the side is another one than before
}

// merge brings the side up to date with a document of the entry's root, which is
// locked, and stores the entry without its note. by is the write that went before.
// It reports whether the side is another one than before.
func (a *Adapter) merge(ctx context.Context, root *keeping, entry Mapping, doc Document, by *writer) (Mapping, bool, error) {
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return entry, false, err
	}
	if by, err = a.standing(ctx, by); err != nil {
		return entry, false, err
	}
	m := &merge{Adapter: a, root: root, key: entry.Key, by: by, entry: entry, is: base{item: item.Record, parts: map[adapter.Resource][]Item{}}}
	if entry.Base == nil {
		err = m.accept(ctx, parts)
	} else if m.was, err = readBase(root, entry); err == nil {
		err = m.takeOver(ctx, parts)
	}
	if err != nil {
		return entry, m.changed, err
	}
	m.entry.Version, m.entry.Intent = doc.Version, nil
	if m.entry, err = writeBase(m.entry, m.is); err != nil {
		return entry, m.changed, err
	}
	err = a.side.PutMappings(ctx, append(m.entries, m.entry)...)
	if adapter.KindOf(err) == adapter.Conflict && len(m.entries) > 0 {
		// A part carries the legacy id of one, and has the id of another.
		a.unknown.once(a.log, "parts of a record are mapped otherwise than the backend says: check the ids", root.Resource, m.entry.BackendID)
		err = a.side.PutMappings(ctx, m.entry)
	}
	return m.entry, m.changed, err
}

// standing returns a write unless another process has undone it at the side meanwhile:
// it met the note before the backend had the write.
func (a *Adapter) standing(ctx context.Context, by *writer) (*writer, error) {
	if by == nil || by.wrote.Schema == nil {
		return by, nil
	}
	k := a.kept[by.resource]
	is, err := k.get(ctx, by.key)
	if err != nil {
		return nil, err
	}
	if len(a.differing(k, by.wrote, is)) > 0 {
		return nil, nil
	}
	return by, nil
}

// accept makes the document the base.
func (m *merge) accept(ctx context.Context, parts map[adapter.Resource][]Item) error {
	for _, k := range m.root.parts {
		items, said := parts[k.Resource]
		if !said {
			continue
		}
		m.is.parts[k.Resource] = items
		if !k.HasIDs || !slices.ContainsFunc(items, func(i Item) bool { return i.Key != 0 }) {
			continue
		}
		have, err := m.partsAt(ctx, k)
		if err != nil {
			return err
		}
		for _, item := range items {
			have.link(m, item)
		}
	}
	return nil
}

// takeOver stores at the side what the document says otherwise than the base.
func (m *merge) takeOver(ctx context.Context, parts map[adapter.Resource][]Item) error {
	said := m.is.item
	var err error
	if m.is.item, err = m.take(ctx, m.root, m.key, m.was.item, said); err != nil {
		return err
	}
	for _, k := range m.root.parts {
		items, said := parts[k.Resource]
		was, had := m.was.parts[k.Resource]
		switch {
		case !said && had:
			m.is.parts[k.Resource] = was
		case said && had && slices.EqualFunc(was, items, sameItem):
			m.is.parts[k.Resource] = items
		case said:
			if m.is.parts[k.Resource], err = m.takeParts(ctx, k, was, items); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameItem(i, j Item) bool { return i.ID == j.ID && sameValues(i.Record, j.Record) }

// take stores at the side the values of a record that the document says otherwise
// than the base. It returns the new base: what it says, but for values that the side
// refuses, which keep their old one and are tried again with the next document.
func (m *merge) take(ctx context.Context, k *keeping, key adapter.Key, was, says adapter.Record) (adapter.Record, error) {
	values, any := adapter.NewRecord(k.schema), false
	for i, v := range says.Values {
		name := k.schema.Attributes[i].Name
		if v.Kind() == adapter.Absent || !k.takes[i] || same(v, was.Values[i]) || m.by.of(k.Resource, key, name) {
			continue
		}
		values.Values[i], any = v, true
	}
	if !any {
		return says, nil
	}
	refused, err := m.put(ctx, k, key, values)
	is := says.Clone()
	for _, at := range refused {
		is.Values[at] = was.Values[at]
	}
	return is, err
}

// put stores values at the side. What the side refuses is left out, and its places
// are returned.
func (m *merge) put(ctx context.Context, k *keeping, key adapter.Key, values adapter.Record) (left []int, err error) {
	changed, err := k.put(ctx, m.side, key, 0, values)
	m.changed = m.changed || changed
	if changed {
		m.metrics.takenOver(k.Resource)
	}
	if adapter.KindOf(err) == adapter.NotFound {
		return nil, nil // its entry is behind, and nobody sees it
	}
	if err == nil || !refused(err) {
		return nil, err
	}
	var at []int
	for i, v := range values.Values {
		if v.Kind() != adapter.Absent {
			at = append(at, i)
		}
	}
	if len(at) == 1 {
		m.metrics.left(k.Resource)
		m.log.Warn("a value of the backend is not taken over: change it there", "resource", k.Resource, "id", key, "attribute", k.schema.Attributes[at[0]].Name, "kind", adapter.KindOf(err).String())
		return at, nil
	}
	for _, i := range at {
		one := adapter.NewRecord(k.schema)
		one.Values[i] = values.Values[i]
		some, err := m.put(ctx, k, key, one)
		if err != nil {
			return nil, err
		}
		left = append(left, some...)
	}
	return left, nil
}

var errNothing = errors.New("nothing to do")

// put stores values of a record at a level of the side, if the side has not got them
// already.
func (k *keeping) put(ctx context.Context, side Replica, key adapter.Key, level int64, values adapter.Record) (changed bool, err error) {
	var with []string
	said := false
	for i, v := range values.Values {
		said = said || v.Kind() != adapter.Absent
		if v.Kind() != adapter.Absent && k.schema.Attributes[i].OnDemand {
			with = append(with, k.schema.Attributes[i].Name)
		}
	}
	if !said {
		return false, nil
	}
	news := func(current adapter.Record) (adapter.Record, bool) {
		change, any := adapter.NewRecord(k.schema), false
		for i, v := range values.Values {
			if v.Kind() != adapter.Absent && !has(current.Values[i], v) {
				change.Values[i], any = writable(v), true
			}
		}
		return change, any
	}
	if k.amends {
		current, err := k.store.Get(ctx, &adapter.GetParams{Key: key})
		if err != nil {
			return false, err
		}
		change, any := news(current)
		if !any {
			return false, nil
		}
		return true, side.UpdateReadOnly(ctx, k.Resource, key, change)
	}
	err = k.store.Update(ctx, &adapter.UpdateParams{Key: key, StoreID: level, With: with, Change: func(current adapter.Record) (adapter.Record, error) {
		change, any := news(current)
		if !any {
			return change, errNothing
		}
		for i, v := range current.Values { // what is null stays null only when it is said again
			a := &k.schema.Attributes[i]
			if v.Kind() == adapter.Null && k.Resource != adapter.ProductImages && change.Values[i].Kind() == adapter.Absent && !a.ReadOnly && !a.Fixed && !a.OnDemand {
				change.Values[i] = v
			}
		}
		return change, nil
	}})
	if errors.Is(err, errNothing) {
		return false, nil
	}
	return err == nil, err
}
