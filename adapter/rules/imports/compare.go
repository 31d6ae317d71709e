package imports

import (
	"cmp"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A comparer determines the changes that store a batch. It reads nothing from the database.
type comparer struct {
	adapter.ImportOptions
	schemas *adapter.Schemas
	op      string
	moment  adapter.Value
	files   *importedFiles
	// pictured holds the products of the batch whose images come as parts of further
	// aggregates.
	pictured map[adapter.Key]bool
	// ownPointers: new products get only the pointers to images that come with them.
	// Without it, created or imported products get pointers to no image.
	ownPointers bool
}

// differences are the changes after which the database holds an aggregate.
type differences struct {
	change  adapter.Record // values of the record; without a schema if it is new or the same
	prices  map[string]rules.PriceChange
	levels  []levelChange
	added   []adapter.Record // parts
	changed []partChange
	removed []recordID
	files   []string // names whose bytes are stored
}

// A levelChange is a change of a record's values at a scope.
type levelChange struct {
	resource adapter.Resource
	rules.LevelChange
}

// A partChange is a change of a stored part.
type partChange struct{ current, change adapter.Record }

// differs reports whether there is anything to store.
func (d *differences) differs() bool {
	return d.change.Schema != nil || len(d.prices)+len(d.levels)+len(d.added)+len(d.changed)+len(d.removed)+len(d.files) > 0
}

// compare sets the differences between a record and its stored state.
func (c *comparer) compare(u *unit) (err error) {
	if !u.PartsOnly {
		if u.exists {
			u.change, _ = c.compareRecord(u.stored.record, u.Record)
		}
		if u.schema.Resource == adapter.Products {
			if u.prices, err = c.comparePrices(u); err != nil {
				return err
			}
		}
	}
	if !u.exists || u.PartsOnly || c.Existing != adapter.MergeExisting {
		if err := c.compareParts(u); err != nil {
			return err
		}
	}
	u.levels = c.compareLevels(u)
	u.files = c.files.wanted(u)
	return nil
}

// compareRecord returns the change that makes a stored record have the values of r.
// Timestamps that r lacks stay unchanged, except that updated_at is set if other values
// change.
func (c *comparer) compareRecord(current, r adapter.Record) (change adapter.Record, differs bool) {
	for i := range r.Values {
		v, a := r.Values[i], &current.Schema.Attributes[i]
		if a.Name == current.Schema.Key || !rules.IsStored(a) || isDerived(a) {
			continue
		}
		if v.Kind() == adapter.Absent {
			if c.Existing == adapter.MergeExisting || slices.Contains(rules.Timestamps(), a.Name) || isOwnedByLevels(current.Schema.Resource, a) {
				continue
			}
			if v = adapter.NullValue(); current.Schema.DistinctNulls {
				v = adapter.UnsetValue()
			}
		}
		if rules.Same(v, current.Values[i]) {
			continue
		}
		if !differs {
			change, differs = adapter.NewRecord(current.Schema), true
		}
		change.Values[i] = v
	}
	if differs && c.Existing != adapter.MergeExisting {
		setUpdatedAt(change, r, c.moment)
	}
	return change, differs
}

// isOwnedByLevels reports whether an attribute has only scoped values.
func isOwnedByLevels(r adapter.Resource, a *adapter.Attribute) bool {
	return r == adapter.ProductImages && !a.Static
}

// setUpdatedAt sets updated_at of a change unless r has it.
func setUpdatedAt(change, r adapter.Record, moment adapter.Value) {
	if rules.HasTimestamp(r.Schema, "updated_at") && r.Get("updated_at").Kind() == adapter.Absent {
		change.Set("updated_at", moment)
	}
}

// comparePrices returns the changes of the price lists that come with a product.
func (c *comparer) comparePrices(u *unit) (changes map[string]rules.PriceChange, err error) {
	stored := u.stored.record
	if stored.Schema == nil {
		stored = adapter.NewRecord(u.schema)
	}
	for _, list := range rules.ListsIn(u.Record) {
		change, err := rules.ComparePrices(c.op, list, stored.Get(list), u.Record.Get(list))
		if err != nil {
			return nil, err
		}
		if change.IsEmpty() {
			continue
		}
		if changes == nil {
			changes = map[string]rules.PriceChange{}
		}
		changes[list] = change
	}
	return changes, nil
}

// partID identifies a part among the parts of its root: by its key, or for an assignment by
// its target.
func partID(part adapter.Record) recordID {
	if target := targetOf(part.Schema.Resource); target.field != "" {
		return recordID{part.Schema.Resource, adapter.Key(part.Get(target.field).Int())}
	}
	return recordID{part.Schema.Resource, part.Key()}
}

// compareParts compares the parts of an aggregate with the stored ones.
func (c *comparer) compareParts(u *unit) error {
	had := map[recordID]adapter.Record{}
	for _, parts := range u.stored.parts {
		for _, part := range parts {
			had[partID(part)] = part
		}
	}
	seen := make(map[recordID]bool, len(u.Parts))
	for _, part := range u.Parts {
		id := partID(part)
		if keyless := part.Get(part.Schema.Key).Empty() && targetOf(part.Schema.Resource).field == ""; keyless {
			u.added = append(u.added, part)
			continue
		}
		if seen[id] {
			return &adapter.Error{Kind: adapter.Conflict, Op: c.op + " of " + string(id.resource), Field: cmp.Or(targetOf(id.resource).field, part.Schema.Key), Err: errTwice}
		}
		seen[id] = true
		was, there := had[id]
		if !there {
			u.added = append(u.added, part)
			continue
		}
		if change, differs := c.compareRecord(was, part); differs {
			u.changed = append(u.changed, partChange{was, change})
		}
	}
	for _, r := range u.PartsOf {
		for _, part := range u.stored.parts[r] {
			if !seen[partID(part)] {
				u.removed = append(u.removed, recordID{r, part.Key()})
			}
		}
	}
	return nil
}

// compareLevels returns the changes of the scoped values of a record and its parts.
func (c *comparer) compareLevels(u *unit) []levelChange {
	wanted := make(map[levelID]adapter.Record, len(u.Levels))
	for _, l := range u.Levels {
		wanted[levelID{recordID{l.Record.Schema.Resource, l.Record.Key()}, l.StoreID}] = l.Record
	}
	if !u.exists && !u.PartsOnly && u.schema.Resource == adapter.Products && !c.pictured[u.key] && !c.ownPointers {
		initPointers(u, wanted)
	}
	removed := map[recordID]bool{}
	for _, id := range u.removed {
		removed[id] = true
	}
	ids := make(map[levelID]bool, len(wanted))
	for id := range u.stored.levels {
		ids[id] = !removed[id.recordID] // its values go with it
	}
	for id := range wanted {
		ids[id] = true
	}
	var changes []levelChange
	for id, counts := range ids {
		if !counts {
			continue
		}
		current, next := u.stored.levels[id], wanted[id]
		if change, differs := c.compareLevel(u, id, current, next); differs {
			changes = append(changes, levelChange{id.resource, rules.LevelChange{Key: id.key, Level: id.level, Current: current, Change: change}})
		}
	}
	slices.SortFunc(changes, func(a, b levelChange) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Level, b.Level))
	})
	return changes
}

