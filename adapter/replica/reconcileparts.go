package replica

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// sideParts are the parts of one root and resource at the side.
type sideParts struct {
	*keeping
	records map[adapter.Key]adapter.Record
	byPlace map[string]adapter.Key
	ids     map[adapter.Key]string // of parts that have entries
	byID    map[string]adapter.Key
}

// partsAt reads the parts of a root at the side, and their entries.
func (a *Adapter) partsAt(ctx context.Context, k *keeping, root adapter.Key) (*sideParts, error) {
	records, err := k.partsOf(ctx, root, 0)
	if err != nil {
		return nil, err
	}
	p := &sideParts{keeping: k, records: map[adapter.Key]adapter.Record{}, byPlace: map[string]adapter.Key{}, ids: map[adapter.Key]string{}, byID: map[string]adapter.Key{}}
	for _, r := range records {
		p.records[keyOf(r)] = r
		if place, ok := k.place(r); ok {
			p.byPlace[place] = keyOf(r)
		}
	}
	if !k.HasIDs {
		return p, nil
	}
	entries, err := a.side.MappingsOfParts(ctx, k.root.Resource, root)
	for _, e := range entries {
		if _, there := p.records[e.Key]; e.Resource == k.Resource && there && e.BackendID != "" {
			p.ids[e.Key], p.byID[e.BackendID] = e.BackendID, e.Key
		}
	}
	return p, err
}

func (m *merge) partsAt(ctx context.Context, k *keeping) (*sideParts, error) {
	return m.Adapter.partsAt(ctx, k, m.key)
}

// find returns the key of the part that an item is; 0 for none.
func (p *sideParts) find(item Item) adapter.Key {
	if p.HasIDs {
		return p.byID[item.ID]
	}
	place, ok := p.place(item.Record)
	if !ok {
		return 0
	}
	return p.byPlace[place]
}

// link gives the part whose legacy id an item carries its entry, where it has none,
// and returns its key; 0 where there is no such part.
func (p *sideParts) link(m *merge, item Item) adapter.Key {
	_, there := p.records[item.Key]
	if _, taken := p.ids[item.Key]; !there || taken || item.ID == "" || p.byID[item.ID] != 0 {
		return 0
	}
	p.ids[item.Key], p.byID[item.ID] = item.ID, item.Key
	m.entries = append(m.entries, partEntry(p.keeping, item.Key, item.ID, m.key))
	return item.Key
}

// partEntry is the entry of a part.
func partEntry(k *keeping, key adapter.Key, id string, root adapter.Key) Mapping {
	return Mapping{Resource: k.Resource, Key: key, BackendID: id, Root: k.root.Resource, RootKey: root}
}

// itemPlace returns what tells an item from the others of its root; "" for one that
// cannot be told.
func (k *keeping) itemPlace(item Item) string {
	if k.HasIDs {
		if item.ID == "" {
			return ""
		}
		return "id " + item.ID
	}
	place, ok := k.place(item.Record)
	if !ok {
		return ""
	}
	return "place " + place
}

// takeParts brings the parts of one resource up to date with what a document says,
// and returns their new base.
func (m *merge) takeParts(ctx context.Context, k *keeping, was, says []Item) ([]Item, error) {
	have, err := m.partsAt(ctx, k)
	if err != nil {
		return nil, err
	}
	before := map[string]Item{}
	for _, item := range was {
		before[k.itemPlace(item)] = item
	}
	is := make([]Item, 0, len(says))
	seen := map[string]bool{"": true}
	for _, item := range says {
		place := k.itemPlace(item)
		if seen[place] {
			continue // it cannot be told from another one
		}
		seen[place] = true
		old, known := before[place]
		key := have.find(item)
		if key == 0 && k.HasIDs && item.Key != 0 {
			key = have.link(m, item)
		}
		switch {
		case key != 0:
			if !known {
				old.Record = adapter.NewRecord(k.schema)
			}
			if item.Record, err = m.take(ctx, k, key, old.Record, item.Record); err != nil {
				return nil, err
			}
		case !known && k.ImportsParts:
			adopted, err := m.adoptPart(ctx, k, item)
			if err != nil {
				return nil, err
			}
			if !adopted {
				continue // tried again with the next document
			}
		}
		is = append(is, item)
	}
	for _, item := range was {
		key := have.find(item)
		if seen[k.itemPlace(item)] || key == 0 {
			continue
		}
		if err := m.dropPart(ctx, k, key); err != nil {
			return nil, err
		}
	}
	return is, nil
}

// adoptPart stores a part that the backend has and the side has not.
func (m *merge) adoptPart(ctx context.Context, k *keeping, item Item) (bool, error) {
	entry := partEntry(k, item.Key, item.ID, m.key)
	_, err := m.side.ImportRecords(ctx, []ImportedRecord{{Mapping: entry, RootAttribute: k.RootAttribute, Record: k.adopted(item)}})
	switch {
	case err == nil:
		m.changed = true
		m.metrics.adopted(k.Resource)
		return true, nil
	case refused(err):
		m.metrics.left(k.Resource)
		m.log.Warn("a part of a record is not taken over from the backend", "resource", k.Resource, "of", m.key, "backend_id", item.ID, "error", err)
		return false, nil
	default:
		return false, err
	}
}

// adopted returns the record that an item becomes at the side.
func (k *keeping) adopted(item Item) adapter.Record {
	r := adapter.NewRecord(k.schema)
	for _, from := range []adapter.Record{item.Initial, item.Record} {
		for i, v := range from.Values {
			a := &k.schema.Attributes[i]
			if v.Kind() != adapter.Absent && a.Name != k.schema.Key && !a.WriteOnly && !k.apart[i] {
				r.Values[i] = v
			}
		}
	}
	return r
}

// dropPart removes a part that the backend no longer has.
func (m *merge) dropPart(ctx context.Context, k *keeping, key adapter.Key) error {
	err := m.remove(ctx, k, key)
	if err != nil && refused(err) {
		m.log.Warn("a part that the backend no longer has stays", "resource", k.Resource, "id", key, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	m.changed = true
	m.metrics.takenOver(k.Resource)
	return m.side.DeleteMapping(ctx, k.Resource, key)
}
