package replica

import (
	"context"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// An ownWrite is a write that has just been done. The document then shows how the backend
// stored the written values, possibly less exactly, so they are not taken over.
type ownWrite struct {
	resource    adapter.Resource
	key         adapter.Key
	wholeRecord bool     // the record is new
	attributes  []string // those that the write changed
	nested      []adapter.Resource
}

// covers reports whether an attribute of a record was written by w.
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

// A reconciliation reconciles one root and its parts with one document.
type reconciliation struct {
	*Adapter
	root     *resourcePlan
	key      adapter.Key
	ownWrite *ownWrite // nil for none
	mapping  Mapping
	oldBase  base
	// The results.
	newBase      base
	partMappings []Mapping // new mappings of parts
	changed      bool      // the local replica was changed
}

// reconcile takes over what a document changed since the base, and stores the mapping with
// the new base and without its write intent. own is the write that led to the document; nil
// for none. It reports whether the local replica was changed. It returns errResolved if
// another process has resolved the intent of own. The caller holds the root's lock.
func (a *Adapter) reconcile(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document, own *ownWrite) (Mapping, bool, error) {
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, false, err
	}
	r := &reconciliation{Adapter: a, root: root, key: mapping.Key, ownWrite: own, mapping: mapping, newBase: base{item.Record, map[adapter.Resource][]Item{}, item.Unresolved}}
	if mapping.Base == nil {
		err = r.acceptDocument(ctx, parts)
	} else if r.oldBase, err = baseOf(root, mapping); err == nil {
		err = r.applyDocument(ctx, parts)
	}
	if err != nil {
		return mapping, r.changed, err
	}
	r.mapping.Version, r.mapping.Intent = doc.Version, nil
	if r.mapping, err = withBase(r.mapping, r.newBase); err != nil {
		return mapping, r.changed, err
	}
	err = r.putMappings(ctx, mapping.Intent, r.partMappings...)
	if adapter.KindOf(err) == adapter.Conflict && len(r.partMappings) > 0 {
		// A part carries the legacy id of one record and has the backend id of another.
		a.warned.warn(a.log, "the ID map and the backend disagree about parts of a record: run portico ids check", root.Resource, r.mapping.BackendID)
		err = r.putMappings(ctx, mapping.Intent)
	}
	return r.mapping, r.changed, err
}

// errResolved says that another process has resolved a write intent before its writer was
// done.
var errResolved = errors.New("another process has resolved the write intent")

// putMappings stores the mapping of the root and those of parts. The writer of an intent
// stores them only if the intent is still there: another process that found it before the
// backend had the write has rolled the write back in the local replica, so the new base
// would hide that the backend has it. A process that resolves an intent stores its result in
// any case, with the old base, so that the next comparison takes over what the writer did.
func (r *reconciliation) putMappings(ctx context.Context, intent []byte, parts ...Mapping) error {
	if r.ownWrite == nil || intent == nil {
		return r.replica.PutMappings(ctx, append(parts, r.mapping)...)
	}
	completed, err := r.replica.CompleteIntent(ctx, intent, r.mapping, parts...)
	if err == nil && !completed {
		err = errResolved
	}
	return err
}

// acceptDocument makes the document the base without taking over any value. It maps parts
// that carry a legacy id and have no mapping yet.
func (r *reconciliation) acceptDocument(ctx context.Context, parts map[adapter.Resource][]Item) error {
	for _, plan := range r.root.parts {
		items, present := parts[plan.Resource]
		if !present {
			continue
		}
		r.newBase.parts[plan.Resource] = items
		if !plan.HasIDs || !slices.ContainsFunc(items, func(i Item) bool { return i.Key != 0 }) {
			continue
		}
		existing, err := r.loadParts(ctx, plan)
		if err != nil {
			return err
		}
		for _, item := range items {
			existing.bind(r, item)
		}
	}
	return nil
}

