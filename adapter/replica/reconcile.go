package replica

import (
	"context"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A writer is a write that has just been done. What the backend says of its values is
// how it keeps them, and nothing to take over.
type ownWrite struct {
	resource    adapter.Resource
	key         adapter.Key
	wholeRecord bool     // of the record, which is new
	attributes  []string // the attributes that it changed
	nested      []adapter.Resource
	written     adapter.Record // the record as it was written, of an update
}

// of reports whether an attribute of a record is what was written.
func (w *ownWrite) covers(r adapter.Resource, key adapter.Key, name string) bool {
	switch {
	case w == nil:
		return false
	case slices.Contains(w.nested, r):
		return true
	default:
		return w.resource == r && w.key == key && (w.wholeRecord || slices.Contains(w.attributes, name))
	}
}

// A merge brings the side up to date with one document.
type reconciliation struct {
	*Adapter
	root     *resourcePlan
	key      adapter.Key
	ownWrite *ownWrite // nil for none, or one that another process has undone
	mapping  Mapping
	oldBase  base
	// What becomes of it.
	newBase      base
	partMappings []Mapping // of parts
	changed      bool      // the side is another one than before
}

// merge brings the side up to date with a document of the entry's root, which is
// locked, and stores the entry without its note. by is the write that went before.
// It reports whether the side is another one than before.
func (a *Adapter) reconcile(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document, own *ownWrite) (Mapping, bool, error) {
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, false, err
	}
	if own, err = a.unlessUndone(ctx, own); err != nil {
		return mapping, false, err
	}
	m := &reconciliation{Adapter: a, root: root, key: mapping.Key, ownWrite: own, mapping: mapping, newBase: base{item: item.Record, parts: map[adapter.Resource][]Item{}}}
	if mapping.Base == nil {
		err = m.acceptDocument(ctx, parts)
	} else if m.oldBase, err = baseOf(root, mapping); err == nil {
		err = m.applyDocument(ctx, parts)
	}
	if err != nil {
		return mapping, m.changed, err
	}
	m.mapping.Version, m.mapping.Intent = doc.Version, nil
	if m.mapping, err = withBase(m.mapping, m.newBase); err != nil {
		return mapping, m.changed, err
	}
	err = a.replica.PutMappings(ctx, append(m.partMappings, m.mapping)...)
	if adapter.KindOf(err) == adapter.Conflict && len(m.partMappings) > 0 {
		// A part carries the legacy id of one, and has the id of another.
		a.warned.warn(a.log, "parts of a record are mapped otherwise than the backend says: check the ids", root.Resource, m.mapping.BackendID)
		err = a.replica.PutMappings(ctx, m.mapping)
	}
	return m.mapping, m.changed, err
}

// standing returns a write unless another process has undone it at the side meanwhile:
// it met the note before the backend had the write.
func (a *Adapter) unlessUndone(ctx context.Context, own *ownWrite) (*ownWrite, error) {
	if own == nil || own.written.Schema == nil {
		return own, nil
	}
	plan := a.plans[own.resource]
	is, err := plan.get(ctx, own.key)
	if err != nil {
		return nil, err
	}
	if len(a.changedAttributes(plan, own.written, is)) > 0 {
		return nil, nil
	}
	return own, nil
}

// accept makes the document the base.
func (m *reconciliation) acceptDocument(ctx context.Context, parts map[adapter.Resource][]Item) error {
	for _, plan := range m.root.parts {
		items, present := parts[plan.Resource]
		if !present {
			continue
		}
		m.newBase.parts[plan.Resource] = items
		if !plan.HasIDs || !slices.ContainsFunc(items, func(i Item) bool { return i.Key != 0 }) {
			continue
		}
		have, err := m.loadParts(ctx, plan)
		if err != nil {
			return err
		}
		for _, item := range items {
			have.bind(m, item)
		}
	}
	return nil
}