// initPointers makes all types of a new product that comes without images point to no image
// in the default scope.
func initPointers(u *unit, wanted map[levelID]adapter.Record) {
	id := levelID{recordID: u.id()}
	pointers := adapter.NewRecord(u.schema)
	if given, ok := wanted[id]; ok {
		pointers = given.Clone()
	}
	for _, name := range rules.ImageTypes() {
		if pointers.Get(rules.PointerTo(name)).Kind() == adapter.Absent {
			pointers.Set(rules.PointerTo(name), adapter.NullValue())
		}
	}
	wanted[id] = pointers
}

// compareLevel returns the change that gives a record the imported values at a scope.
// Either record may have no schema, which means that there are no values.
func (c *comparer) compareLevel(u *unit, id levelID, current, next adapter.Record) (change adapter.Record, differs bool) {
	schema := c.schemas.Of(id.resource)
	replaced := c.replacesLevels(u, id.resource)
	isRow := id.resource == adapter.ProductImages && next.Schema != nil // a row of nulls counts
	for i := range schema.Attributes {
		a := &schema.Attributes[i]
		if !isAtLevels(id.resource, a) {
			continue
		}
		var is, was adapter.Value
		if next.Schema != nil {
			is = next.Values[i]
		}
		if current.Schema != nil {
			was = current.Values[i]
		}
		switch {
		case is.Kind() == adapter.Absent && isRow:
			is = adapter.NullValue()
		case is.Kind() == adapter.Absent && replaced(a):
			is = adapter.UnsetValue()
		}
		if is.Kind() == adapter.Absent || rules.Same(is, was) {
			continue
		}
		if !differs {
			change, differs = adapter.NewRecord(schema), true
		}
		change.Values[i] = is
	}
	return change, differs
}

// replacesLevels returns a function that reports whether scoped values of an attribute that
// the aggregate lacks are removed.
func (c *comparer) replacesLevels(u *unit, r adapter.Resource) func(*adapter.Attribute) bool {
	merges := c.Existing == adapter.MergeExisting
	withImages := slices.Contains(u.PartsOf, adapter.ProductImages)
	return func(a *adapter.Attribute) bool {
		if r == adapter.ProductImages || isPointer(a) {
			return !merges && withImages
		}
		return !merges && !u.PartsOnly
	}
}

// byResource groups records by their resource.
func byResource(records []adapter.Record) map[adapter.Resource][]adapter.Record {
	groups := map[adapter.Resource][]adapter.Record{}
	for _, r := range records {
		groups[r.Schema.Resource] = append(groups[r.Schema.Resource], r)
	}
	return groups
}

// inOrder returns the resources of groups; a resource comes after the ones that it refers
// to.
func inOrder[V any](groups map[adapter.Resource]V) []adapter.Resource {
	all := adapter.Resources()
	return slices.SortedFunc(maps.Keys(groups), func(a, b adapter.Resource) int {
		return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
	})
}
