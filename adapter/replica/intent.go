package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// decodeIntent returns the write intent of a mapping.
func decodeIntent(mapping idmap.Mapping) (intent intent, err error) {
	err = adapter.UnmarshalJSON(mapping.Intent, &intent)
	return intent, internalError(err, "decode intent of", mapping.Resource, mapping.Key)
}

// isForeign reports whether the mapping of a row holds a write intent of another process that
// may still be at work.
func (rc *reconciler) isForeign(r row) bool {
	if r.mapping == nil || r.mapping.Intent == nil || adapter.Age(rc.clock.Now(), r.mapping.ChangedAt, rc.foreignIntentAge) >= rc.foreignIntentAge {
		return false
	}
	intent, err := decodeIntent(*r.mapping)
	return err == nil && intent.Writer != "" && intent.Writer != rc.instanceID
}

// begin stores a write intent of this process in the mapping of a root that is locked. It fails with
// turns.ErrBusy if another process has stored the mapping since it was read. It sets intent to the form
// in which it is read again, so that undo and recovery work with the same values.
func (rc *reconciler) begin(ctx context.Context, mapping *idmap.Mapping, intent *intent) error {
	if err := rc.encodeIntent(mapping, intent); err != nil {
		return err
	}
	begun, err := rc.replica.BeginIntent(ctx, *mapping)
	if err == nil && !begun {
		err = busy(fmt.Sprintf("%s %s %d", intent.Op, intent.Resource, intent.Key), errBusy)
	}
	return err
}

// encodeIntent sets the write intent of a mapping to one of this process.
func (rc *reconciler) encodeIntent(mapping *idmap.Mapping, intent *intent) (err error) {
	intent.Writer = rc.instanceID
	if mapping.Intent, err = json.Marshal(intent); err != nil {
		return internalError(err, "encode intent of", mapping.Resource, mapping.Key)
	}
	*intent, err = decodeIntent(*mapping)
	return err
}

// claim replaces the writer of another process's write intent by this process, so that only one process
// resolves it, and its writer fails if it is still running after all. It returns errResolved if another
// process has resolved or claimed it. The caller holds the root's lock.
func (rc *reconciler) claim(ctx context.Context, mapping *idmap.Mapping) error {
	intent, err := decodeIntent(*mapping)
	if err != nil || intent.Writer == rc.instanceID && adapter.Age(rc.clock.Now(), mapping.ChangedAt, rc.foreignIntentAge) < rc.foreignIntentAge {
		return err
	}
	claimed := *mapping
	if err = rc.encodeIntent(&claimed, &intent); err == nil {
		err = rc.completeIntent(ctx, mapping.Intent, claimed)
	}
	if err != nil {
		return err
	}
	claimed.ChangedAt = rc.clock.Now()
	*mapping = claimed
	return nil
}

// siblingsBefore returns the parts of a root as the intent of a write at a store view
// stores them.
func (plan *resourcePlan) siblingsBefore(ctx context.Context, rootKey adapter.Key, storeID int64) (map[adapter.Key]adapter.JSONRecord, error) {
	records, err := plan.listParts(ctx, rootKey, storeID)
	if err != nil {
		return nil, err
	}
	all := make(map[adapter.Key]adapter.JSONRecord, len(records))
	for _, r := range records {
		taken := adapter.NewRecord(plan.schema)
		for _, name := range plan.exclusive {
			taken.Set(name, r.Get(name))
		}
		all[r.Key()] = adapter.EncodeJSON(taken)
	}
	return all, nil
}

// rollBackSiblings restores the values that a write of a part has taken from its siblings.
func (rc *reconciler) rollBackSiblings(ctx context.Context, plan *resourcePlan, intent intent) error {
	for _, key := range slices.Sorted(maps.Keys(intent.Siblings)) {
		if key == intent.Key {
			continue
		}
		old, err := intent.Siblings[key].Decode(plan.schema)
		if err != nil {
			return internalError(err, "roll back", intent.Resource, key)
		}
		if _, err := plan.localRecords().PutValues(ctx, rc.replica, key, intent.StoreID, old); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
	}
	return nil
}

