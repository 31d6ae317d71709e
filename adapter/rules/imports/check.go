package imports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A reference is a record that another one needs, and the attribute that names it.
type reference struct {
	recordID
	field string
}

// targetOf returns the target of assignments of a resource, without a key. The reference
// has no field if records of the resource are not assignments.
func targetOf(r adapter.Resource) reference {
	switch r {
	case adapter.ProductWebsites:
		return reference{recordID{resource: adapter.Websites}, "website_id"}
	case adapter.ProductCategories:
		return reference{recordID{resource: adapter.Categories}, "category_id"}
	}
	return reference{}
}

// references returns the records that a record needs: its customer, the record that it is a
// part of, and the target of an assignment. isPart leaves out the second.
func references(r adapter.Record, isPart bool) []reference {
	var needed []reference
	add := func(resource adapter.Resource, field string) {
		if v := r.Get(field); !v.Empty() {
			needed = append(needed, reference{recordID{resource, adapter.Key(v.Int())}, field})
		}
	}
	if s := r.Schema; !isPart {
		if s.Owner != "" && s.Owner != s.Key {
			add(adapter.Customers, s.Owner)
		}
		if s.Root != "" && s.RootAttribute != s.Owner {
			add(s.Root, s.RootAttribute)
		}
	}
	if target := targetOf(r.Schema.Resource); target.field != "" {
		add(target.resource, target.field)
	}
	return needed
}

// check fails if records that are to be stored lack others that they need, or if others
// have their unique values (SKUs are checked by checkSKUs), or the keys of their parts. all also holds the removed records
// of the group.
func (in *importTx) check(ctx context.Context, units, all []*unit) error {
	if err := in.checkReferences(ctx, units); err != nil {
		return err
	}
	if err := in.checkStoreViews(ctx, units); err != nil {
		return err
	}
	if err := in.checkPointers(units); err != nil {
		return err
	}
	if err := in.checkUnique(ctx, units, all); err != nil {
		return err
	}
	return in.checkPartKeys(ctx, units)
}

// checkReferences checks the existence of the records that others need.
func (in *importTx) checkReferences(ctx context.Context, units []*unit) error {
	var needed []reference
	for _, u := range units {
		if !u.PartsOnly {
			needed = append(needed, references(u.Record, false)...)
		}
		for _, part := range u.added {
			needed = append(needed, references(part, true)...)
		}
	}
	unknown := map[adapter.Resource][]adapter.Key{}
	for _, n := range needed {
		if _, known := in.exists[n.recordID]; !known {
			in.exists[n.recordID] = false
			unknown[n.resource] = append(unknown[n.resource], n.key)
		}
	}
	for _, r := range inOrder(unknown) {
		found, err := in.Keys(ctx, r, unknown[r], false)
		if err != nil {
			return err
		}
		for _, key := range found {
			in.exists[recordID{r, key}] = true
		}
	}
	for _, n := range needed {
		if !in.exists[n.recordID] && !in.isExpected(n.recordID) {
			return &adapter.Error{Kind: adapter.NotFound, Op: in.op, Field: n.field}
		}
	}
	return nil
}

// checkStoreViews checks that the store views of all scoped values exist. Only products and
// categories refer to them: images keep the values of any scope.
func (in *importTx) checkStoreViews(ctx context.Context, units []*unit) error {
	for _, u := range units {
		for _, l := range u.Levels {
			if l.StoreID == 0 {
				continue
			}
			if in.views == nil {
				all, err := in.StoreViews(ctx)
				if err != nil {
					return err
				}
				in.views = make(map[int64]bool, len(all))
				for _, view := range all {
					in.views[view.ID] = true
				}
			}
			if !in.views[l.StoreID] && !in.isExpected(recordID{adapter.Stores, adapter.Key(l.StoreID)}) {
				return rules.Invalid(in.op, "store_id", rules.ErrStoreView)
			}
		}
	}
	return nil
}

