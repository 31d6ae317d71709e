package replica

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A merge is a three-way merge of one root and its parts: it stores in the local replica the values in
// which the document differs from the base. Values that the backend has not changed stay unchanged in the
// replica.
type merge struct {
	*reconciler
	root *resourcePlan
	key  adapter.Key
	base base
	// accepts: the base was unknown, and is the document itself. Only parts that carry a legacy
	// id and have no mapping yet are mapped.
	accepts bool
	// own are the writes that have led to the document. The document then shows how the backend stored the
	// written values, possibly less exactly, so they are not applied.
	own []*Write
	// pushed is the part whose push was interrupted, perhaps after the backend had created it. The document then
	// shows how the backend stored the values, as with own.
	pushed intent
	// partMappings are new mappings of parts.
	partMappings []idmap.Mapping
}

// covers reports whether an attribute of a record was written by m.own.
func (m *merge) covers(plan *resourcePlan, key adapter.Key, name string) bool {
	return slices.ContainsFunc(m.own, func(own *Write) bool {
		if own.Resource == plan.Resource {
			return own.Key == key && slices.Contains(own.Changed, name)
		}
		return slices.ContainsFunc(own.Changed, func(name string) bool { return m.plans[own.Resource].nested(name) == plan })
	})
}

// document merges a document, and returns the new base. The new base keeps the old values where the
// document has no list of a resource's parts, and where the replica refuses the new ones.
func (m *merge) document(ctx context.Context, item Item, parts map[adapter.Resource][]Item) (base, error) {
	newBase := base{Parts: map[adapter.Resource][]Item{}, Unresolved: item.Unresolved}
	var err error
	if newBase.Item, err = m.record(ctx, m.root, m.key, m.base.Item, item.Record); err != nil {
		return base{}, err
	}
	if newBase.Views = m.base.Views; item.Views != nil {
		if newBase.Views, err = m.mergeViews(ctx, item.Views); err != nil {
			return base{}, err
		}
	}
	for _, plan := range m.root.parts {
		items, present := parts[plan.Resource]
		old, known := m.base.Parts[plan.Resource]
		switch {
		case !present && !known:
			continue
		case !present:
			items = old
		case !known || !slices.EqualFunc(old, items, sameItem) || m.accepts && plan.HasIDs:
			if items, err = m.parts(ctx, plan, old, items); err != nil {
				return base{}, err
			}
		}
		newBase.Parts[plan.Resource] = items
	}
	return newBase, nil
}

func sameItem(i, j Item) bool { return i.ID == j.ID && sameRecords(i.Record, j.Record) }

// record merges one record of the document. It returns the new base: the document's values, except that
// values refused by the replica keep their old base, so that the next document tries them again.
func (m *merge) record(ctx context.Context, plan *resourcePlan, key adapter.Key, old, document adapter.Record) (adapter.Record, error) {
	values, changed := adapter.NewRecord(plan.schema), false
	for i, v := range document.Values {
		name := plan.schema.Attributes[i].Name
		if v.Kind() == adapter.Absent || !plan.canImport(i) || same(v, old.Values[i]) || m.covers(plan, key, name) {
			continue
		}
		values.Values[i], changed = v, true
	}
	if !changed {
		return document, nil
	}
	refused, err := m.putAccepted(ctx, plan, key, 0, values)
	newBase := document.Clone()
	for _, name := range refused {
		newBase.Set(name, old.Get(name))
	}
	return newBase, err
}

