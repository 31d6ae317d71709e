package imports

import (
	"context"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A snapshot is the stored state of an aggregate.
type snapshot struct {
	record adapter.Record // with price lists
	parts  map[adapter.Resource][]adapter.Record
	levels map[levelID]adapter.Record
}

// A levelID identifies a record's values at a scope.
type levelID struct {
	recordID
	level int64
}

// load reads the stored state of the records of a group, and applies the pending values to
// them.
func (in *importTx) load(ctx context.Context, units []*unit) error {
	for _, u := range units {
		u.Aggregate, u.deletedHere, u.pending, u.settled = u.given, false, false, settled{}
	}
	if err := in.loadStored(ctx, units); err != nil {
		return err
	}
	return in.keepPending(ctx, units)
}

// loadStored reads the stored state of the records of a group.
func (in *importTx) loadStored(ctx context.Context, units []*unit) error {
	byKey := make(map[adapter.Key]*unit, len(units))
	var keys []adapter.Key
	for _, u := range units {
		u.exists, u.stored = in.isBare(u), snapshot{}
		if u.hasKey() && !u.exists {
			byKey[u.key] = u
			keys = append(keys, u.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := in.loadRecords(ctx, byKey, keys, units[0]); err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key adapter.Key) bool { return !byKey[key].exists || byKey[key].Gone })
	if len(keys) == 0 || in.Existing == adapter.KeepExisting && !units[0].PartsOnly {
		return nil
	}
	if err := in.loadParts(ctx, byKey, keys, units); err != nil {
		return err
	}
	resource, of := units[0].schema.Resource, func(key adapter.Key) *unit { return byKey[key] }
	if hasLevels(resource) && !units[0].PartsOnly {
		found, err := in.Levels(ctx, resource, keys)
		if err != nil {
			return err
		}
		addLevels(resource, found, of)
	}
	if resource == adapter.Products && slices.ContainsFunc(units, (*unit).hasPointers) {
		found, err := in.Pointers(ctx, keys)
		if err != nil {
			return err
		}
		addLevels(resource, found, of)
	}
	return nil
}

// hasPointers reports whether pointers to images come with a product.
func (u *unit) hasPointers() bool {
	return slices.Contains(u.PartsOf, adapter.ProductImages) || slices.ContainsFunc(u.Levels, func(l adapter.Level) bool {
		return slices.ContainsFunc(rules.ImageTypes(), func(name string) bool { return l.Record.Get(rules.PointerTo(name)).Kind() != adapter.Absent })
	})
}

// loadRecords reads the records themselves. It skips records of which only the parts are
// imported.
func (in *importTx) loadRecords(ctx context.Context, byKey map[adapter.Key]*unit, keys []adapter.Key, like *unit) error {
	resource := like.schema.Resource
	if like.PartsOnly {
		found, err := in.Keys(ctx, resource, keys, false)
		for _, key := range found {
			byKey[key].exists = true
		}
		return err
	}
	var lists []string
	if resource == adapter.Products {
		lists = rules.PriceLists()
	}
	found, err := in.Find(ctx, resource, like.schema.Key, keyValues(keys), lists...)
	for _, r := range found {
		u := byKey[r.Key()]
		u.exists, u.stored.record = true, r
		in.exists[u.id()] = true
	}
	return err
}

// keyValues returns keys as values.
func keyValues(keys []adapter.Key) []adapter.Value {
	values := make([]adapter.Value, len(keys))
	for i, key := range keys {
		values[i] = adapter.IntegerValue(int64(key))
	}
	return values
}

// loadParts reads the parts of the resources of which the aggregates have parts, and their
// scoped values.
func (in *importTx) loadParts(ctx context.Context, byKey map[adapter.Key]*unit, keys []adapter.Key, units []*unit) error {
	wanted := map[adapter.Resource]bool{}
	for _, u := range units {
		for _, r := range u.partResources() {
			wanted[r] = true
		}
	}
	for _, r := range slices.Sorted(maps.Keys(wanted)) {
		attribute := in.schemas.Of(r).RootAttribute
		found, err := in.Find(ctx, r, attribute, keyValues(keys))
		if err != nil {
			return err
		}
		ofPart := make(map[adapter.Key]*unit, len(found))
		parts := make([]adapter.Key, len(found))
		for i, part := range found {
			u := byKey[adapter.Key(part.Get(attribute).Int())]
			if u.stored.parts == nil {
				u.stored.parts = map[adapter.Resource][]adapter.Record{}
			}
			u.stored.parts[r] = append(u.stored.parts[r], part)
			parts[i] = part.Key()
			ofPart[parts[i]] = u
		}
		if len(parts) == 0 || !hasLevels(r) {
			continue
		}
		levels, err := in.Levels(ctx, r, parts)
		if err != nil {
			return err
		}
		addLevels(r, levels, func(key adapter.Key) *unit { return ofPart[key] })
	}
	return nil
}

// partResources names the resources of which the aggregate has parts, or has all parts.
func (u *unit) partResources() []adapter.Resource {
	resources := slices.Clone(u.PartsOf)
	for _, part := range u.Parts {
		if !slices.Contains(resources, part.Schema.Resource) {
			resources = append(resources, part.Schema.Resource)
		}
	}
	return resources
}

// addLevels adds the scoped values of records to the snapshots of their units.
func addLevels(r adapter.Resource, found []rules.LevelValues, of func(adapter.Key) *unit) {
	for _, values := range found {
		u := of(values.Key)
		if u.stored.levels == nil {
			u.stored.levels = map[levelID]adapter.Record{}
		}
		id := levelID{recordID{r, values.Key}, values.Level}
		if known, ok := u.stored.levels[id]; ok {
			for i, v := range values.Record.Values {
				if v.Kind() == adapter.Absent {
					values.Record.Values[i] = known.Values[i]
				}
			}
		}
		u.stored.levels[id] = values.Record
	}
}
