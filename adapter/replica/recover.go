package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// resolveCreate resolves the intent of creating a root, if the row has one: if the backend
// has the record, its mapping gets the backend id, and reconciling completes it; otherwise
// the record is deleted from the local replica. A root whose intent cannot be resolved stays
// invisible. The caller holds the root's lock.
func (rc *reconciler) resolveCreate(ctx context.Context, root *resourcePlan, r *row) {
	if r.mapping == nil || r.mapping.BackendID != "" || r.mapping.Intent == nil {
		return
	}
	doc, err := rc.find(ctx, root, r.key)
	switch kind := adapter.KindOf(err); {
	case err == nil:
		r.mapping.BackendID = doc.ID
	case kind == adapter.NotFound && rc.isForeign(*r):
		err = nil // its writer may be about to create it
	case kind == adapter.NotFound:
		var intent intent
		if err = rc.claim(ctx, r.mapping); err == nil {
			intent, err = decodeIntent(*r.mapping)
		}
		if err == nil {
			err = rc.rollBackCreate(ctx, intent)
		}
	case kind == adapter.Unsupported:
		rc.log.WarnOnce("whether the backend created a record is unknown: import its id if the backend has it", root.Resource, fmt.Sprintf("legacy id %d", r.key))
		err = nil
	}
	if err != nil && !errors.Is(err, errResolved) && ctx.Err() == nil {
		rc.log.Warn("the creation of a record cannot be resolved now; the next scan tries again", "resource", root.Resource, "id", r.key, "error", err)
	}
}

// rollBackCreate undoes the create of a root in the local replica, and deletes its mapping.
func (rc *reconciler) rollBackCreate(ctx context.Context, intent intent) error {
	if err := rc.rollBack(ctx, intent); err != nil {
		return err
	}
	return rc.replica.DeleteMapping(ctx, intent.Resource, intent.Key)
}

// deleteFromReplica deletes a record from the local replica, through a store of it, at all
// scopes. It succeeds when there is none.
func (rc *reconciler) deleteFromReplica(ctx context.Context, plan *resourcePlan, in adapter.Store, key adapter.Key) error {
	var err error
	if plan.schema.ReadOnly() {
		err = rc.replica.DeleteReadOnly(ctx, plan.Resource, key)
	} else {
		err = in.Delete(ctx, &adapter.DeleteParams{Key: key, Everywhere: true})
	}
	if adapter.KindOf(err) == adapter.NotFound {
		return nil
	}
	return err
}

// deleteWithMapping deletes a record from the local replica, then its mapping.
func (rc *reconciler) deleteWithMapping(ctx context.Context, plan *resourcePlan, key adapter.Key) error {
	if err := rc.deleteFromReplica(ctx, plan, plan.store, key); err != nil {
		return err
	}
	return rc.replica.DeleteMapping(ctx, plan.Resource, key)
}

// resolveIntent resolves the write intent of a mapping: it compares the root's current
// document with the intent and completes the write in the local replica or rolls it back.
// The caller clears the intent by reconciling the document, nil if the backend has none,
// and holds the root's lock.
func (rc *reconciler) resolveIntent(ctx context.Context, root *resourcePlan, mapping idmap.Mapping, doc *Document) error {
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
	case intent.Op == opImport: // reconciling applies the backend's values afterwards
		return rc.rollBack(ctx, intent)
	}
	item, parts, err := doc.Read(ctx)
	switch {
	case err != nil:
		return err
	case intent.Op == opUpdate:
		return rc.resolveUpdate(ctx, root, mapping, intent, item, parts)
	case plan.isRoot() && (intent.Op == opCreate || intent.Op == opPush):
		return rc.completeCreate(ctx, root, mapping, doc, item)
	case plan.isRoot() || intent.Op == opPush:
		return nil
	default:
		return rc.resolvePart(ctx, plan, mapping, intent, parts)
	}
}

