package replica

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// replicaParts are the parts of one root and one resource in the local replica.
type replicaParts struct {
	*resourcePlan
	records    map[adapter.Key]adapter.Record
	byMatchKey map[string]adapter.Key
	ids        map[adapter.Key]string // of parts that have mappings
	byID       map[string]adapter.Key
}

// loadParts reads the parts of a root from the local replica, and their mappings.
func (a *Adapter) loadParts(ctx context.Context, plan *resourcePlan, rootKey adapter.Key) (*replicaParts, error) {
	records, err := plan.listParts(ctx, rootKey, 0)
	if err != nil {
		return nil, err
	}
	parts := &replicaParts{resourcePlan: plan, records: map[adapter.Key]adapter.Record{}, byMatchKey: map[string]adapter.Key{}, ids: map[adapter.Key]string{}, byID: map[string]adapter.Key{}}
	for _, r := range records {
		parts.records[keyOf(r)] = r
		if matchKey, ok := plan.matchKey(r); ok {
			parts.byMatchKey[matchKey] = keyOf(r)
		}
	}
	if !plan.HasIDs {
		return parts, nil
	}
	mappings, err := a.replica.MappingsOfParts(ctx, plan.root.Resource, rootKey)
	for _, mapping := range mappings {
		if _, exists := parts.records[mapping.Key]; mapping.Resource == plan.Resource && exists && mapping.BackendID != "" {
			parts.ids[mapping.Key], parts.byID[mapping.BackendID] = mapping.BackendID, mapping.Key
		}
	}
	return parts, err
}

func (r *reconciliation) loadParts(ctx context.Context, plan *resourcePlan) (*replicaParts, error) {
	return r.Adapter.loadParts(ctx, plan, r.key)
}

// find returns the key of the part that an item describes; 0 for none.
func (parts *replicaParts) find(item Item) adapter.Key {
	if parts.HasIDs {
		return parts.byID[item.ID]
	}
	matchKey, ok := parts.matchKey(item.Record)
	if !ok {
		return 0
	}
	return parts.byMatchKey[matchKey]
}

// bind maps the part whose legacy id an item carries to the item's id, unless either is
// mapped already. It returns the part's key; 0 if nothing was bound.
func (parts *replicaParts) bind(r *reconciliation, item Item) adapter.Key {
	_, exists := parts.records[item.Key]
	if _, taken := parts.ids[item.Key]; !exists || taken || item.ID == "" || parts.byID[item.ID] != 0 {
		return 0
	}
	parts.ids[item.Key], parts.byID[item.ID] = item.ID, item.Key
	r.partMappings = append(r.partMappings, partMapping(parts.resourcePlan, item.Key, item.ID, r.key))
	return item.Key
}

// partMapping returns the mapping of a part.
func partMapping(plan *resourcePlan, key adapter.Key, id string, rootKey adapter.Key) Mapping {
	return Mapping{Resource: plan.Resource, Key: key, BackendID: id, Root: plan.root.Resource, RootKey: rootKey}
}

// itemIdentity returns what identifies an item among the parts of its root; "" for an item
// that cannot be identified.
func (plan *resourcePlan) itemIdentity(item Item) string {
	if plan.HasIDs {
		if item.ID == "" {
			return ""
		}
		return "id " + item.ID
	}
	matchKey, ok := plan.matchKey(item.Record)
	if !ok {
		return ""
	}
	return "match " + matchKey
}

// applyParts reconciles the parts of one resource with the items of a document, and returns
// their new base.
func (r *reconciliation) applyParts(ctx context.Context, plan *resourcePlan, oldItems, newItems []Item) ([]Item, error) {
	parts, err := r.loadParts(ctx, plan)
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
			key = parts.bind(r, item)
		}
		switch {
		case key != 0:
			if !known {
				old.Record = adapter.NewRecord(plan.schema)
			}
			if item.Record, err = r.applyRecord(ctx, plan, key, old.Record, item.Record); err != nil {
				return nil, err
			}
		case !known && plan.ImportsParts:
			imported, err := r.importPart(ctx, plan, item)
			if err != nil {
				return nil, err
			}
			if !imported {
				continue // the next document tries again
			}
		}
		newBase = append(newBase, item)
	}
	for _, item := range oldItems {
		key := parts.find(item)
		if seen[plan.itemIdentity(item)] || key == 0 {
			continue
		}
		if err := r.deletePart(ctx, plan, key); err != nil {
			return nil, err
		}
	}
	return newBase, nil
}

// importPart imports a part that only the backend has. It reports false if the local
// replica refuses the part.
func (r *reconciliation) importPart(ctx context.Context, plan *resourcePlan, item Item) (bool, error) {
	mapping := partMapping(plan, item.Key, item.ID, r.key)
	_, err := r.replica.ImportRecords(ctx, []ImportedRecord{{Mapping: mapping, RootAttribute: plan.RootAttribute, Record: plan.importedRecord(item)}})
	switch {
	case err == nil:
		r.changed = true
		r.metrics.countImported(plan.Resource)
		return true, nil
	case isRefusal(err):
		r.metrics.countRefused(plan.Resource)
		r.log.Warn("a part of a record cannot be imported from the backend", "resource", plan.Resource, "of", r.key, "backend_id", item.ID, "error", err)
		return false, nil
	default:
		return false, err
	}
}

// importedRecord returns the record that an item becomes in the local replica.
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

// deletePart deletes a part that the backend no longer has.
func (r *reconciliation) deletePart(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	err := r.deleteWithMapping(ctx, plan, key)
	switch {
	case err == nil:
		r.changed = true
		r.metrics.countReconciled(plan.Resource)
	case isRefusal(err):
		r.log.Warn("a part that the backend no longer has cannot be deleted", "resource", plan.Resource, "id", key, "error", err)
		return nil
	}
	return err
}
