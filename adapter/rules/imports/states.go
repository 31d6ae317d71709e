package imports

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/rules"
)

// StateIn returns the state of an attribute of a record at a scope, in an aggregate that holds
// the record: its own value there, or for an image the value that it shows. ok is false if the
// aggregate does not hold the record.
func StateIn(one adapter.Aggregate, of outbox.Record, attribute string) (state string, ok bool) {
	record, ok := recordIn(one, of)
	if !ok {
		return "", false
	}
	at, ok := record.Schema.Index(attribute)
	if !ok {
		return "", false
	}
	a := &record.Schema.Attributes[at]
	levels := levelsIn{one.Levels}
	switch {
	case of.Resource == adapter.ProductImages && attribute == "types":
		return outbox.State(a, adapter.TextsValue(levels.typesOf(of.Key, of.StoreID))), true
	case of.Resource == adapter.ProductImages:
		v := levels.value(of.Resource, of.Key, of.StoreID, at)
		if v.Empty() || v.Kind() == adapter.Text && v.Text() == "" {
			v = levels.value(of.Resource, of.Key, 0, at)
		}
		return outbox.State(a, v), true
	case of.StoreID != 0:
		return outbox.State(a, levels.value(of.Resource, of.Key, of.StoreID, at)), true
	default:
		return outbox.State(a, record.Values[at]), true
	}
}

// recordIn returns a record of an aggregate: the record itself or a part.
func recordIn(one adapter.Aggregate, of outbox.Record) (adapter.Record, bool) {
	if one.Record.Schema.Resource == of.Resource {
		return one.Record, one.Record.Key() == of.Key && !one.PartsOnly
	}
	at := slices.IndexFunc(one.Parts, func(r adapter.Record) bool { return r.Schema.Resource == of.Resource && r.Key() == of.Key })
	if at < 0 {
		return adapter.Record{}, false
	}
	return one.Parts[at], true
}

// levelsIn are the scoped values of an aggregate.
type levelsIn struct{ all []adapter.Level }

// value returns a record's own value at a scope.
func (l levelsIn) value(r adapter.Resource, key adapter.Key, level int64, at int) adapter.Value {
	for _, one := range l.all {
		if one.StoreID == level && one.Record.Schema.Resource == r && one.Record.Key() == key {
			return one.Record.Values[at]
		}
	}
	return adapter.Value{}
}

// typesOf returns the types that point to an image at a scope.
func (l levelsIn) typesOf(image adapter.Key, level int64) []string {
	types := rules.Types{}
	for _, one := range l.all {
		if one.Record.Schema.Resource != adapter.Products {
			continue
		}
		for _, name := range rules.ImageTypes() {
			if v := one.Record.Get(rules.PointerTo(name)); v.Kind() != adapter.Absent {
				types[rules.TypeAt{Level: one.StoreID, Name: name}] = adapter.Key(v.Int())
			}
		}
	}
	var names []string
	for _, name := range rules.ImageTypes() {
		if to, ok := types.At(level, name); ok && to == image {
			names = append(names, name)
		}
	}
	return names
}