// putAccepted stores values at a store view, 0 for the default scope, in the local replica, except the ones
// that it refuses. It returns the attributes of the refused values.
func (m *merge) putAccepted(ctx context.Context, plan *resourcePlan, key adapter.Key, storeID int64, values adapter.Record) (refused []string, err error) {
	changed, err := plan.localRecords().PutValues(ctx, m.replica, key, storeID, values)
	if changed {
		m.metrics.Reconciled.Count(plan.Resource)
	}
	if err == nil || adapter.KindOf(err) == adapter.NotFound { // the record is gone from the replica and not visible
		return nil, nil
	}
	if !adapter.IsRefusal(err) {
		return nil, err
	}
	names := present(values)
	if len(names) == 1 {
		m.refusals.Value(plan.Resource, key, names[0], err)
		return names, nil
	}
	for _, name := range names {
		single := adapter.NewRecord(plan.schema)
		single.Set(name, values.Get(name))
		more, err := m.putAccepted(ctx, plan, key, storeID, single)
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	return refused, nil
}

// parts merges the parts of one resource, and returns their new base.
func (m *merge) parts(ctx context.Context, plan *resourcePlan, oldItems, newItems []Item) ([]Item, error) {
	parts, err := m.loadParts(ctx, plan, m.key)
	if err != nil {
		return nil, err
	}
	oldByIdentity := map[string]Item{}
	for _, item := range oldItems {
		oldByIdentity[plan.itemIdentity(item)] = item
	}
	newBase := make([]Item, 0, len(newItems))
	seen := map[string]bool{"": true}
	for _, item := range newItems {
		identity := plan.itemIdentity(item)
		if seen[identity] {
			continue // it cannot be told apart from another one
		}
		seen[identity] = true
		old, known := oldByIdentity[identity]
		key := parts.find(item)
		if key == 0 && plan.HasIDs && item.Key != 0 {
			key = m.bind(parts, item)
		}
		if key == 0 && !known && m.isPushed(parts, item) {
			key = m.bind(parts, Item{Key: m.pushed.Key, ID: item.ID})
		}
		switch {
		case key != 0 && !known && m.pushed.Resource == plan.Resource && m.pushed.Key == key:
		case key != 0:
			if !known {
				old.Record = adapter.NewRecord(plan.schema)
			}
			if item.Record, err = m.record(ctx, plan, key, old.Record, item.Record); err != nil {
				return nil, err
			}
		case !known && plan.importsFile(item):
			m.pending.Add(m.root.Resource, m.key)
			continue
		case !known && plan.ImportsParts && !plan.schema.HasFile:
			imported, stored, err := m.importPart(ctx, plan, item, m.key)
			if err == nil && imported != 0 {
				item.Record, err = m.record(ctx, plan, imported, stored.Record, item.Record)
			}
			if err != nil {
				return nil, err
			}
			if imported == 0 {
				continue // the next document tries again
			}
		}
		newBase = append(newBase, item)
	}
	for _, item := range oldItems {
		if key := parts.find(item); key != 0 && !seen[plan.itemIdentity(item)] {
			if err := m.deletePart(ctx, plan, key); err != nil {
				return nil, err
			}
		}
	}
	return newBase, m.reorder(ctx, parts, oldItems, newBase)
}

// reorder sets the positions of the parts of a resource that has an order, if the document has them in
// another order than the base. It does nothing after a write of this process, which sets the order itself.
func (m *merge) reorder(ctx context.Context, parts *replicaParts, before, after []Item) (err error) {
	isOwn := func(own *Write) bool { return own.Resource == parts.Resource }
	if parts.OrderedBy == "" || slices.ContainsFunc(m.own, isOwn) || !reordered(convert(before, parts.itemIdentity), convert(after, parts.itemIdentity)) {
		return nil
	}
	for i, item := range after {
		position := adapter.NewRecord(parts.schema)
		position.Set(parts.OrderedBy, adapter.IntegerValue(int64(i+1)))
		if key := parts.find(item); key != 0 && err == nil {
			_, err = m.putAccepted(ctx, parts.resourcePlan, key, 0, position)
		}
	}
	return err
}

// isPushed reports whether an item that carries no legacy id is the part whose push was interrupted: it has all
// values of that part which the document shows.
func (m *merge) isPushed(parts *replicaParts, item Item) bool {
	record, exists := parts.records[m.pushed.Key]
	if m.pushed.Resource != parts.Resource || !parts.HasIDs || !exists || item.Key != 0 {
		return false
	}
	for i, v := range item.Record.Values {
		if parts.canImport(i) && !v.Empty() && !same(v, record.Values[i]) {
			return false
		}
	}
	return true
}

// bind maps the part whose legacy id an item carries to the item's id, unless either is
// mapped already. It returns the part's key; 0 if nothing was bound.
func (m *merge) bind(parts *replicaParts, item Item) adapter.Key {
	_, exists := parts.records[item.Key]
	if _, taken := parts.ids[item.Key]; !exists || taken || item.ID == "" || parts.byIdentity[item.ID] != 0 {
		return 0
	}
	parts.ids[item.Key], parts.byIdentity[item.ID] = item.ID, item.Key
	m.partMappings = append(m.partMappings, partMapping(parts.resourcePlan, item.Key, item.ID, m.key))
	return item.Key
}

// deletePart deletes a part that the backend no longer has.
func (m *merge) deletePart(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	err := m.deleteWithMapping(ctx, plan, key)
	switch {
	case err == nil:
		m.metrics.Reconciled.Count(plan.Resource)
	case adapter.IsRefusal(err):
		m.log.Warn("a part that the backend no longer has cannot be deleted", "resource", plan.Resource, "id", key, "error", err)
		return nil
	}
	return err
}

// A base is the content of a document when the local replica was last reconciled with it. Its JSON has
// an item, unlike idmap.EmptyBase.
type base struct {
	Item       adapter.Record
	Views      Views
	Parts      map[adapter.Resource][]Item
	Unresolved map[adapter.Resource][]string // as in backend.Item
}

// baseJSON is the JSON of a Base.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string      `json:"unresolved,omitempty"` // first, see UnresolvedIn
	Item       adapter.JSONRecord                 `json:"item"`
	Views      map[adapter.Key]adapter.JSONRecord `json:"views,omitempty"`
	Parts      map[adapter.Resource][]partJSON    `json:"parts,omitempty"`
}

type partJSON struct {
	ID   string             `json:"id,omitempty"`
	Item adapter.JSONRecord `json:"item"`
}

