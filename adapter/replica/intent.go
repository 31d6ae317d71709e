package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// What a note is of.
const (
	opCreate = "create"
	opPush   = "push" // as created, of a record that stays at the side whatever happens
	opUpdate = "update"
	opDelete = "delete"
)

// A note is of a write that may not have come to its end. It stands in the entry of
// the root, whose lock its writer has.
type writeIntent struct {
	Writer   string           `json:"by"` // the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// Level is the store view at which is written. Named are the attributes that an
	// update may change, and Old their values at the level.
	StoreID    int64           `json:"level,omitempty"`
	Attributes []string        `json:"named,omitempty"`
	Old        json.RawMessage `json:"old,omitempty"`
	// Before holds the parts of the resource that the root had before, with what a write
	// of another one may take from them at the level: a default address, say.
	Siblings map[adapter.Key]json.RawMessage `json:"before,omitempty"`
}

// enterNote stores an entry with a note and returns it.
func (a *Adapter) putIntent(ctx context.Context, mapping Mapping, intent writeIntent) (Mapping, error) {
	intent.Writer = a.instanceID
	var err error
	if mapping.Intent, err = json.Marshal(intent); err != nil {
		return mapping, &adapter.Error{Kind: adapter.Internal, Op: "note " + intent.Op, Err: err}
	}
	return mapping, a.replica.PutMappings(ctx, mapping)
}

// dropNote stores an entry without its note, although the caller may have gone.
func (a *Adapter) clearIntent(ctx context.Context, mapping Mapping) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	mapping.Intent = nil
	return a.replica.PutMappings(ctx, mapping)
}

func decodeIntent(mapping Mapping) (writeIntent, error) {
	var intent writeIntent
	if err := json.Unmarshal(mapping.Intent, &intent); err != nil {
		return intent, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("read note of %s %d", mapping.Resource, mapping.Key), Err: err}
	}
	return intent, nil
}

// old returns what an update may have to put back: the values at its level of the
// attributes that it names, and what is null there. shown is the record at the level,
// and byDefault at the default scope.
func (plan *resourcePlan) undoValues(atLevel, byDefault adapter.Record, storeID int64, attributes []string) ([]byte, error) {
	old := adapter.NewRecord(plan.schema)
	for i, a := range plan.schema.Attributes {
		v := atLevel.Values[i]
		switch {
		case a.ReadOnly || a.Fixed || a.WriteOnly:
		case storeID != 0 && plan.isRoot() && a.Scope != adapter.ScopeGlobal && sameValue(v, byDefault.Values[i]):
			// It is the default scope's, which shows through. An image has values of its
			// own at every level that it was ever written at.
		case slices.Contains(attributes, a.Name), storeID == 0 && v.Kind() == adapter.Null:
			old.Values[i] = writable(v)
		}
	}
	return encodeRecord(old)
}

// shared names the attributes that one part of a root has, and that a write of it
// takes from the others.
func exclusiveAttributes(r adapter.Resource) []string {
	switch r {
	case adapter.CustomerAddresses:
		return []string{"is_default_billing", "is_default_shipping"}
	case adapter.ProductImages:
		return []string{"types"}
	default:
		return nil
	}
}

// before returns the parts of a root as a note of a write at a level holds them.
func (plan *resourcePlan) siblingsBefore(ctx context.Context, root adapter.Key, storeID int64) (map[adapter.Key]json.RawMessage, error) {
	records, err := plan.listParts(ctx, root, storeID)
	if err != nil {
		return nil, err
	}
	all := make(map[adapter.Key]json.RawMessage, len(records))
	for _, r := range records {
		taken := adapter.NewRecord(plan.schema)
		for _, name := range exclusiveAttributes(plan.Resource) {
			taken.Set(name, r.Get(name))
		}
		if all[keyOf(r)], err = encodeRecord(taken); err != nil {
			return nil, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("note %s %d", plan.Resource, keyOf(r)), Err: err}
		}
	}
	return all, nil
}

// putBackOthers undoes what a write of a part has changed of others.
func (a *Adapter) rollBackSiblings(ctx context.Context, intent writeIntent) error {
	plan := a.plans[intent.Resource]
	for _, key := range slices.Sorted(maps.Keys(intent.Siblings)) {
		if plan == nil || key == intent.Key {
			continue
		}
		old, err := decodeRecord(plan.schema, intent.Siblings[key])
		if err != nil {
			return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("put back %s %d", intent.Resource, key), Err: err}
		}
		if _, err := plan.putValues(ctx, a.replica, key, intent.StoreID, old); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
	}
	return nil
}

// putBack undoes an update at the side.
func (a *Adapter) rollBack(ctx context.Context, intent writeIntent) error {
	if err := a.rollBackRecord(ctx, intent); err != nil {
		return err
	}
	return a.rollBackSiblings(ctx, intent)
}

// putBackOne undoes what an update has changed of its record.
func (a *Adapter) rollBackRecord(ctx context.Context, intent writeIntent) error {
	plan := a.plans[intent.Resource]
	if plan == nil || len(intent.Attributes) == 0 {
		return nil // kept no longer, or nothing was changed
	}
	old, err := decodeRecord(plan.schema, intent.Old)
	if err != nil {
		return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("put back %s %d", intent.Resource, intent.Key), Err: err}
	}
	var onDemand []string
	for _, name := range intent.Attributes {
		if at, ok := plan.schema.Index(name); ok && plan.schema.Attributes[at].OnDemand {
			onDemand = append(onDemand, name)
		}
	}
	err = plan.store.Update(ctx, &adapter.UpdateParams{Key: intent.Key, StoreID: intent.StoreID, With: onDemand, Change: func(current adapter.Record) (adapter.Record, error) {
		change, changed := adapter.NewRecord(plan.schema), false
		for i, a := range plan.schema.Attributes {
			v := old.Values[i]
			switch {
			case a.ReadOnly || a.Fixed || a.WriteOnly:
				continue
			case v.Kind() == adapter.Absent && slices.Contains(intent.Attributes, a.Name) && current.Values[i].Kind() != adapter.Absent:
				v = adapter.UnsetValue()
			case v.Kind() == adapter.Null && plan.Resource == adapter.ProductImages:
				continue // none can be taken away
			case v.Kind() == adapter.Records && plan.ownResource[i] && len(v.Records()) == 0:
				continue // none before and after
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
