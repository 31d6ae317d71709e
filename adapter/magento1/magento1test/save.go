package magento1test

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// save writes to the tables how the records after a write differ from those before it. It
// returns the ids of new records by their keys.
func (x transaction) save(ctx context.Context, before, after *memstore.Adapter) (map[adapter.Key]adapter.Key, error) {
	created := map[adapter.Key]adapter.Key{}
	for _, r := range []adapter.Resource{adapter.Products, adapter.Customers, adapter.CustomerAddresses} {
		was, err := exported(ctx, before, r)
		if err != nil {
			return nil, err
		}
		is, err := exported(ctx, after, r)
		if err != nil {
			return nil, err
		}
		for key := range was {
			if is[key] == nil {
				if err := x.exec(ctx, "DELETE FROM "+entityOf(r).table()+" WHERE entity_id = ?", int64(key)); err != nil {
					return nil, err
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(is)) {
			id, err := x.saveRecord(ctx, was[key], is[key])
			if err != nil {
				return nil, err
			}
			if was[key] == nil {
				created[key] = adapter.Key(id)
			}
		}
	}
	return created, nil
}

// exported returns the records of a resource by their keys.
func exported(ctx context.Context, records *memstore.Adapter, r adapter.Resource) (map[adapter.Key]*adapter.Aggregate, error) {
	all, err := records.Export(ctx, r, -1, math.MaxInt32)
	found := make(map[adapter.Key]*adapter.Aggregate, len(all))
	for i := range all {
		found[all[i].Record.Key()] = &all[i]
	}
	return found, err
}

func entityOf(r adapter.Resource) entity {
	switch r {
	case adapter.Products:
		return product
	case adapter.Customers:
		return customer
	default:
		return address
	}
}

// A place is where a record has a value: an attribute at a store view, 0 for the default
// scope.
type place struct {
	attribute string
	store     int64
}

// places returns the values of a record that are in the tables of its entity; none of nil.
func places(a *adapter.Aggregate) map[place]adapter.Value {
	all := map[place]adapter.Value{}
	if a == nil {
		return all
	}
	add := func(store int64, r adapter.Record) {
		for i, v := range r.Values {
			of := &r.Schema.Attributes[i]
			derived := of.ReadOnly && of.Name != "created_at" && of.Name != "updated_at" || of.Nested != nil || strings.HasPrefix(of.Name, "is_default_")
			if !derived && v.Kind() != adapter.Absent {
				all[place{of.Name, store}] = v
			}
		}
	}
	add(0, a.Record)
	for _, l := range a.Levels {
		if l.Record.Schema == a.Record.Schema {
			add(l.StoreID, l.Record)
		}
	}
	return all
}

// argument returns a value as the argument of a statement.
func argument(v adapter.Value) any {
	switch v.Kind() {
	case adapter.Text:
		return v.Text()
	case adapter.Integer:
		return v.Int()
	case adapter.Texts:
		return strings.Join(v.Texts(), "\n")
	default:
		return nil
	}
}

// same reports whether two values are stored as the same.
func same(a, b adapter.Value) bool { return a.Kind() == b.Kind() && argument(a) == argument(b) }

// saveRecord writes the changed values of a record and its parts, and returns its id. was is nil
// for a new record.
func (x transaction) saveRecord(ctx context.Context, was, is *adapter.Aggregate) (id int64, err error) {
	r := is.Record.Schema.Resource
	before, after := places(was), places(is)
	changed := was == nil || !maps.EqualFunc(before, after, same)
	if id = int64(is.Record.Key()); changed {
		t, err := x.entity(ctx, entityOf(r))
		if err != nil {
			return 0, err
		}
		if was == nil {
			if id, err = t.addRecord(ctx, is, after); err != nil {
				return 0, err
			}
		}
		if err := t.saveValues(ctx, id, before, after); err != nil {
			return 0, err
		}
	}
	switch r {
	case adapter.Products:
		err = x.saveProductParts(ctx, id, was, is, changed)
	case adapter.CustomerAddresses:
		err = x.saveDefaults(ctx, id, was, is)
	}
	return id, err
}

// addRecord adds the row of a new record, and the values that saveValues does not write.
func (t entityTable) addRecord(ctx context.Context, is *adapter.Aggregate, values map[place]adapter.Value) (int64, error) {
	columns := map[string]any{}
	for at, v := range values {
		if at.store == 0 && t.isColumn(at.attribute) {
			columns[at.attribute] = argument(v)
		}
	}
	if t.entity == address {
		columns["parent_id"] = is.Record.Get("customer_id").Int()
	}
	id, err := t.add(ctx, columns)
	if err != nil || t.entity != product {
		return id, err
	}
	const none = "no_selection" // a product is created without images
	return id, t.setAll(ctx, id, map[string]any{"image": none, "small_image": none, "thumbnail": none})
}

// saveValues writes the values that differ.
func (t entityTable) saveValues(ctx context.Context, id int64, before, after map[place]adapter.Value) error {
	for at := range before {
		if _, ok := after[at]; !ok {
			if err := t.unset(ctx, id, at.store, at.attribute); err != nil {
				return err
			}
		}
	}
	for at, v := range after {
		if old, ok := before[at]; ok && same(old, v) {
			continue
		}
		if err := t.set(ctx, id, at.store, at.attribute, argument(v)); err != nil {
			return err
		}
	}
	return nil
}

// saveDefaults writes which addresses are the default ones of their customer.
func (x transaction) saveDefaults(ctx context.Context, id int64, was, is *adapter.Aggregate) error {
	owner := is.Record.Get("customer_id").Int()
	t, err := x.entity(ctx, customer)
	if err != nil {
		return err
	}
	for _, kind := range []string{"default_billing", "default_shipping"} {
		before := was != nil && was.Record.Get("is_"+kind).Int() == 1
		after := is.Record.Get("is_"+kind).Int() == 1
		switch {
		case after && !before:
			err = t.set(ctx, owner, 0, kind, id)
		case before && !after: // unless another address has become it
			err = x.exec(ctx, "DELETE FROM {p}customer_entity_int WHERE entity_id = ? AND attribute_id = ? AND value = ?", owner, t.attributes[kind].id, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
