package replica

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// sideParts are the parts of one root and resource at the side.
type replicaParts struct {
	*resourcePlan
	records    map[adapter.Key]adapter.Record
	byMatchKey map[string]adapter.Key
	ids        map[adapter.Key]string // of parts that have entries
	byID       map[string]adapter.Key
}

// partsAt reads the parts of a root at the side, and their entries.
func (a *Adapter) loadParts(ctx context.Context, plan *resourcePlan, root adapter.Key) (*replicaParts, error) {
	records, err := plan.listParts(ctx, root, 0)
	if err != nil {
		return nil, err
	}
	parts := &replicaParts{resourcePlan: plan, records: map[adapter.Key]adapter.Record{}, byMatchKey: map[string]adapter.Key{}, ids: map[adapter.Key]string{}, byID: map[string]adapter.Key{}}
	for _, r := range records {
		parts.records[keyOf(r)] = r
		if place, ok := plan.matchKey(r); ok {
			parts.byMatchKey[place] = keyOf(r)
		}
	}
	if !plan.HasIDs {
		return parts, nil
	}
	mappings, err := a.replica.MappingsOfParts(ctx, plan.root.Resource, root)
	for _, mapping := range mappings {
		if _, exists := parts.records[mapping.Key]; mapping.Resource == plan.Resource && exists && mapping.BackendID != "" {
			parts.ids[mapping.Key], parts.byID[mapping.BackendID] = mapping.BackendID, mapping.Key
		}
	}
	return parts, err
}

func (m *reconciliation) loadParts(ctx context.Context, plan *resourcePlan) (*replicaParts, error) {
	return m.Adapter.loadParts(ctx, plan, m.key)
}

// find returns the key of the part that an item is; 0 for none.
func (parts *replicaParts) find(item Item) adapter.Key {
	if parts.HasIDs {
		return parts.byID[item.ID]
	}
	place, ok := parts.matchKey(item.Record)
	if !ok {
		return 0
	}
	return parts.byMatchKey[place]
}

// link gives the part whose legacy id an item carries its entry, where it has none,
// and returns its key; 0 where there is no such part.
func (parts *replicaParts) bind(m *reconciliation, item Item) adapter.Key {
	_, exists := parts.records[item.Key]
	if _, taken := parts.ids[item.Key]; !exists || taken || item.ID == "" || parts.byID[item.ID] != 0 {
		return 0
	}
	parts.ids[item.Key], parts.byID[item.ID] = item.ID, item.Key
	m.partMappings = append(m.partMappings, partMapping(parts.resourcePlan, item.Key, item.ID, m.key))
	return item.Key
}

// partEntry is the entry of a part.
func partMapping(plan *resourcePlan, key adapter.Key, id string, root adapter.Key) Mapping {
	return Mapping{Resource: plan.Resource, Key: key, BackendID: id, Root: plan.root.Resource, RootKey: root}
}

// itemPlace returns what tells an item from the others of its root; "" for one that
// cannot be told.
func (plan *resourcePlan) itemIdentity(item Item) string {
	if plan.HasIDs {
		if item.ID == "" {
			return ""
		}
		return "id " + item.ID
	}
	place, ok := plan.matchKey(item.Record)
	if !ok {
		return ""
	}
	return "place " + place
}

// takeParts brings the parts of one resource up to date with what a document says,
// and returns their new base.
func (m *reconciliation) applyParts(ctx context.Context, plan *resourcePlan, was, newItems []Item) ([]Item, error) {
	parts, err := m.loadParts(ctx, plan)
	if err != nil {
		return nil, err
	}
	before := map[string]Item{}
	for _, item := range was {
		before[plan.itemIdentity(item)] = item
	}
	is := make([]Item, 0, len(newItems))
	seen := map[string]bool{"": true}
	for _, item := range newItems {
		place := plan.itemIdentity(item)
		if seen[place] {
			continue // it cannot be told from another one
		}
		seen[place] = true
		old, known := before[place]
		key := parts.find(item)
		if key == 0 && plan.HasIDs && item.Key != 0 {
			key = parts.bind(m, item)
		}
		switch {
		case key != 0:
			if !known {
				old.Record = adapter.NewRecord(plan.schema)
			}
			if item.Record, err = m.applyRecord(ctx, plan, key, old.Record, item.Record); err != nil {
				return nil, err
			}
		case !known && plan.ImportsParts:
			adopted, err := m.importPart(ctx, plan, item)
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
		key := parts.find(item)
		if seen[plan.itemIdentity(item)] || key == 0 {
			continue
		}
		if err := m.deletePart(ctx, plan, key); err != nil {
			return nil, err
		}
	}
	return is, nil
}

// adoptPart stores a part that the backend has and the side has not.
func (m *reconciliation) importPart(ctx context.Context, plan *resourcePlan, item Item) (bool, error) {
	mapping := partMapping(plan, item.Key, item.ID, m.key)
	_, err := m.replica.ImportRecords(ctx, []ImportedRecord{{Mapping: mapping, RootAttribute: plan.RootAttribute, Record: plan.importedRecord(item)}})
	switch {
	case err == nil:
		m.changed = true
		m.metrics.countImported(plan.Resource)
		return true, nil
	case isRefusal(err):
		m.metrics.countRefused(plan.Resource)
		m.log.Warn("a part of a record is not taken over from the backend", "resource", plan.Resource, "of", m.key, "backend_id", item.ID, "error", err)
		return false, nil
	default:
		return false, err
	}
}

// adopted returns the record that an item becomes at the side.
func (plan *resourcePlan) importedRecord(item Item) adapter.Record {
	r := adapter.NewRecord(plan.schema)
	for _, from := range []adapter.Record{item.Initial, item.Record} {
		for i, v := range from.Values {
			a := &plan.schema.Attributes[i]
			if v.Kind() != adapter.Absent && a.Name != plan.schema.Key && !a.WriteOnly && !plan.ownResource[i] {
				r.Values[i] = v
			}
		}
	}
	return r
}

// dropPart removes a part that the backend no longer has.
func (m *reconciliation) deletePart(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	err := m.deleteFromReplica(ctx, plan, key)
	if err != nil && isRefusal(err) {
		m.log.Warn("a part that the backend no longer has stays", "resource", plan.Resource, "id", key, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	m.changed = true
	m.metrics.countReconciled(plan.Resource)
	return m.replica.DeleteMapping(ctx, plan.Resource, key)
}
