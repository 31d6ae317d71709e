package replica

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/recordjson"
)

// The operations of write intents.
const (
	opCreate = "create"
	opPush   = "push" // like opCreate, but the record stays in the local replica whatever happens
	opUpdate = "update"
	opDelete = "delete"
	opImport = "import"
)

// A writeIntent records a write that may not have been completed. It is stored in the
// mapping of the root, whose lock the writer holds.
type writeIntent struct {
	Writer   string           `json:"by"` // the instanceID of the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// StoreID is the store view that is written to. Attributes are those that an update may
	// change, and Old their values at that store view.
	StoreID    int64             `json:"level,omitempty"`
	Attributes []string          `json:"named,omitempty"`
	Old        recordjson.Record `json:"old,omitempty"`
	// Siblings are the root's parts of the same resource before the write, by key, each
	// with the exclusive attributes that the write may take from it at the store view, such
	// as being the default address.
	Siblings map[adapter.Key]recordjson.Record `json:"before,omitempty"`
	// Aggregates are what an import may change, as it was before: the root with its parts, or
	// the parts of one resource.
	Aggregates []recordjson.Aggregate `json:"aggregates,omitempty"`
	Pending    json.RawMessage        `json:"pending,omitempty"` // by Replica.Pending, before an import
}

func decodeIntent(mapping idmap.Mapping) (writeIntent, error) {
	var intent writeIntent
	err := recordjson.Unmarshal(mapping.Intent, &intent)
	return intent, internalError(err, "decode intent of", mapping.Resource, mapping.Key)
}

// isForeign reports whether the mapping of a row holds a write intent of another process that
// may still be at work.
func (rc *reconciler) isForeign(r row) bool {
	if r.mapping == nil || r.mapping.Intent == nil || time.Since(r.mapping.ChangedAt) >= rc.foreignIntentAge {
		return false
	}
	intent, err := decodeIntent(*r.mapping)
	return err == nil && intent.Writer != "" && intent.Writer != rc.instanceID
}

// undoValues returns the values that undoing an update must restore: those of the
// attributes that it sets, and those that are null. atLevel is the record as the store view
// shows it, byDefault as the default scope does.
func (plan *resourcePlan) undoValues(atLevel, byDefault adapter.Record, storeID int64, attributes []string) recordjson.Record {
	old := adapter.NewRecord(plan.schema)
	for i, a := range plan.schema.Attributes {
		v := atLevel.Values[i]
		switch {
		case a.ReadOnly || a.Fixed || a.WriteOnly:
		case storeID != 0 && !plan.schema.PerLevel && a.Scope != adapter.ScopeGlobal && sameValue(v, byDefault.Values[i]):
			// The value is inherited from the default scope.
		case slices.Contains(attributes, a.Name), storeID == 0 && v.Kind() == adapter.Null:
			old.Values[i] = writable(v)
		}
	}
	return recordjson.Encode(old)
}

// siblingsBefore returns the parts of a root as the intent of a write at a store view
// stores them.
func (plan *resourcePlan) siblingsBefore(ctx context.Context, rootKey adapter.Key, storeID int64) (map[adapter.Key]recordjson.Record, error) {
	records, err := plan.listParts(ctx, rootKey, storeID)
	if err != nil {
		return nil, err
	}
	all := make(map[adapter.Key]recordjson.Record, len(records))
	for _, r := range records {
		taken := adapter.NewRecord(plan.schema)
		for _, name := range plan.exclusive {
			taken.Set(name, r.Get(name))
		}
		all[r.Key()] = recordjson.Encode(taken)
	}
	return all, nil
}

// rollBackSiblings restores the values that a write of a part has taken from its siblings.
func (rc *reconciler) rollBackSiblings(ctx context.Context, plan *resourcePlan, intent writeIntent) error {
	for _, key := range slices.Sorted(maps.Keys(intent.Siblings)) {
		if key == intent.Key {
			continue
		}
		old, err := intent.Siblings[key].Decode(plan.schema)
		if err != nil {
			return internalError(err, "roll back", intent.Resource, key)
		}
		if _, err := plan.putValues(ctx, rc.replica, key, intent.StoreID, old); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
	}
	return nil
}

// rollBack undoes a write in the local replica: it deletes a created record, whose key the
// intent must have, or restores what an update or an import has changed.
func (rc *reconciler) rollBack(ctx context.Context, intent writeIntent) error {
	plan := rc.plans[intent.Resource]
	if plan == nil {
		return nil // the backend owns the resource no longer
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

// rollBackImport restores what an import has changed, and removes the record if it is new.
func (rc *reconciler) rollBackImport(ctx context.Context, plan *resourcePlan, intent writeIntent) error {
	batch, err := tryConvert(intent.Aggregates, func(one recordjson.Aggregate) (adapter.Aggregate, error) {
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

// rollBackRecord restores the values that an update has changed in its own record.
func (plan *resourcePlan) rollBackRecord(ctx context.Context, intent writeIntent) error {
	old, err := intent.Old.Decode(plan.schema)
	if err != nil {
		return internalError(err, "roll back", intent.Resource, intent.Key)
	}
	err = plan.store.Update(ctx, &adapter.UpdateParams{Key: intent.Key, StoreID: intent.StoreID, With: plan.onDemandOf(intent.Attributes), Change: func(current adapter.Record) (adapter.Record, error) {
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