// rollBack undoes a write in the local replica: it deletes a created record, whose key the intent must
// have, or restores the values before an update or an import.
func (rc *reconciler) rollBack(ctx context.Context, intent intent) error {
	plan := rc.plans[intent.Resource]
	if plan == nil {
		return nil // the backend no longer owns the resource
	}
	var err error
	switch {
	case intent.Op == opImport:
		err = rc.rollBackImport(ctx, plan, intent)
	case intent.Op == opCreate && intent.Key != 0:
		err = rc.deleteFromReplica(ctx, plan, plan.store, intent.Key)
	case len(intent.Attributes) > 0:
		err = plan.rollBackRecord(ctx, intent)
	}
	if err != nil {
		return err
	}
	return rc.rollBackSiblings(ctx, plan, intent)
}

// rollBackImport restores the records before an import, and removes the record if it is new.
func (rc *reconciler) rollBackImport(ctx context.Context, plan *resourcePlan, intent intent) error {
	batch, err := tryConvert(intent.Aggregates, func(one adapter.JSONAggregate) (adapter.Aggregate, error) {
		return one.Decode(rc.schemas, plan.Resource)
	})
	if err != nil {
		return internalError(err, "roll back", intent.Resource, intent.Key)
	}
	if !slices.ContainsFunc(batch, func(one adapter.Aggregate) bool { return one.Record.Key() == intent.Key }) {
		if err := rc.deleteFromReplica(ctx, plan, plan.store, intent.Key); err != nil {
			return err
		}
	}
	if _, err = rc.replica.Import(ctx, batch, adapter.ImportOptions{Existing: adapter.ReplaceExisting}); err != nil {
		return err
	}
	return rc.replica.RestorePending(ctx, intent.Pending)
}

// rollBackRecord restores the values of the record that an update has changed.
func (plan *resourcePlan) rollBackRecord(ctx context.Context, intent intent) error {
	old, err := intent.Old.Decode(plan.schema)
	if err != nil {
		return internalError(err, "roll back", intent.Resource, intent.Key)
	}
	err = plan.store.Update(ctx, &adapter.UpdateParams{Key: intent.Key, StoreID: intent.StoreID, With: plan.localRecords().OnDemand(intent.Attributes), Change: func(current adapter.Record) (adapter.Record, error) {
		change, changed := adapter.NewRecord(plan.schema), false
		for i, a := range plan.schema.Attributes {
			v := old.Values[i]
			switch {
			case a.ReadOnly || a.Fixed || a.WriteOnly:
				continue
			case v.Kind() == adapter.Absent && slices.Contains(intent.Attributes, a.Name) && current.Values[i].Kind() != adapter.Absent:
				v = adapter.UnsetValue()
			case v.Kind() == adapter.Null && plan.schema.PerLevel:
				continue // the value cannot be unset
			case v.Kind() == adapter.Records && holdsParts(&a) && len(v.Records()) == 0:
				continue // there was none before, and there is none now
			}
			change.Values[i] = v
			changed = changed || v.Kind() != adapter.Absent && !matches(current.Values[i], v)
		}
		if !changed {
			return change, errNoChange
		}
		return change, nil
	}})
	if errors.Is(err, errNoChange) || adapter.KindOf(err) == adapter.NotFound {
		return nil
	}
	return err
}

// The operations of write intents.
const (
	opCreate = "create"
	opPush   = "push" // like OpCreate, but the record stays in the local replica in any case
	opUpdate = "update"
	opDelete = "delete"
	opImport = "import"
	opMerge  = "merge" // merging a changed document into the local replica, which is not undone
)

// An intent records a write that may not have been completed. It is stored in the
// mapping of the root, whose lock the writer holds.
type intent struct {
	Writer   string           `json:"by"` // the instanceID of the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// StoreID is the store view that is written to. Attributes are the attributes that an
	// update may change, and Old holds their values at that store view.
	StoreID    int64              `json:"level,omitempty"`
	Attributes []string           `json:"named,omitempty"`
	Old        adapter.JSONRecord `json:"old,omitempty"`
	// Siblings are the root's parts of the same resource before the write, by key, each
	// with the exclusive attributes that the write may take from it at the store view, such
	// as being the default address.
	Siblings map[adapter.Key]adapter.JSONRecord `json:"before,omitempty"`
	// Aggregates are the records that an import may change, as they were before: the root with
	// its parts, or the parts of one resource.
	Aggregates []adapter.JSONAggregate `json:"aggregates,omitempty"`
	Pending    json.RawMessage         `json:"pending,omitempty"` // by Replica.Pending, before an import
}