// takeOver stores at the side what the document says otherwise than the base.
func (m *reconciliation) applyDocument(ctx context.Context, parts map[adapter.Resource][]Item) error {
	said := m.newBase.item
	var err error
	if m.newBase.item, err = m.applyRecord(ctx, m.root, m.key, m.oldBase.item, said); err != nil {
		return err
	}
	for _, plan := range m.root.parts {
		items, present := parts[plan.Resource]
		was, had := m.oldBase.parts[plan.Resource]
		switch {
		case !present && had:
			m.newBase.parts[plan.Resource] = was
		case present && had && slices.EqualFunc(was, items, sameItem):
			m.newBase.parts[plan.Resource] = items
		case present:
			if m.newBase.parts[plan.Resource], err = m.applyParts(ctx, plan, was, items); err != nil {
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
func (m *reconciliation) applyRecord(ctx context.Context, plan *resourcePlan, key adapter.Key, was, backendValues adapter.Record) (adapter.Record, error) {
	values, changed := adapter.NewRecord(plan.schema), false
	for i, v := range backendValues.Values {
		name := plan.schema.Attributes[i].Name
		if v.Kind() == adapter.Absent || !plan.importable[i] || sameValue(v, was.Values[i]) || m.ownWrite.covers(plan.Resource, key, name) {
			continue
		}
		values.Values[i], changed = v, true
	}
	if !changed {
		return backendValues, nil
	}
	refused, err := m.putAccepted(ctx, plan, key, values)
	is := backendValues.Clone()
	for _, at := range refused {
		is.Values[at] = was.Values[at]
	}
	return is, err
}

// put stores values at the side. What the side refuses is left out, and its places
// are returned.
func (m *reconciliation) putAccepted(ctx context.Context, plan *resourcePlan, key adapter.Key, values adapter.Record) (refused []int, err error) {
	changed, err := plan.putValues(ctx, m.replica, key, 0, values)
	m.changed = m.changed || changed
	if changed {
		m.metrics.countReconciled(plan.Resource)
	}
	if adapter.KindOf(err) == adapter.NotFound {
		return nil, nil // its entry is behind, and nobody sees it
	}
	if err == nil || !isRefusal(err) {
		return nil, err
	}
	var at []int
	for i, v := range values.Values {
		if v.Kind() != adapter.Absent {
			at = append(at, i)
		}
	}
	if len(at) == 1 {
		m.metrics.countRefused(plan.Resource)
		m.log.Warn("a value of the backend is not taken over: change it there", "resource", plan.Resource, "id", key, "attribute", plan.schema.Attributes[at[0]].Name, "kind", adapter.KindOf(err).String())
		return at, nil
	}
	for _, i := range at {
		one := adapter.NewRecord(plan.schema)
		one.Values[i] = values.Values[i]
		some, err := m.putAccepted(ctx, plan, key, one)
		if err != nil {
			return nil, err
		}
		refused = append(refused, some...)
	}
	return refused, nil
}

var errNoChange = errors.New("nothing to do")

// put stores values of a record at a level of the side, if the side has not got them
// already.
func (plan *resourcePlan) putValues(ctx context.Context, replica Replica, key adapter.Key, storeID int64, values adapter.Record) (changed bool, err error) {
	var onDemand []string
	present := false
	for i, v := range values.Values {
		present = present || v.Kind() != adapter.Absent
		if v.Kind() != adapter.Absent && plan.schema.Attributes[i].OnDemand {
			onDemand = append(onDemand, plan.schema.Attributes[i].Name)
		}
	}
	if !present {
		return false, nil
	}
	news := func(current adapter.Record) (adapter.Record, bool) {
		change, any := adapter.NewRecord(plan.schema), false
		for i, v := range values.Values {
			if v.Kind() != adapter.Absent && !matches(current.Values[i], v) {
				change.Values[i], any = writable(v), true
			}
		}
		return change, any
	}
	if plan.readOnly {
		current, err := plan.store.Get(ctx, &adapter.GetParams{Key: key})
		if err != nil {
			return false, err
		}
		change, any := news(current)
		if !any {
			return false, nil
		}
		return true, replica.UpdateReadOnly(ctx, plan.Resource, key, change)
	}
	err = plan.store.Update(ctx, &adapter.UpdateParams{Key: key, StoreID: storeID, With: onDemand, Change: func(current adapter.Record) (adapter.Record, error) {
		change, any := news(current)
		if !any {
			return change, errNoChange
		}
		for i, v := range current.Values { // what is null stays null only when it is said again
			a := &plan.schema.Attributes[i]
			if v.Kind() == adapter.Null && plan.Resource != adapter.ProductImages && change.Values[i].Kind() == adapter.Absent && !a.ReadOnly && !a.Fixed && !a.OnDemand {
				change.Values[i] = v
			}
		}
		return change, nil
	}})
	if errors.Is(err, errNoChange) {
		return false, nil
	}
	return err == nil, err
}
