package replica

import (
	"context"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// Views are the values of one record at store views, by the legacy id of the store view: of the attributes
// in [BackendResource.ViewAttributes] that are not absent. Null means that the store view inherits the value
// of the default scope; an empty text is a value of its own.
type Views map[adapter.Key]adapter.Record

// A ViewWrite is a change of a record's values at one store view.
type ViewWrite struct {
	Store    adapter.Key    // the legacy id of the store view
	Old, New adapter.Record // before and after the write, as in Views, with all ViewAttributes
	Changed  []string       // the attributes that differ
}

type withoutViewsKey struct{}

// withoutViews returns a context in which [Document.Read] leaves [Item.Views] nil.
func withoutViews(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutViewsKey{}, true)
}

// ReadsViews reports whether [Document.Read] is to return the values at store views, which may take a request for each
// of them.
func ReadsViews(ctx context.Context) bool { return ctx.Value(withoutViewsKey{}) == nil }

// isViewed reports whether the backend owns the values that an attribute has at store views.
func (plan *resourcePlan) isViewed(name string) bool {
	return slices.Contains(plan.ViewAttributes, name)
}

// owns reports whether the backend owns the value that a write sets at a store view, 0 for the default scope.
func (plan *resourcePlan) owns(a *adapter.Attribute, storeID int64) bool {
	if storeID == 0 || a.Scope == adapter.ScopeGlobal {
		return slices.Contains(plan.Attributes, a.Name)
	}
	return plan.isViewed(a.Name)
}

// storedViews returns the values that a record of the local replica has at store views, as in Views, for the store
// views that have any value of their own. It returns nil if the backend owns no such values.
func (rc *reconciler) storedViews(ctx context.Context, plan *resourcePlan, key adapter.Key) (Views, error) {
	if len(plan.ViewAttributes) == 0 {
		return nil, nil
	}
	exported, err := rc.replica.Export(ctx, plan.Resource, key-1, 1)
	if err != nil || len(exported) == 0 || exported[0].Record.Key() != key {
		return nil, err
	}
	all := Views{}
	for _, level := range exported[0].Levels {
		if level.StoreID == 0 || level.Record.Schema.Resource != plan.Resource {
			continue
		}
		all[adapter.Key(level.StoreID)] = plan.viewOf(level.Record)
	}
	return all, nil
}

// viewOf returns the values of a record that holds all values of its own at a store view, as in Views.
func (plan *resourcePlan) viewOf(own adapter.Record) adapter.Record {
	view := adapter.NewRecord(plan.schema)
	for _, name := range plan.ViewAttributes {
		v := adapter.NullValue()
		if own.Schema != nil {
			switch v = own.Get(name); v.Kind() {
			case adapter.Absent:
				v = adapter.NullValue()
			case adapter.Null:
				v = adapter.TextValue("")
			}
		}
		view.Set(name, v)
	}
	return view
}

// viewWrites returns the differences between the values at store views before and after a write, sorted by
// store view.
func (plan *resourcePlan) viewWrites(before, after Views) (writes []ViewWrite) {
	stores := maps.Clone(before)
	if stores == nil {
		stores = Views{}
	}
	maps.Copy(stores, after)
	for _, store := range slices.Sorted(maps.Keys(stores)) {
		w := ViewWrite{Store: store, Old: before[store], New: after[store]}
		for _, r := range []*adapter.Record{&w.Old, &w.New} {
			if r.Schema == nil {
				*r = plan.viewOf(adapter.Record{})
			}
		}
		w.Changed = differing(w.Old, w.New, func(int) bool { return true })
		if len(w.Changed) > 0 {
			writes = append(writes, w)
		}
	}
	return writes
}

// inheriting returns views in which some attributes inherit the default scope.
func (plan *resourcePlan) inheriting(views Views, attributes []string) Views {
	all := Views{}
	for store, r := range views {
		all[store] = r.Clone()
		for _, name := range attributes {
			if plan.isViewed(name) {
				all[store].Set(name, adapter.NullValue())
			}
		}
	}
	return all
}

// mergeViews merges the values at store views, and returns their new base. A store view that the base does not
// know keeps its own values in the local replica where the document inherits.
func (m *merge) mergeViews(ctx context.Context, document Views) (Views, error) {
	newBase := Views{}
	for _, store := range slices.Sorted(maps.Keys(document)) {
		old, known := m.base.Views[store]
		if !known {
			old = m.root.viewOf(adapter.Record{})
		}
		shown := document[store]
		values := adapter.NewRecord(m.root.schema)
		for i, v := range shown.Values {
			name := m.root.schema.Attributes[i].Name
			switch {
			case v.Kind() == adapter.Absent, !m.root.canImport(i), same(v, old.Values[i]), m.coversView(store, name):
			case v.Kind() == adapter.Null:
				values.Values[i] = adapter.UnsetValue()
			default:
				values.Values[i] = v
			}
		}
		newBase[store] = shown
		if len(present(values)) == 0 {
			continue
		}
		refused, err := m.putAccepted(ctx, m.root, m.key, int64(store), values)
		if err != nil {
			return nil, err
		}
		newBase[store] = shown.Clone()
		for _, name := range refused {
			newBase[store].Set(name, old.Get(name))
		}
	}
	return newBase, nil
}

// coversView reports whether the value of an attribute at a store view was written by m.own.
func (m *merge) coversView(store adapter.Key, name string) bool {
	return slices.ContainsFunc(m.own, func(own *Write) bool {
		return own.Resource == m.root.Resource && own.Key == m.key && slices.ContainsFunc(own.Views, func(view ViewWrite) bool {
			return view.Store == store && slices.Contains(view.Changed, name)
		})
	})
}

// hasOwn reports whether a store view has a value of its own.
func (v Views) hasOwn() bool {
	for _, r := range v {
		if slices.ContainsFunc(r.Values, func(v adapter.Value) bool { return v.Kind() != adapter.Absent && v.Kind() != adapter.Null }) {
			return true
		}
	}
	return false
}
