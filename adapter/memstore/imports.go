package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Keys returns the given keys under which there are records.
func (x tx) Keys(_ context.Context, r adapter.Resource, keys []adapter.Key, _ bool) ([]adapter.Key, error) {
	var found []adapter.Key
	for _, key := range keys {
		if x.row(r, key) != nil {
			found = append(found, key)
		}
	}
	return found, nil
}

// Levels returns the scoped values of records.
func (x tx) Levels(_ context.Context, r adapter.Resource, keys []adapter.Key) ([]rules.LevelValues, error) {
	var all []rules.LevelValues
	for _, key := range keys {
		stored := x.row(r, key)
		if stored == nil {
			continue
		}
		for view, own := range stored.views {
			all = append(all, rules.LevelValues{Key: key, Level: view, Record: own.Clone()})
		}
		for level, own := range stored.levels {
			record := adapter.NewRecord(x.tables[r].schema)
			own.Put(record)
			all = append(all, rules.LevelValues{Key: key, Level: level, Record: record})
		}
	}
	return all, nil
}

// Pointers returns, by scope, the images to which the types of products point.
func (x tx) Pointers(_ context.Context, products []adapter.Key) ([]rules.LevelValues, error) {
	var all []rules.LevelValues
	for _, key := range products {
		stored := x.row(adapter.Products, key)
		if stored == nil {
			continue
		}
		for pointer, to := range stored.types {
			image := adapter.NullValue()
			if x.row(adapter.ProductImages, to) != nil {
				image = adapter.IntegerValue(int64(to))
			}
			record := adapter.NewRecord(x.tables[adapter.Products].schema)
			record.Set(rules.PointerTo(pointer.Name), image)
			all = append(all, rules.LevelValues{Key: key, Level: pointer.Level, Record: record})
		}
	}
	return all, nil
}

// SetLevels changes scoped values of records.
func (x tx) SetLevels(_ context.Context, r adapter.Resource, changes ...rules.LevelChange) error {
	for _, c := range changes {
		next := *x.row(r, c.Key)
		switch {
		case r == adapter.ProductImages:
			next.levels = cloneOrMake(next.levels)
			if values := c.Change; values.Get("label").Kind() == adapter.Unset {
				delete(next.levels, c.Level)
			} else {
				next.levels[c.Level] = imageValues(next.levels[c.Level], values)
			}
		default:
			next.types = pointTypes(next.types, c)
			next.views = cloneOrMake(next.views)
			setView(next.views, c)
		}
		x.put(&next)
	}
	return nil
}

// imageValues returns the values of an image at a scope after a change.
func imageValues(was rules.ImageValues, change adapter.Record) rules.ImageValues {
	for name, v := range map[string]*adapter.Value{"label": &was.Label, "position": &was.Position, "exclude": &was.Exclude} {
		if next := change.Get(name); next.Kind() != adapter.Absent {
			*v = next
		}
	}
	return was
}

// setView changes the values at a store view, other than pointers to images.
func setView(views map[int64]adapter.Record, c rules.LevelChange) {
	change := c.Change.Clone()
	for _, name := range rules.ImageTypes() {
		if at, ok := change.Schema.Index(rules.PointerTo(name)); ok {
			change.Values[at] = adapter.Value{}
		}
	}
	isAbsent := func(v adapter.Value) bool { return v.Kind() == adapter.Absent }
	if !slices.ContainsFunc(change.Values, func(v adapter.Value) bool { return !isAbsent(v) }) {
		return
	}
	own, ok := views[c.Level]
	if !ok {
		own = adapter.NewRecord(change.Schema)
	}
	next := withChange(own, change)
	if views[c.Level] = next; !slices.ContainsFunc(next.Values, func(v adapter.Value) bool { return !isAbsent(v) }) {
		delete(views, c.Level)
	}
}

// pointTypes returns types after a change of the pointers of a product at a scope.
func pointTypes(types rules.Types, c rules.LevelChange) rules.Types {
	changed := false
	for _, name := range rules.ImageTypes() {
		v := c.Change.Get(rules.PointerTo(name))
		if v.Kind() == adapter.Absent {
			continue
		}
		if !changed {
			types, changed = cloneOrMake(types), true
		}
		at := rules.TypeAt{Level: c.Level, Name: name}
		if v.Kind() == adapter.Unset {
			delete(types, at)
		} else {
			types[at] = adapter.Key(v.Int())
		}
	}
	return types
}

// noteID is the key of the notes about a record. Keys sort by resource and key.
func noteID(r adapter.Resource, key adapter.Key) string {
	digits := adapter.IntegerValue(int64(key)).Text()
	return string(r) + "\x00" + strings.Repeat("0", 19-len(digits)) + digits
}

// Note notes that records came from a source.
func (x tx) Note(_ context.Context, source string, r adapter.Resource, keys ...adapter.Key) error {
	for _, key := range keys {
		id := noteID(r, key)
		if sources, _ := x.notes.get(id); !slices.Contains(sources, source) {
			x.notes.set(x.version, id, append(slices.Clone(sources), source))
		}
	}
	return nil
}

// Forget removes the notes about records.
func (x tx) Forget(_ context.Context, r adapter.Resource, keys ...adapter.Key) error {
	for _, key := range keys {
		x.notes.remove(x.version, noteID(r, key))
	}
	return nil
}

// Changed does nothing: no other process has these records.
func (tx) Changed(context.Context, map[adapter.Resource][]adapter.Key) error { return nil }

// SetPosition stores how far the changes of a source have been imported.
func (x tx) SetPosition(_ context.Context, source, position string) error {
	positions := maps.Clone(x.positions)
	if positions == nil {
		positions = map[string]string{}
	}
	positions[source] = position
	x.positions = positions
	return nil
}

// Position returns the last position of a source, as described at [adapter.Noter].
func (a *Adapter) Position(ctx context.Context, source string) (string, error) {
	s, err := a.db.read(ctx, "read position")
	if err != nil {
		return "", err
	}
	return s.positions[source], nil
}

// Noted returns the keys of records that came from a source, as described at
// [adapter.Noter].
func (a *Adapter) Noted(ctx context.Context, source string, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Key, error) {
	s, err := a.db.read(ctx, "list imported records")
	if err != nil {
		return nil, err
	}
	var keys []adapter.Key
	for id, sources := range s.notes.from(noteID(r, max(after+1, 0))) {
		digits, ok := strings.CutPrefix(id, string(r)+"\x00")
		if !ok || len(keys) == limit {
			break
		}
		if slices.Contains(sources, source) {
			keys = append(keys, parseKey(digits))
		}
	}
	return keys, nil
}

// parseKey returns the key in a noteID.
func parseKey(digits string) adapter.Key {
	var key adapter.Key
	for _, digit := range digits {
		key = 10*key + adapter.Key(digit-'0')
	}
	return key
}
