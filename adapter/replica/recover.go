package replica

import (
	"context"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// resolveCreates resolves the intents of creating roots. A root whose intent cannot be
// resolved stays invisible.
func (rc *reconciler) resolveCreates(ctx context.Context, root *resourcePlan, rows []row) error {
	for _, r := range rows {
		if r.mapping == nil || r.mapping.BackendID != "" || r.mapping.Intent == nil {
			continue
		}
		resolved, err := rc.resolveCreate(ctx, root, *r.mapping)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			rc.log.Warn("the creation of a record cannot be resolved now; the next scan tries again", "resource", root.Resource, "id", r.key, "error", err)
		default:
			*r.mapping = resolved
		}
	}
	return nil
}

// resolveCreate resolves the intent of creating a root: if the backend has the record, its
// mapping gets the backend id; otherwise the record is deleted from the local replica. The
// returned mapping has no backend id where the outcome is unknown or the record was
// deleted. The caller holds the root's lock.
func (rc *reconciler) resolveCreate(ctx context.Context, root *resourcePlan, mapping Mapping) (Mapping, error) {
	intent, err := decodeIntent(mapping)
	if err != nil {
		return mapping, err
	}
	doc, err := rc.backend.FindByKey(ctx, root.Resource, mapping.Key)
	switch {
	case err == nil:
		return rc.completeCreate(ctx, root, mapping, doc)
	case adapter.KindOf(err) == adapter.NotFound:
		if rc.isForeign(mapping) {
			return mapping, nil
		}
		mapping.Intent = nil
		if intent.Op == opPush {
			return mapping, rc.replica.DeleteMapping(ctx, root.Resource, mapping.Key)
		}
		return mapping, rc.deleteWithMapping(ctx, root, mapping.Key)
	case adapter.KindOf(err) == adapter.Unsupported:
		rc.warned.warn(rc.log, "whether the backend created a record is unknown: import its id if the backend has it", root.Resource, fmt.Sprintf("legacy id %d", mapping.Key))
		return mapping, nil
	default:
		return mapping, err
	}
}

// completeCreate completes the mapping of a root with the document that its creation
// produced. The mapping keeps no backend id where the document is already mapped to another
// record. The caller holds the root's lock.
func (rc *reconciler) completeCreate(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document) (Mapping, error) {
	mapping.BackendID, mapping.Intent = doc.ID, nil
	mapping, err := rc.reconcile(ctx, root, mapping, doc, nil)
	if adapter.KindOf(err) == adapter.Conflict {
		rc.warned.warn(rc.log, "a record of the backend carries another record's legacy id: correct it at the backend", root.Resource, doc.ID)
		mapping.BackendID = ""
		return mapping, nil
	}
	return mapping, err
}

// deleteFromReplica deletes a record from the local replica, at all levels. It succeeds
// when there is none.
func (rc *reconciler) deleteFromReplica(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	var err error
	if plan.readOnly {
		err = rc.replica.DeleteReadOnly(ctx, plan.Resource, key)
	} else {
		err = plan.store.Delete(ctx, &adapter.DeleteParams{Key: key, Everywhere: true})
	}
	if adapter.KindOf(err) == adapter.NotFound {
		return nil
	}
	return err
}

// deleteWithMapping deletes a record from the local replica, then its mapping.
func (rc *reconciler) deleteWithMapping(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	if err := rc.deleteFromReplica(ctx, plan, key); err != nil {
		return err
	}
	return rc.replica.DeleteMapping(ctx, plan.Resource, key)
}