// checkPointers checks that the types of a product point to images of the product.
func (in *importTx) checkPointers(units []*unit) error {
	for _, u := range units {
		for _, l := range u.levels {
			if l.resource != adapter.Products {
				continue
			}
			for _, name := range rules.ImageTypes() {
				v := l.Change.Get(rules.PointerTo(name))
				if v.Kind() == adapter.Integer && !u.hasImage(adapter.Key(v.Int())) {
					return rules.Invalid(in.op, rules.PointerTo(name), errNoImage)
				}
			}
		}
	}
	return nil
}

// hasImage reports whether a product will have an image.
func (u *unit) hasImage(key adapter.Key) bool {
	is := func(r adapter.Record) bool { return r.Schema.Resource == adapter.ProductImages && r.Key() == key }
	return slices.ContainsFunc(u.Parts, is) || !slices.Contains(u.PartsOf, adapter.ProductImages) && slices.ContainsFunc(u.stored.parts[adapter.ProductImages], is)
}

// checkUnique fails with kind Conflict if a record would have the unique values of another
// one. It compares the records as they will be after the whole group, so that records may
// exchange such values, and notes in giveUp the records that have to give theirs up first. Products are only noted in
// skuChanges, for checkSKUs.
func (in *importTx) checkUnique(ctx context.Context, units, all []*unit) error {
	if len(all) == 0 || all[0].PartsOnly {
		return nil
	}
	names := uniqueNames(all[0].schema)
	if len(names) == 0 {
		return nil
	}
	next := map[*unit]string{}
	moving := map[adapter.Key]*unit{} // the existing records whose values change
	var changing []*unit
	for _, u := range units {
		values := UniqueValues(u.merged())
		if values != "" && (!u.exists || values != UniqueValues(u.stored.record)) {
			changing, next[u] = append(changing, u), values
			if u.exists {
				moving[u.key] = u
			}
		}
	}
	if all[0].schema.Resource == adapter.Products {
		in.skuChanges = append(in.skuChanges, changing...)
		for _, u := range all {
			if u.Gone {
				in.skuChanges = append(in.skuChanges, u)
			}
		}
		return nil
	}
	if len(changing) == 0 {
		return nil
	}
	owners, err := in.uniqueOwners(ctx, changing, all, names)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, u := range changing {
		owner, owned := owners[next[u]]
		owned = owned && (owner != u.key || !u.exists)
		if taken[next[u]] || owned && moving[owner] == nil {
			return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(u.schema.Resource), Field: names[len(names)-1], Err: errUnique}
		}
		taken[next[u]] = true
		if owned {
			in.giveUp[owner] = true
		}
	}
	return nil
}

// checkSKUs fails with kind Conflict if a product whose SKU is new shares it with another one. No unique
// key can decide that (see products.go of package rules). It comes after the records are stored, because it takes the
// lock of SKUs, which is held until the transaction ends.
func (in *importTx) checkSKUs(ctx context.Context) error {
	latest := map[adapter.Key]*unit{} // as a batch may have a product several times
	for _, u := range in.skuChanges {
		latest[u.key] = u
	}
	var units []*unit
	var values []adapter.Value
	for _, u := range in.skuChanges {
		if !u.Gone && (u.key == 0 || latest[u.key] == u) { // a dry run chooses no key
			units, values = append(units, u), append(values, u.merged().Get("sku"))
		}
	}
	if len(units) == 0 {
		return nil
	}
	if err := in.LockName(ctx, "sku"); err != nil {
		return err
	}
	found, err := in.Find(ctx, adapter.Products, "sku", values)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, r := range found {
		if latest[r.Key()] == nil {
			taken[UniqueValues(r)] = true
		}
	}
	for _, u := range units {
		sku := UniqueValues(u.merged())
		if taken[sku] {
			return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(adapter.Products), Field: "sku", Err: errUnique}
		}
		taken[sku] = true
	}
	return nil
}

// uniqueOwners returns the keys of the stored records that may have the unique values that
// some records get. Removed records have none.
func (in *importTx) uniqueOwners(ctx context.Context, changing, all []*unit, names []string) (map[string]adapter.Key, error) {
	schema := changing[0].schema
	by := names[len(names)-1]
	if slices.Contains(names, schema.RootAttribute) {
		by = schema.RootAttribute
	}
	var values []adapter.Value
	for _, u := range changing {
		values = append(values, u.merged().Get(by))
	}
	found, err := in.Find(ctx, schema.Resource, by, values)
	if err != nil {
		return nil, err
	}
	gone := map[adapter.Key]bool{}
	for _, u := range all {
		gone[u.key] = gone[u.key] || u.Gone
	}
	owners := make(map[string]adapter.Key, len(found))
	for _, r := range found {
		if values := UniqueValues(r); values != "" && !gone[r.Key()] {
			owners[values] = r.Key()
		}
	}
	return owners, nil
}

