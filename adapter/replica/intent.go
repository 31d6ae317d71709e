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
	created = "create"
	pushed  = "push" // as created, of a record that stays at the side whatever happens
	updated = "update"
	deleted = "delete"
)

// A note is of a write that may not have come to its end. It stands in the entry of
// the root, whose lock its writer has.
type note struct {
	By       string           `json:"by"` // the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// Level is the store view at which is written. Named are the attributes that an
	// update may change, and Old their values at the level.
	Level int64           `json:"level,omitempty"`
	Named []string        `json:"named,omitempty"`
	Old   json.RawMessage `json:"old,omitempty"`
	// Before holds the parts of the resource that the root had before, with what a write
	// of another one may take from them at the level: a default address, say.
	Before map[adapter.Key]json.RawMessage `json:"before,omitempty"`
}

// enterNote stores an entry with a note and returns it.
func (a *Adapter) enterNote(ctx context.Context, e Mapping, n note) (Mapping, error) {
	n.By = a.self
	var err error
	if e.Intent, err = json.Marshal(n); err != nil {
		return e, &adapter.Error{Kind: adapter.Internal, Op: "note " + n.Op, Err: err}
	}
	return e, a.side.PutMappings(ctx, e)
}

// dropNote stores an entry without its note, although the caller may have gone.
func (a *Adapter) dropNote(ctx context.Context, e Mapping) error {
	ctx, cancel := aside(ctx)
	defer cancel()
	e.Intent = nil
	return a.side.PutMappings(ctx, e)
}

func readNote(e Mapping) (note, error) {
	var n note
	if err := json.Unmarshal(e.Intent, &n); err != nil {
		return n, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("read note of %s %d", e.Resource, e.Key), Err: err}
	}
	return n, nil
}

// old returns what an update may have to put back: the values at its level of the
// attributes that it names, and what is null there. shown is the record at the level,
// and byDefault at the default scope.
func (k *keeping) old(shown, byDefault adapter.Record, level int64, named []string) ([]byte, error) {
	old := adapter.NewRecord(k.schema)
	for i, a := range k.schema.Attributes {
		v := shown.Values[i]
		switch {
		case a.ReadOnly || a.Fixed || a.WriteOnly:
		case level != 0 && k.isRoot() && a.Scope != adapter.ScopeGlobal && same(v, byDefault.Values[i]):
			// It is the default scope's, which shows through. An image has values of its
			// own at every level that it was ever written at.
		case slices.Contains(named, a.Name), level == 0 && v.Kind() == adapter.Null:
			old.Values[i] = writable(v)
		}
	}
	return encodeRecord(old)
}

// shared names the attributes that one part of a root has, and that a write of it
// takes from the others.
func shared(r adapter.Resource) []string {
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
func (k *keeping) before(ctx context.Context, root adapter.Key, level int64) (map[adapter.Key]json.RawMessage, error) {
	records, err := k.partsOf(ctx, root, level)
	if err != nil {
		return nil, err
	}
	all := make(map[adapter.Key]json.RawMessage, len(records))
	for _, r := range records {
		taken := adapter.NewRecord(k.schema)
		for _, name := range shared(k.Resource) {
			taken.Set(name, r.Get(name))
		}
		if all[keyOf(r)], err = encodeRecord(taken); err != nil {
			return nil, &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("note %s %d", k.Resource, keyOf(r)), Err: err}
		}
	}
	return all, nil
}

// putBackOthers undoes what a write of a part has changed of others.
func (a *Adapter) putBackOthers(ctx context.Context, n note) error {
	k := a.kept[n.Resource]
	for _, key := range slices.Sorted(maps.Keys(n.Before)) {
		if k == nil || key == n.Key {
			continue
		}
		old, err := decodeRecord(k.schema, n.Before[key])
		if err != nil {
			return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("put back %s %d", n.Resource, key), Err: err}
		}
		if _, err := k.put(ctx, a.side, key, n.Level, old); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
	}
	return nil
}

// putBack undoes an update at the side.
func (a *Adapter) putBack(ctx context.Context, n note) error {
	if err := a.putBackOne(ctx, n); err != nil {
		return err
	}
	return a.putBackOthers(ctx, n)
}

// putBackOne undoes what an update has changed of its record.
func (a *Adapter) putBackOne(ctx context.Context, n note) error {
	k := a.kept[n.Resource]
	if k == nil || len(n.Named) == 0 {
		return nil // kept no longer, or nothing was changed
	}
	old, err := decodeRecord(k.schema, n.Old)
	if err != nil {
		return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("put back %s %d", n.Resource, n.Key), Err: err}
	}
	var with []string
	for _, name := range n.Named {
		if at, ok := k.schema.Index(name); ok && k.schema.Attributes[at].OnDemand {
			with = append(with, name)
		}
	}
	err = k.store.Update(ctx, &adapter.UpdateParams{Key: n.Key, StoreID: n.Level, With: with, Change: func(current adapter.Record) (adapter.Record, error) {
		change, any := adapter.NewRecord(k.schema), false
		for i, a := range k.schema.Attributes {
			v := old.Values[i]
			switch {
			case a.ReadOnly || a.Fixed || a.WriteOnly:
				continue
			case v.Kind() == adapter.Absent && slices.Contains(n.Named, a.Name) && current.Values[i].Kind() != adapter.Absent:
				v = adapter.UnsetValue()
			case v.Kind() == adapter.Null && k.Resource == adapter.ProductImages:
				continue // none can be taken away
			case v.Kind() == adapter.Records && k.apart[i] && len(v.Records()) == 0:
				continue // none before and after
			}
			change.Values[i] = v
			any = any || v.Kind() != adapter.Absent && !has(current.Values[i], v)
		}
		if !any {
			return change, errNothing
		}
		return change, nil
	}})
	if errors.Is(err, errNothing) || adapter.KindOf(err) == adapter.NotFound {
		return nil
	}
	return err
}