// resolveIntent resolves the write intent of a mapping: it compares the root's current
// document with the intent and completes the write in the local replica or rolls it back.
// The caller clears the intent by reconciling the document, nil if the backend has none,
// and holds the root's lock.
func (rc *reconciler) resolveIntent(ctx context.Context, root *resourcePlan, mapping Mapping, doc *Document) error {
	intent, err := decodeIntent(mapping)
	if err != nil {
		return err
	}
	plan := rc.plans[intent.Resource]
	switch {
	case doc == nil && intent.Op == opDelete && plan == root:
		return rc.deleteWithMapping(ctx, root, mapping.Key)
	case doc == nil || plan == nil:
		return nil
	}
	item, parts, err := doc.Read(ctx)
	switch {
	case err != nil:
		return err
	case intent.Op == opUpdate:
		return rc.resolveUpdate(ctx, root, mapping, intent, item, parts)
	case plan.isRoot():
		return nil
	case intent.Op == opDelete:
		return rc.resolvePartDelete(ctx, plan, mapping, intent, parts)
	default:
		return rc.resolvePartCreate(ctx, plan, mapping, intent, parts)
	}
}

// resolveUpdate rolls an update back unless the backend has done it. It has if the document
// differs from the base in any attribute that the update sets. Reconciling the document
// afterwards takes over the backend's values.
func (rc *reconciler) resolveUpdate(ctx context.Context, root *resourcePlan, mapping Mapping, intent writeIntent, item Item, parts map[adapter.Resource][]Item) error {
	if mapping.Base != nil {
		oldBase, err := baseOf(root, mapping)
		if err != nil {
			return err
		}
		plan := rc.plans[intent.Resource]
		inBase, inDocument := oldBase.item, item.Record
		if !plan.isRoot() {
			existing, err := rc.loadParts(ctx, plan, mapping.Key)
			if err != nil {
				return err
			}
			inBase, _ = existing.recordAmong(oldBase.parts[plan.Resource], intent.Key)
			inDocument, _ = existing.recordAmong(parts[plan.Resource], intent.Key)
		}
		for _, name := range intent.Attributes {
			at, ok := plan.schema.Index(name)
			if ok && inDocument.Values[at].Kind() != adapter.Absent && !sameValue(inBase.Values[at], inDocument.Values[at]) {
				return nil
			}
		}
		for _, r := range rc.nestedResources(plan, intent.Attributes) {
			if items, present := parts[r]; present && !slices.EqualFunc(oldBase.parts[r], items, sameItem) {
				return nil
			}
		}
	}
	return rc.rollBack(ctx, intent)
}

// resolvePartDelete deletes a part from the local replica if the backend has it no longer,
// and otherwise rolls the delete back.
func (rc *reconciler) resolvePartDelete(ctx context.Context, plan *resourcePlan, mapping Mapping, intent writeIntent, parts map[adapter.Resource][]Item) error {
	items, present := parts[plan.Resource]
	existing, err := rc.loadParts(ctx, plan, mapping.Key)
	if err != nil || !present {
		return err
	}
	if _, exists := existing.recordAmong(items, intent.Key); exists {
		return rc.rollBack(ctx, intent)
	}
	return rc.deleteWithMapping(ctx, plan, intent.Key)
}

// resolvePartCreate keeps the new parts that the backend has, and deletes those that it
// does not have or that cannot be matched; reconciling then imports the document's part.
func (rc *reconciler) resolvePartCreate(ctx context.Context, plan *resourcePlan, mapping Mapping, intent writeIntent, parts map[adapter.Resource][]Item) error {
	existing, err := rc.loadParts(ctx, plan, mapping.Key)
	if err != nil {
		return err
	}
	for key := range existing.records {
		_, existedBefore := intent.Siblings[key]
		if intent.Op == opPush && key != intent.Key || intent.Op == opCreate && existedBefore || existing.ids[key] != "" {
			continue
		}
		found := slices.IndexFunc(parts[plan.Resource], func(i Item) bool {
			if plan.HasIDs {
				return i.Key == key && i.ID != "" && existing.byID[i.ID] == 0
			}
			return existing.find(i) == key
		})
		switch {
		case found >= 0 && plan.HasIDs:
			err = rc.replica.PutMappings(ctx, partMapping(plan, key, parts[plan.Resource][found].ID, mapping.Key))
		case found < 0 && intent.Op == opCreate:
			undone := intent
			undone.Key = key
			err = rc.rollBack(ctx, undone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
