package replica

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strconv"
)

// records are the records of one resource in the local replica.
type records struct {
	Schema *adapter.Schema
	Store  adapter.Store
}

// Query queries the records and applies the parts of the query that their store did not execute, so that
// only returned records are compared with the backend.
func (r records) Query(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	found, err := r.Store.List(ctx, p)
	if err != nil || !found.Partial {
		return found, err
	}
	page, total, err := adapter.Apply(ctx, r.Schema, found.Records, &p.Query)
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Invalid:
		return found, nil // the caller's own Apply fails in the same way
	case err != nil:
		return nil, err
	case p.Count:
		return &adapter.ListResult{Total: total}, nil
	default:
		return &adapter.ListResult{Records: page}, nil
	}
}

// List returns all records that a query selects.
func (r records) List(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	found, err := r.Query(ctx, p)
	if err != nil {
		return nil, err
	}
	return found.Records, nil
}

// OnDemand returns the on-demand attributes among names.
func (r records) OnDemand(names []string) (onDemand []string) {
	for _, name := range names {
		if at, ok := r.Schema.Index(name); ok && r.Schema.Attributes[at].OnDemand {
			onDemand = append(onDemand, name)
		}
	}
	return onDemand
}

// errNoChange is the error of an UpdateParams.Change that finds nothing to change.
var errNoChange = errors.New("no change")

// PutValues stores values of a record at a store view, 0 for the default scope. It writes nothing, and reports
// false, if the record has them already.
func (r records) PutValues(ctx context.Context, replica Replica, key adapter.Key, storeID int64, values adapter.Record) (changed bool, err error) {
	names := present(values)
	if names == nil {
		return false, nil
	}
	changeOf := func(current adapter.Record) (adapter.Record, error) {
		change, err := adapter.NewRecord(r.Schema), errNoChange
		for i, v := range values.Values {
			if v.Kind() != adapter.Absent && !matches(current.Values[i], v) {
				change.Values[i], err = writable(v), nil
			}
		}
		if r.Schema.Resource == adapter.CustomerAddresses && values.Get("region_id").Kind() == adapter.Absent &&
			(change.Get("region").Kind() != adapter.Absent || change.Get("country_id").Kind() != adapter.Absent) {
			change.Set("region_id", adapter.UnsetValue()) // the stored id belongs to the old region
		}
		return change, err
	}
	if r.Schema.ReadOnly() {
		current, err := r.Store.Get(ctx, &adapter.GetParams{Key: key})
		if err != nil {
			return false, err
		}
		change, err := changeOf(current)
		if err != nil {
			return false, nil
		}
		return true, replica.UpdateReadOnly(ctx, r.Schema.Resource, key, change)
	}
	err = r.Store.Update(ctx, &adapter.UpdateParams{Key: key, StoreID: storeID, With: r.OnDemand(names), Change: func(current adapter.Record) (adapter.Record, error) {
		change, err := changeOf(current)
		for i, v := range current.Values { // a value that is null stays null only if the change repeats it
			a := &r.Schema.Attributes[i]
			if v.Kind() == adapter.Null && storeID == 0 && !r.Schema.PerLevel && change.Values[i].Kind() == adapter.Absent && !a.ReadOnly && !a.Fixed && !a.OnDemand {
				change.Values[i] = v
			}
		}
		return change, err
	}})
	if errors.Is(err, errNoChange) {
		return false, nil
	}
	return err == nil, err
}

// UndoValues returns the values that undoing an update must restore: the values of the attributes that it sets,
// and null values. atLevel is the record as shown at the store view, byDefault as shown at the default scope.
func (r records) UndoValues(atLevel, byDefault adapter.Record, storeID int64, attributes []string) adapter.Record {
	old := adapter.NewRecord(r.Schema)
	for i, a := range r.Schema.Attributes {
		v := atLevel.Values[i]
		switch {
		case a.ReadOnly || a.Fixed || a.WriteOnly:
		case storeID != 0 && !r.Schema.PerLevel && a.Scope != adapter.ScopeGlobal && same(v, byDefault.Values[i]):
			// The value is inherited from the default scope.
		case slices.Contains(attributes, a.Name), storeID == 0 && v.Kind() == adapter.Null:
			old.Values[i] = writable(v)
		}
	}
	return old
}

// keyCondition returns a condition on an attribute that holds keys.
func keyCondition(attribute string, op adapter.Op, keys ...adapter.Key) adapter.Condition {
	operands := make([]string, len(keys))
	for i, key := range keys {
		operands[i] = strconv.FormatInt(int64(key), 10)
	}
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}
