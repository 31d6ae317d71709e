package replica

import (
	"context"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// settleCreated finds out about a root that was being created: it is at the backend
// and gets its id, or it is not, and then it is removed. The entry returned has no id
// where that is not known, or the record not there. The root is locked.
func (a *Adapter) resolveCreate(ctx context.Context, root *resourcePlan, mapping Mapping) (Mapping, error) {
	intent, err := decodeIntent(mapping)
	if err != nil {
		return mapping, err
	}
	doc, err := a.backend.FindByKey(ctx, root.Resource, mapping.Key)
	switch {
	case err == nil:
		return a.completeCreate(ctx, root, mapping, doc)
	case adapter.KindOf(err) == adapter.NotFound:
		if intent.Writer != a.instanceID && time.Since(mapping.ChangedAt) < a.foreignIntentAge {
			return mapping, nil // another process may be at it
		}
		if intent.Op == opCreate {
			if err := a.deleteFromReplica(ctx, root, mapping.Key); err != nil {
				return mapping, err
			}
		}
		mapping.Intent = nil
		return mapping, a.replica.DeleteMapping(ctx, root.Resource, mapping.Key)
	case adapter.KindOf(err) == adapter.Unsupported:
		a.warned.warn(a.log, "a record may have been created or not: import its id if the backend has it", root.Resource, mapping.keyForLog())
		return mapping, nil
	default:
		return mapping, err
	}
}

// made completes the entry of a root with the document that its creation has made. The
// root is locked. The entry has no id where the document is another root's.
func (a *Adapter) completeCreate(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document) (Mapping, error) {
	mapping.BackendID, mapping.Intent = doc.ID, nil
	mapping, _, err := a.reconcile(ctx, root, mapping, doc, nil)
	if adapter.KindOf(err) == adapter.Conflict {
		a.warned.warn(a.log, "a record of the backend carries the legacy id of another one: correct it there", root.Resource, doc.ID)
		mapping.BackendID = ""
		return mapping, nil
	}
	return mapping, err
}

// remove deletes a record at the side, if it is there, at all levels.
func (a *Adapter) deleteFromReplica(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	if plan.readOnly {
		err := a.replica.DeleteReadOnly(ctx, plan.Resource, key)
		if adapter.KindOf(err) == adapter.NotFound {
			return nil
		}
		return err
	}
	storeIDs := []int64{0}
	if plan.Resource == adapter.ProductImages { // it stays as long as a level uses it
		views, err := a.storeViews(ctx)
		if err != nil {
			return err
		}
		storeIDs = append(storeIDs, views...)
	}
	for _, storeID := range storeIDs {
		err := plan.store.Delete(ctx, &adapter.DeleteParams{Key: key, StoreID: storeID})
		if adapter.KindOf(err) == adapter.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// views returns all store views.
func (a *Adapter) storeViews(ctx context.Context) ([]int64, error) {
	stores, err := a.replica.Store(adapter.Stores)
	if err != nil {
		return nil, err
	}
	found, err := stores.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	views := make([]int64, len(found.Records))
	for i, r := range found.Records {
		views[i] = int64(keyOf(r))
	}
	return views, nil
}

// settle finds out about the write that a note is of, by the document of the root as
// it now is, and makes the side follow. The note still stands in the entry, which is
// stored without it once the document is compared; or the entry has no id any more
// because the record is gone. The root is locked.
func (a *Adapter) resolveIntent(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document, exists bool) (Mapping, error) {
	if mapping.BackendID == "" {
		return mapping, nil
	}
	intent, err := decodeIntent(mapping)
	if err != nil {
		return mapping, err
	}
	if intent.Op == opDelete && intent.Resource == root.Resource && !exists {
		if err := a.deleteFromReplica(ctx, root, mapping.Key); err != nil {
			return mapping, err
		}
		return Mapping{Resource: mapping.Resource, Key: mapping.Key}, a.replica.DeleteMapping(ctx, root.Resource, mapping.Key)
	}
	plan := a.plans[intent.Resource]
	if !exists || plan == nil {
		return mapping, nil
	}
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, err
	}
	switch {
	case intent.Op == opUpdate:
		return mapping, a.resolveUpdate(ctx, root, mapping, intent, item, parts)
	case plan.isRoot():
		return mapping, nil
	case intent.Op == opDelete:
		return mapping, a.resolvePartDelete(ctx, plan, mapping, intent, parts)
	default:
		return mapping, a.resolvePartCreate(ctx, plan, mapping, intent, parts)
	}
}

// settleUpdated puts old values back unless the backend has taken an update: what
// it says of one of the attributes is then something else than before. The side gets
// that when the document is compared.
func (a *Adapter) resolveUpdate(ctx context.Context, root *resourcePlan, mapping Mapping, intent writeIntent, item Item, parts map[adapter.Resource][]Item) error {
	if mapping.Base != nil {
		was, err := baseOf(root, mapping)
		if err != nil {
			return err
		}
		plan := a.plans[intent.Resource]
		before, now := was.item, item.Record
		if !plan.isRoot() {
			if before, now, err = a.partItems(ctx, plan, mapping, intent.Key, was.parts[plan.Resource], parts[plan.Resource]); err != nil {
				return err
			}
		}
		for _, name := range intent.Attributes {
			at, ok := plan.schema.Index(name)
			if ok && now.Values[at].Kind() != adapter.Absent && !sameValue(before.Values[at], now.Values[at]) {
				return nil
			}
		}
		for _, r := range a.nestedResources(plan, intent.Attributes) {
			if items, present := parts[r]; present && !slices.EqualFunc(was.parts[r], items, sameItem) {
				return nil
			}
		}
	}
	return a.rollBack(ctx, intent)
}

// partItems returns what two documents say of a part: records without values where
// they say nothing.
func (a *Adapter) partItems(ctx context.Context, plan *resourcePlan, mapping Mapping, key adapter.Key, was, is []Item) (before, now adapter.Record, err error) {
	before, now = adapter.NewRecord(plan.schema), adapter.NewRecord(plan.schema)
	parts, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil {
		return before, now, err
	}
	for _, item := range was {
		if parts.find(item) == key {
			before = item.Record
		}
	}
	for _, item := range is {
		if parts.find(item) == key {
			now = item.Record
		}
	}
	return before, now, nil
}

// settlePartDeleted removes a part that the backend no longer has.
func (a *Adapter) resolvePartDelete(ctx context.Context, plan *resourcePlan, mapping Mapping, intent writeIntent, parts map[adapter.Resource][]Item) error {
	items, present := parts[plan.Resource]
	have, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil || !present {
		return err
	}
	if slices.ContainsFunc(items, func(i Item) bool { return have.find(i) == intent.Key }) {
		return a.rollBack(ctx, intent)
	}
	if err := a.deleteFromReplica(ctx, plan, intent.Key); err != nil {
		return err
	}
	return a.replica.DeleteMapping(ctx, plan.Resource, intent.Key)
}

// settlePartCreated keeps a new part that the backend has, and removes one that it
// has not, or that cannot be told from others: the document's then comes as any other
// part of the backend.
func (a *Adapter) resolvePartCreate(ctx context.Context, plan *resourcePlan, mapping Mapping, intent writeIntent, parts map[adapter.Resource][]Item) error {
	have, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil {
		return err
	}
	for key := range have.records {
		_, before := intent.Siblings[key]
		if intent.Op == opPush && key != intent.Key || intent.Op == opCreate && before || have.ids[key] != "" {
			continue
		}
		found := slices.IndexFunc(parts[plan.Resource], func(i Item) bool {
			if plan.HasIDs {
				return i.Key == key && i.ID != "" && have.byID[i.ID] == 0
			}
			return have.find(i) == key
		})
		switch {
		case found >= 0 && plan.HasIDs:
			err = a.replica.PutMappings(ctx, partMapping(plan, key, parts[plan.Resource][found].ID, mapping.Key))
		case found < 0 && intent.Op == opCreate:
			if err = a.deleteFromReplica(ctx, plan, key); err == nil {
				err = a.rollBackSiblings(ctx, intent)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
