package replica

import (
	"context"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// importUnmapped imports a document that has no entry in the ID map, or counts it if no ids are
// to be allocated. It reports false for a document that a later scan must see again: a document
// that cannot be read, or that may belong to a record whose creation is not complete.
func (rc *reconciler) importUnmapped(ctx context.Context, root *resourcePlan, doc Document) (decided bool, err error) {
	item, parts, err := doc.Read(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		rc.log.WarnOnce("a record of the backend cannot be read: "+err.Error(), root.Resource, doc.ID)
		return false, nil
	}
	if item.Key != 0 {
		doc.Read = func(context.Context) (Item, map[adapter.Resource][]Item, error) { return item, parts, nil }
		return true, rc.bindByLegacyID(ctx, root, doc, item.Key)
	}
	withIntent, err := rc.replica.MappingsWithIntent(ctx, maxIntentsPerScan)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(withIntent, func(m idmap.Mapping) bool { return m.Resource == root.Resource && m.BackendID == "" }) {
		return false, nil
	}
	// A record created by this or another process has its mapping by now.
	mappings, err := rc.replica.MappingsByBackendID(ctx, root.Resource, []string{doc.ID})
	if err != nil || len(mappings) > 0 {
		return true, err
	}
	if !rc.allocateIDs {
		rc.refusals.Unmapped(root.Resource, doc.ID)
		return true, nil
	}
	key, complete, err := rc.importDocument(ctx, root, 0, doc, item, parts)
	if err != nil || key == 0 || complete {
		return true, err
	}
	unlock, err := rc.locks.Lock(ctx, root.Resource, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	return true, rc.reconcileOnce(ctx, root, []adapter.Key{key})
}

// bindByLegacyID handles an unmapped document that carries a legacy id: it completes a pending
// create, binds an existing record, or imports a new one.
func (rc *reconciler) bindByLegacyID(ctx context.Context, root *resourcePlan, doc Document, key adapter.Key) error {
	unlock, err := rc.locks.Lock(ctx, root.Resource, key)
	if err != nil {
		return err
	}
	defer unlock()
	bound, err := rc.rowOf(ctx, root, key)
	if err != nil {
		return err
	}
	if bound.mapping == nil {
		bound.mapping = &idmap.Mapping{Resource: root.Resource, Key: key, Base: []byte(idmap.EmptyBase)}
	}
	switch bound.mapping.BackendID {
	case "":
		bound.mapping.BackendID, bound.doc = doc.ID, &doc
		if _, err = rc.reconcileRow(ctx, root, &bound); err == nil {
			err = rc.noteChanged(ctx, root, []adapter.Key{key})
		}
	case doc.ID:
	default:
		rc.refusals.Duplicate(root.Resource, doc.ID)
	}
	return err
}

// importDocument imports a root that only the backend has, with its parts, under a legacy id, or
// under the next one for key 0. It returns the legacy id, 0 for a record that the local replica
// refuses. If the replica refuses a value, the record is still imported, with the values that it
// needs, and complete is false. Its mapping then has no version, so that reconciling the record
// applies the other values and reports the refused ones.
func (rc *reconciler) importDocument(ctx context.Context, root *resourcePlan, key adapter.Key, doc Document, item Item, parts map[adapter.Resource][]Item) (imported adapter.Key, complete bool, err error) {
	rc.refusals.LeftOut(root.Resource, doc.ID, item.LeftOut)
	parts = maps.Clone(parts)
	needed := map[adapter.Resource][]Item{}
	for _, plan := range root.parts {
		items, present := parts[plan.Resource]
		if !present {
			continue
		}
		parts[plan.Resource] = slices.DeleteFunc(slices.Clone(items), func(part Item) bool {
			return plan.importsFile(part) || rc.leavesOut(plan, part) // parts with files are imported afterwards
		})
		needed[plan.Resource] = convert(parts[plan.Resource], plan.withNeededValues)
	}
	views := item.Views.hasOwn() // only merging stores them
	if views {
		doc.Version = ""
	}
	imported, refusal := rc.storeDocument(ctx, root, key, doc, item, parts)
	if !adapter.IsRefusal(refusal) {
		return imported, !views, refusal
	}
	doc.Version = ""
	imported, err = rc.storeDocument(ctx, root, key, doc, root.withNeededValues(item), needed)
	if adapter.IsRefusal(err) && !root.schema.ReadOnly() { // an order without one of its lines is another order
		imported, err = rc.storeDocument(ctx, root, key, doc, root.withNeededValues(item), nil)
	}
	if adapter.IsRefusal(err) {
		rc.refusals.Import(root.Resource, doc.ID, refusal)
		return 0, false, nil
	}
	return imported, false, err
}

// storeDocument stores a root with its imported parts. It returns the legacy id of the root.
func (rc *reconciler) storeDocument(ctx context.Context, root *resourcePlan, key adapter.Key, doc Document, item Item, parts map[adapter.Resource][]Item) (adapter.Key, error) {
	mapping, err := withBase(idmap.Mapping{Resource: root.Resource, Key: key, BackendID: doc.ID, Version: doc.Version}, base{Item: item.Record, Parts: parts, Unresolved: item.Unresolved})
	if err != nil {
		return 0, err
	}
	records := []ImportedRecord{{Mapping: mapping, Record: root.importedRecord(item)}}
	for _, plan := range root.parts {
		if plan.ImportsParts && !plan.schema.HasFile {
			records = append(records, convert(parts[plan.Resource], func(part Item) ImportedRecord { return plan.importedPart(part, key) })...)
		}
	}
	if key, err = rc.importRecords(ctx, root, records...); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(root.parts, func(part *resourcePlan) bool { return part.ImportsParts && part.schema.HasFile }) {
		rc.pending.Add(root.Resource, key)
	}
	return key, rc.noteChanged(ctx, root, []adapter.Key{key})
}

// importPart imports a part that only the backend has, with the values that it needs if the replica refuses others.
// It returns the legacy id, 0 for a part that the replica refuses, and the item whose values it has.
func (rc *reconciler) importPart(ctx context.Context, plan *resourcePlan, item Item, rootKey adapter.Key) (adapter.Key, Item, error) {
	key, refusal := rc.importRecords(ctx, plan, plan.importedPart(item, rootKey))
	if !adapter.IsRefusal(refusal) {
		return key, item, refusal
	}
	needed := plan.withNeededValues(item)
	key, err := rc.importRecords(ctx, plan, plan.importedPart(needed, rootKey))
	if adapter.IsRefusal(err) {
		rc.refusals.Import(plan.Resource, item.ID, refusal)
		return 0, item, nil
	}
	return key, needed, err
}

// importRecords imports a root with its parts, or a part. It returns the legacy id of the first. An error that is a
// refusal says why the local replica does not store them.
func (rc *reconciler) importRecords(ctx context.Context, plan *resourcePlan, records ...ImportedRecord) (adapter.Key, error) {
	if lacking := adapter.Lacking(convert(records, func(r ImportedRecord) adapter.Record { return r.Record })...); lacking != nil {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: "import records", Err: Lacking(lacking)}
	}
	keys, err := rc.replica.ImportRecords(ctx, records)
	if err != nil {
		return 0, err
	}
	rc.metrics.Imported.Count(plan.Resource)
	return keys[0], nil
}

// leavesOut reports whether a new root is imported without a part, which needs a value that is left out: it counts
// and logs the part. No record that clients only read, such as an order, is imported without one of its parts.
func (rc *reconciler) leavesOut(plan *resourcePlan, part Item) bool {
	if !plan.ImportsParts || plan.schema.ReadOnly() || len(part.LeftOut) == 0 {
		return false
	}
	lacking := adapter.Lacking(plan.importedRecord(part))
	if lacking != nil {
		rc.refusals.Import(plan.Resource, part.ID, Lacking(lacking))
	}
	return lacking != nil
}

// importMapped imports a document whose mapping exists, such as one from an ID import, if
// the local replica does not have the record. It returns the row's mapping, nil if the
// replica does not have the record afterwards. The caller holds the root's lock.
func (rc *reconciler) importMapped(ctx context.Context, root *resourcePlan, r *row) (*idmap.Mapping, error) {
	if found, err := root.findRecords(ctx, []adapter.Key{r.key}); err != nil || len(found) > 0 {
		return r.mapping, err
	}
	item, parts, err := r.doc.Read(ctx)
	if err != nil {
		return nil, err
	}
	partMappings, err := rc.replica.MappingsOfParts(ctx, root.Resource, r.key)
	if err != nil {
		return nil, err
	}
	for _, part := range partMappings {
		items := parts[part.Resource]
		for i := range items {
			if items[i].ID == part.BackendID && part.BackendID != "" {
				items[i].Key = part.Key
			}
		}
	}
	if key, _, err := rc.importDocument(ctx, root, r.key, *r.doc, item, parts); err != nil || key == 0 {
		return nil, err
	}
	imported, err := rc.rowOf(ctx, root, r.key)
	return imported.mapping, err
}

// ImportIDs adds mappings to the ID map for records that both the local replica and the backend
// already have: see [idmap.Importer.Import]. The first read of an imported record applies the
// backend's values.
func (a *Adapter) ImportIDs(ctx context.Context, pairs []idmap.Pair, dryRun bool, progress func(done, total int)) (idmap.ImportResult, error) {
	if err := a.checkOpen("import ids"); err != nil {
		return idmap.ImportResult{}, err
	}
	importer := idmap.Importer{
		Map: a.replica,
		Resources: convert(a.ordered, func(plan *resourcePlan) idmap.Resource {
			return idmap.Resource{Name: plan.Resource, Root: plan.Root, HasMappings: plan.hasMappings()}
		}),
		FindRecords: func(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
			return a.plans[r].findRecords(ctx, keys)
		},
	}
	return importer.Import(ctx, pairs, dryRun, progress)
}
