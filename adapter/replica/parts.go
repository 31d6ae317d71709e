package replica

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// replicaParts are the parts of one root and one resource in the local replica.
type replicaParts struct {
	*resourcePlan
	records    map[adapter.Key]adapter.Record
	ids        map[adapter.Key]string // of parts that have mappings
	byIdentity map[string]adapter.Key // see itemIdentity
}

// loadParts reads the parts of a root from the local replica, and their mappings.
func (rc *reconciler) loadParts(ctx context.Context, plan *resourcePlan, rootKey adapter.Key) (*replicaParts, error) {
	records, err := plan.listParts(ctx, rootKey, 0)
	if err != nil {
		return nil, err
	}
	parts := &replicaParts{resourcePlan: plan, records: map[adapter.Key]adapter.Record{}, ids: map[adapter.Key]string{}, byIdentity: map[string]adapter.Key{}}
	for _, r := range records {
		parts.records[r.Key()] = r
		if identity := plan.itemIdentity(Item{Record: r}); identity != "" {
			parts.byIdentity[identity] = r.Key()
		}
	}
	if !plan.HasIDs {
		return parts, nil
	}
	mappings, err := rc.replica.MappingsOfParts(ctx, plan.root.Resource, rootKey)
	for _, mapping := range mappings {
		if _, exists := parts.records[mapping.Key]; mapping.Resource == plan.Resource && exists && mapping.BackendID != "" {
			parts.ids[mapping.Key], parts.byIdentity[mapping.BackendID] = mapping.BackendID, mapping.Key
		}
	}
	return parts, err
}

// sorted returns the records, sorted by key.
func (parts *replicaParts) sorted() []adapter.Record {
	return slices.SortedFunc(maps.Values(parts.records), func(r, s adapter.Record) int { return cmp.Compare(r.Key(), s.Key()) })
}

// find returns the key of the part that an item describes; 0 for none.
func (parts *replicaParts) find(item Item) adapter.Key {
	return parts.byIdentity[parts.itemIdentity(item)]
}

// recordAmong returns the record of the item of a list that describes a part; an empty one
// if there is none.
func (parts *replicaParts) recordAmong(items []Item, key adapter.Key) adapter.Record {
	if i := slices.IndexFunc(items, func(i Item) bool { return parts.find(i) == key }); i >= 0 {
		return items[i].Record
	}
	return adapter.NewRecord(parts.schema)
}

// itemIdentity returns the text that identifies an item among the parts of its root: its
// id, or the values of MatchBy; "" for an item that cannot be identified.
func (plan *resourcePlan) itemIdentity(item Item) string {
	if plan.HasIDs {
		return item.ID
	}
	identity := "match"
	for _, name := range plan.MatchBy {
		v := item.Record.Get(name)
		if v.Empty() {
			return ""
		}
		identity += " " + strconv.Quote(v.Text())
	}
	return identity
}

// partMapping returns the mapping of a part.
func partMapping(plan *resourcePlan, key adapter.Key, id string, rootKey adapter.Key) idmap.Mapping {
	return idmap.Mapping{Resource: plan.Resource, Key: key, BackendID: id, Root: plan.root.Resource, RootKey: rootKey}
}

// importedPart returns the record to import for a part that only the backend has.
func (plan *resourcePlan) importedPart(item Item, rootKey adapter.Key) ImportedRecord {
	return ImportedRecord{Mapping: partMapping(plan, item.Key, item.ID, rootKey), Record: plan.importedRecord(item)}
}

// withNeededValues returns an item without its optional values, if merging can store them in the
// record later.
func (plan *resourcePlan) withNeededValues(item Item) Item {
	item.Record = item.Record.Clone()
	for i := range item.Record.Values {
		if plan.canImport(i) && !plan.schema.Attributes[i].Required {
			item.Record.Values[i] = adapter.Value{}
		}
	}
	return item
}

// importedRecord converts an item to a record of the local replica. In records of customers null means that a client
// has emptied a value (customers 3), so a new record has no value where the backend has null.
func (plan *resourcePlan) importedRecord(item Item) adapter.Record {
	r := adapter.NewRecord(plan.schema)
	skipNulls := plan.schema.DistinctNulls && plan.schema.Owner != ""
	for _, from := range []adapter.Record{item.Initial, item.Record} {
		for i, v := range from.Values {
			a := &plan.schema.Attributes[i]
			if v.Kind() != adapter.Absent && (v.Kind() != adapter.Null || !skipNulls) && a.Name != plan.schema.Key && !a.WriteOnly && !holdsParts(a) {
				r.Values[i] = v
			}
		}
	}
	return r
}