// giveUpValues replaces the unique value of each record in giveUp by one that no record
// has, so that another record of the group can get it. The records get their own new values
// afterwards.
func (in *importTx) giveUpValues(ctx context.Context, units []*unit) error {
	for _, u := range units {
		if !in.giveUp[u.key] {
			continue
		}
		names := uniqueNames(u.schema)
		change := adapter.NewRecord(u.schema)
		change.Set(names[len(names)-1], adapter.TextValue(fmt.Sprintf("given up by %d", u.key)))
		if err := in.Update(ctx, u.stored.record, change); err != nil {
			return err
		}
	}
	clear(in.giveUp)
	return nil
}

// uniqueNames returns the attributes whose values, taken together, no two records share.
func uniqueNames(s *adapter.Schema) []string {
	if s.Resource == adapter.Products {
		return []string{"sku"}
	}
	return s.Unique
}

// UniqueValues returns a text of the unique values of r: of the records of a resource with the same text only one can
// be stored. It is "" if one of the values is missing, as null equals nothing.
func UniqueValues(r adapter.Record) string {
	var b strings.Builder
	for _, name := range uniqueNames(r.Schema) {
		v := r.Get(name)
		if v.Empty() {
			return ""
		}
		if v.Kind() == adapter.Text {
			b.WriteString(adapter.Fold(v.Text()))
		} else {
			b.WriteString(v.Text())
		}
		b.WriteByte(0)
	}
	return b.String()
}

// merged returns the record, completed by the stored values of attributes that it lacks and
// that stay.
func (u *unit) merged() adapter.Record {
	if !u.exists {
		return u.Record
	}
	r := u.stored.record.Clone()
	if u.change.Schema == nil {
		return r
	}
	for i, v := range u.change.Values {
		if v.Kind() != adapter.Absent {
			r.Values[i] = v
		}
	}
	return r
}

// checkPartKeys checks that no other record has a part with the key of a new one.
func (in *importTx) checkPartKeys(ctx context.Context, units []*unit) error {
	keys := map[adapter.Resource][]adapter.Key{}
	roots := map[recordID]adapter.Key{}
	taken := func(id recordID) error {
		return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(id.resource), Field: in.schemas.Of(id.resource).Key, Err: errTaken}
	}
	for _, u := range units {
		for _, part := range u.added {
			id := recordID{part.Schema.Resource, part.Key()}
			if id.key == 0 {
				continue
			}
			if _, twice := roots[id]; twice {
				return taken(id)
			}
			roots[id] = u.key
			keys[id.resource] = append(keys[id.resource], id.key)
		}
	}
	for _, r := range inOrder(keys) {
		found, err := in.Find(ctx, r, in.schemas.Of(r).Key, keyValues(keys[r]))
		if err != nil {
			return err
		}
		removed := in.removedParts(units, r)
		for _, part := range found {
			if !removed[part.Key()] {
				return taken(recordID{r, part.Key()})
			}
		}
	}
	return nil
}

// removedParts returns the keys of the parts of a resource that are removed.
func (in *importTx) removedParts(units []*unit, r adapter.Resource) map[adapter.Key]bool {
	keys := map[adapter.Key]bool{}
	for _, u := range units {
		for _, id := range u.removed {
			if id.resource == r {
				keys[id.key] = true
			}
		}
	}
	return keys
}

// setTimes sets the timestamps that a client's write would set and that r lacks.
func setTimes(r adapter.Record, moment adapter.Value) {
	if !r.Schema.DistinctNulls {
		return // its times are times of events elsewhere
	}
	for _, name := range rules.Timestamps() {
		if rules.HasTimestamp(r.Schema, name) && r.Get(name).Kind() == adapter.Absent {
			r.Set(name, moment)
		}
	}
}