// applyDocument stores in the local replica the values in which the document, a root in
// r.newBase and its parts, differs from r.oldBase, the last document that was reconciled.
// Values that the backend has not changed stay as they are in the replica. r.newBase keeps
// the old values where the document has no list of a resource's parts, and where the
// replica refuses the new ones.
func (r *reconciliation) applyDocument(ctx context.Context, parts map[adapter.Resource][]Item) error {
	document := r.newBase.item
	var err error
	if r.newBase.item, err = r.applyRecord(ctx, r.root, r.key, r.oldBase.item, document); err != nil {
		return err
	}
	for _, plan := range r.root.parts {
		items, present := parts[plan.Resource]
		oldItems, known := r.oldBase.parts[plan.Resource]
		switch {
		case !present && known:
			r.newBase.parts[plan.Resource] = oldItems
		case present && known && slices.EqualFunc(oldItems, items, sameItem):
			r.newBase.parts[plan.Resource] = items
		case present:
			if r.newBase.parts[plan.Resource], err = r.applyParts(ctx, plan, oldItems, items); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameItem(i, j Item) bool { return i.ID == j.ID && sameValues(i.Record, j.Record) }

// applyRecord stores in the local replica the values in which a record of the document
// differs from the base. It returns the new base: the document's values, except that those
// refused by the replica keep their old base, so that the next document tries them again.
func (r *reconciliation) applyRecord(ctx context.Context, plan *resourcePlan, key adapter.Key, baseValues, backendValues adapter.Record) (adapter.Record, error) {
	values, changed := adapter.NewRecord(plan.schema), false
	for i, v := range backendValues.Values {
		name := plan.schema.Attributes[i].Name
		if v.Kind() == adapter.Absent || !plan.importable[i] || sameValue(v, baseValues.Values[i]) || r.ownWrite.covers(plan.Resource, key, name) {
			continue
		}
		values.Values[i], changed = v, true
	}
	if !changed {
		return backendValues, nil
	}
	refused, err := r.putAccepted(ctx, plan, key, values)
	newBase := backendValues.Clone()
	for _, at := range refused {
		newBase.Values[at] = baseValues.Values[at]
	}
	return newBase, err
}

// putAccepted stores values in the local replica, except those that it refuses. It returns
// the attribute indexes of the refused ones.
func (r *reconciliation) putAccepted(ctx context.Context, plan *resourcePlan, key adapter.Key, values adapter.Record) (refused []int, err error) {
	changed, err := plan.putValues(ctx, r.replica, key, 0, values)
	r.changed = r.changed || changed
	if changed {
		r.metrics.countReconciled(plan.Resource)
	}
	if adapter.KindOf(err) == adapter.NotFound {
		return nil, nil // the record is gone from the replica and not visible
	}
	if err == nil || !isRefusal(err) {
		return nil, err
	}
	var indexes []int
	for i, v := range values.Values {
		if v.Kind() != adapter.Absent {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 1 {
		r.metrics.countRefused(plan.Resource)
		r.log.Warn("a value of the backend cannot be taken over: change it at the backend", "resource", plan.Resource, "id", key, "attribute", plan.schema.Attributes[indexes[0]].Name, "kind", adapter.KindOf(err).String())
		return indexes, nil
	}
	for _, i := range indexes {
		single := adapter.NewRecord(plan.schema)
		single.Values[i] = values.Values[i]
		more, err := r.putAccepted(ctx, plan, key, single)
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	return refused, nil
}

var errNoChange = errors.New("no change")

// putValues stores values of a record at a store view of the local replica, 0 for the
// default scope. It writes nothing, and reports false, if the replica has them already.
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
	changeOf := func(current adapter.Record) (adapter.Record, bool) {
		change, differs := adapter.NewRecord(plan.schema), false
		for i, v := range values.Values {
			if v.Kind() != adapter.Absent && !matches(current.Values[i], v) {
				change.Values[i], differs = writable(v), true
			}
		}
		return change, differs
	}
	if plan.readOnly {
		current, err := plan.store.Get(ctx, &adapter.GetParams{Key: key})
		if err != nil {
			return false, err
		}
		change, differs := changeOf(current)
		if !differs {
			return false, nil
		}
		return true, replica.UpdateReadOnly(ctx, plan.Resource, key, change)
	}
	err = plan.store.Update(ctx, &adapter.UpdateParams{Key: key, StoreID: storeID, With: onDemand, Change: func(current adapter.Record) (adapter.Record, error) {
		change, differs := changeOf(current)
		if !differs {
			return change, errNoChange
		}
		for i, v := range current.Values { // a value that is null stays null only if the change repeats it
			a := &plan.schema.Attributes[i]
			if v.Kind() == adapter.Null && !plan.schema.PerLevel && change.Values[i].Kind() == adapter.Absent && !a.ReadOnly && !a.Fixed && !a.OnDemand {
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