// completeCreate sends to the backend the values that it lacks of a root whose create was interrupted: a create may
// take several requests, such as one for a password and one for each store view. It leaves the values of parts alone,
// because they may have changed since, such as a stock. It sets doc to the document after that.
func (rc *reconciler) completeCreate(ctx context.Context, root *resourcePlan, mapping idmap.Mapping, doc *Document, item Item) error {
	if !root.Updates {
		return nil
	}
	record, err := root.get(ctx, mapping.Key)
	if adapter.KindOf(err) == adapter.NotFound {
		return nil
	}
	var views Views
	if err == nil {
		views, err = rc.storedViews(ctx, root, mapping.Key)
	}
	if err != nil {
		return err
	}
	shown := maps.Clone(item.Views)
	maps.DeleteFunc(shown, func(store adapter.Key, _ adapter.Record) bool { return views[store].Schema == nil })
	sent := &Write{Resource: root.Resource, Key: mapping.Key, ID: mapping.BackendID, Old: record, New: record, Views: root.viewWrites(shown, views)}
	for _, name := range root.Attributes {
		here, there := record.Get(name), item.Record.Get(name)
		isLacking := !same(here, there) && (!here.Empty() || !there.Empty() && there.Kind() != adapter.Absent)
		if at, _ := root.schema.Index(name); isLacking && root.nested(name) == nil && !root.schema.Attributes[at].WriteOnly {
			sent.Changed = append(sent.Changed, name)
		}
	}
	if len(sent.Changed) == 0 && len(sent.Views) == 0 {
		return nil
	}
	if err = rc.backend.Update(ctx, sent); adapter.IsRefusal(err) {
		rc.log.WarnContext(ctx, "the backend refuses the rest of a record whose create was interrupted", "resource", root.Resource, "id", mapping.Key, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	docs, err := rc.backend.Fetch(ctx, root.Resource, []string{mapping.BackendID})
	if err == nil && len(docs) == 1 {
		*doc = docs[0] // the base: how the backend has stored the values
	}
	return err
}

// resolveUpdate rolls an update back unless the backend has done it. The backend has done it
// if the document differs from the base in any attribute that the update sets. Reconciling
// the document afterwards applies the backend's values.
func (rc *reconciler) resolveUpdate(ctx context.Context, root *resourcePlan, mapping idmap.Mapping, intent intent, item Item, parts map[adapter.Resource][]Item) error {
	oldBase, err := baseOf(root, mapping)
	if err != nil {
		return err
	}
	plan := rc.plans[intent.Resource]
	inBase, inDocument := oldBase.Item, item.Record
	if !plan.isRoot() {
		existing, err := rc.loadParts(ctx, plan, mapping.Key)
		if err != nil {
			return err
		}
		inBase, inDocument = existing.recordAmong(oldBase.Parts[plan.Resource], intent.Key), existing.recordAmong(parts[plan.Resource], intent.Key)
	}
	view := adapter.Key(intent.StoreID)
	for _, name := range intent.Attributes {
		before, now := inBase, inDocument
		if at, ok := plan.schema.Index(name); ok && view != 0 && plan.isRoot() && plan.schema.Attributes[at].Scope != adapter.ScopeGlobal {
			if !plan.isViewed(name) || item.Views[view].Schema == nil {
				continue
			}
			if before, now = oldBase.Views[view], item.Views[view]; before.Schema == nil {
				before = plan.viewOf(adapter.Record{})
			}
		}
		v := now.Get(name)
		if v.Kind() != adapter.Absent && !same(before.Get(name), v) {
			return nil
		}
		if part := plan.nested(name); part != nil {
			items, present := parts[part.Resource]
			if present && !slices.EqualFunc(oldBase.Parts[part.Resource], items, sameItem) {
				return nil
			}
		}
	}
	return rc.rollBack(ctx, intent)
}

// resolvePart resolves the create or the delete of a part. It deletes from the local replica
// a part that the document does not have or that cannot be matched, and rolls back the
// delete of a part that the document has. Reconciling the document afterwards maps or
// imports the others.
func (rc *reconciler) resolvePart(ctx context.Context, plan *resourcePlan, mapping idmap.Mapping, intent intent, parts map[adapter.Resource][]Item) error {
	existing, err := rc.loadParts(ctx, plan, mapping.Key)
	if err != nil {
		return err
	}
	items, known := parts[plan.Resource]
	inDocument := func(key adapter.Key) bool {
		return slices.ContainsFunc(items, func(i Item) bool {
			return existing.find(i) == key || plan.HasIDs && i.ID != "" && i.Key == key && existing.byIdentity[i.ID] == 0
		})
	}
	if intent.Op == opDelete {
		switch {
		case !known:
			return nil
		case inDocument(intent.Key):
			return rc.rollBack(ctx, intent)
		default:
			return rc.deleteWithMapping(ctx, plan, intent.Key)
		}
	}
	for key := range existing.records {
		if _, existed := intent.Siblings[key]; existed || existing.ids[key] != "" || inDocument(key) {
			continue
		}
		intent.Key = key
		if err := rc.rollBack(ctx, intent); err != nil {
			return err
		}
	}
	return nil
}