// Encode returns the base as JSON.
func (b base) Encode() ([]byte, error) {
	out := baseJSON{Unresolved: b.Unresolved, Item: adapter.EncodeJSON(b.Item), Parts: map[adapter.Resource][]partJSON{}}
	if len(b.Views) > 0 {
		out.Views = make(map[adapter.Key]adapter.JSONRecord, len(b.Views))
	}
	for store, r := range b.Views {
		out.Views[store] = adapter.EncodeJSON(r)
	}
	for r, items := range b.Parts {
		out.Parts[r] = make([]partJSON, len(items))
		for i, item := range items {
			out.Parts[r][i] = partJSON{item.ID, adapter.EncodeJSON(item.Record)}
		}
	}
	return json.Marshal(out)
}

// decodeBase returns a base. root is the schema of its item, and parts the schemas of its parts:
// resources and attributes that the schemas no longer have are left out.
func decodeBase(encoded []byte, root *adapter.Schema, parts map[adapter.Resource]*adapter.Schema) (base, error) {
	var in baseJSON
	err := adapter.UnmarshalJSON(encoded, &in)
	b := base{Parts: map[adapter.Resource][]Item{}, Unresolved: in.Unresolved}
	if err == nil {
		b.Item, err = in.Item.Decode(root)
	}
	if len(in.Views) > 0 {
		b.Views = make(Views, len(in.Views))
	}
	for store, r := range in.Views {
		if err == nil {
			b.Views[store], err = r.Decode(root)
		}
	}
	for r, items := range in.Parts {
		if parts[r] == nil || err != nil {
			continue
		}
		b.Parts[r] = make([]Item, len(items))
		for i, item := range items {
			b.Parts[r][i].ID = item.ID
			if b.Parts[r][i].Record, err = item.Item.Decode(parts[r]); err != nil {
				return b, err
			}
		}
	}
	return b, err
}

// unresolvedIn returns the unresolved references of a base without decoding the others. It
// is called for every document that is read.
func unresolvedIn(encoded []byte) map[adapter.Resource][]string {
	if !hasUnresolved(encoded) {
		return nil
	}
	var in struct {
		Unresolved map[adapter.Resource][]string `json:"unresolved"`
	}
	if err := json.Unmarshal(encoded, &in); err != nil {
		return nil // reconciling reports it
	}
	return in.Unresolved
}

// hasUnresolved reports whether a base, or its first idmap.BaseStart bytes, has unresolved
// references.
func hasUnresolved(encoded []byte) bool { return bytes.HasPrefix(encoded, []byte(`{"unresolved":`)) }

// same reports whether two values are equal.
func same(v, w adapter.Value) bool {
	if v.Kind() == adapter.Records && w.Kind() == adapter.Records {
		return slices.EqualFunc(v.Records(), w.Records(), sameRecords)
	}
	return v.Equal(w)
}

// sameRecords reports whether two records of one schema hold equal values.
func sameRecords(r, s adapter.Record) bool { return slices.EqualFunc(r.Values, s.Values, same) }

// matches reports whether the replica's value already agrees with the backend's. A value
// that is empty at the backend may be null or absent in the replica, and a nested record of
// the backend may lack attributes.
func matches(replicaValue, backendValue adapter.Value) bool {
	switch {
	case backendValue.Empty():
		return replicaValue.Empty()
	case backendValue.Kind() == adapter.Records && replicaValue.Kind() == adapter.Records:
		return slices.EqualFunc(replicaValue.Records(), backendValue.Records(), func(replicaRecord, backendValues adapter.Record) bool {
			for i, v := range backendValues.Values {
				if v.Kind() != adapter.Absent && !matches(replicaRecord.Values[i], v) {
					return false
				}
			}
			return true
		})
	default:
		return same(replicaValue, backendValue)
	}
}

// writable returns a value that a write accepts: nested records lose their read-only
// attributes.
func writable(v adapter.Value) adapter.Value {
	if v.Kind() != adapter.Records {
		return v
	}
	records := make([]adapter.Record, len(v.Records()))
	for i, r := range v.Records() {
		records[i] = r.Clone()
		for at, a := range r.Schema.Attributes {
			if a.ReadOnly || a.Fixed {
				records[i].Values[at] = adapter.Value{}
			}
		}
	}
	return adapter.RecordsValue(records)
}

// present returns the attributes whose values are not absent.
func present(r adapter.Record) (names []string) {
	for i, v := range r.Values {
		if v.Kind() != adapter.Absent {
			names = append(names, r.Schema.Attributes[i].Name)
		}
	}
	return names
}

// differing returns the attributes whose values differ between a document and a base. selected
// chooses the attributes to compare by their positions in the schema.
func differing(base, document adapter.Record, selected func(at int) bool) (names []string) {
	for i, v := range document.Values {
		if v.Kind() != adapter.Absent && selected(i) && !same(v, base.Values[i]) {
			names = append(names, document.Schema.Attributes[i].Name)
		}
	}
	return names
}
