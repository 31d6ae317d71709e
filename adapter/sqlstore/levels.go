package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Keys returns the given keys under which there are records, after locking these if lock
// is set.
func (t *Tx) Keys(ctx context.Context, r adapter.Resource, keys []adapter.Key, lock bool) ([]adapter.Key, error) {
	of := t.records.Table(r)
	end := " ORDER BY " + of.KeyColumn()
	if lock {
		end += t.DB.Engine.LockClause
	}
	if lock {
		for batch := range slices.Chunk(keys, engine.IDsPerStatement) {
			if err := t.LockOnNodes(ctx, string(r), integers(batch)...); err != nil {
				return nil, err
			}
		}
	}
	var found []adapter.Key
	err := engine.EachRowOf(ctx, t.Query, keys, func(rows engine.Rows) error {
		var key adapter.Key
		err := rows.Scan(&key)
		found = append(found, key)
		return err
	}, "SELECT "+of.KeyColumn()+" FROM "+of.Name+" WHERE ", of.KeyColumn(), end)
	return found, err
}

// integers returns keys as integers.
func integers(keys []adapter.Key) []int64 {
	all := make([]int64, len(keys))
	for i, key := range keys {
		all[i] = int64(key)
	}
	return all
}

// A levelReader collects the scoped values of records, by record and scope.
type levelReader struct {
	schema *adapter.Schema
	found  []rules.LevelValues
	at     map[[2]int64]int
}

// record returns the values that a record has at a scope.
func (l *levelReader) record(key, level int64) adapter.Record {
	i, ok := l.at[[2]int64{key, level}]
	if !ok {
		i = len(l.found)
		l.at[[2]int64{key, level}] = i
		l.found = append(l.found, rules.LevelValues{Key: adapter.Key(key), Level: level, Record: adapter.NewRecord(l.schema)})
	}
	return l.found[i].Record
}

// Levels returns the scoped values of records.
func (t *Tx) Levels(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]rules.LevelValues, error) {
	l := &levelReader{schema: t.records.Schemas.Of(r), at: map[[2]int64]int{}}
	var key, level int64
	switch r {
	case adapter.Categories:
		var name adapter.Value
		err := engine.EachRowOf(ctx, t.Query, keys, func(rows engine.Rows) error {
			err := rows.Scan(&key, &level, engine.NewCell(adapter.KindText, &name))
			l.record(key, level).Set("name", name)
			return err
		}, "SELECT category_id, store_id, name FROM category_value WHERE ", "category_id", "")
		return l.found, err
	case adapter.ProductImages:
		var v rules.ImageValues
		cells := []any{&key, &level, engine.NewCell(adapter.KindText, &v.Label), engine.NewCell(adapter.KindInteger, &v.Position), engine.NewCell(adapter.KindInteger, &v.Exclude)}
		err := engine.EachRowOf(ctx, t.Query, keys, func(rows engine.Rows) error {
			err := rows.Scan(cells...)
			r := l.record(key, level)
			r.Set("label", v.Label)
			r.Set("position", v.Position)
			r.Set("exclude", v.Exclude)
			return err
		}, "SELECT image_id, store_id, label, position, exclude FROM product_image_value WHERE ", "image_id", "")
		return l.found, err
	default:
		err := engine.EachRowOf(ctx, t.Query, keys, l.readProductValue, "SELECT product_id, store_id, attribute, value FROM product_value WHERE ", "product_id", "")
		return l.found, err
	}
}

// readProductValue reads a value of a product at a store view.
func (l *levelReader) readProductValue(rows engine.Rows) error {
	var key, level int64
	var name string
	var value sql.NullString
	if err := rows.Scan(&key, &level, &name, &value); err != nil {
		return err
	}
	at, ok := l.schema.Index(name)
	if !ok {
		return nil // the attribute is no longer configured
	}
	v, err := engine.ScopedValue(l.schema.Attributes[at].Kind, value)
	l.record(key, level).Values[at] = v
	return err
}

// Pointers returns, by scope, the images to which the types of products point.
func (t *Tx) Pointers(ctx context.Context, products []adapter.Key) ([]rules.LevelValues, error) {
	l := &levelReader{schema: t.records.Schemas.Of(adapter.Products), at: map[[2]int64]int{}}
	var key, level int64
	var name string
	var image adapter.Value
	err := engine.EachRowOf(ctx, t.Query, products, func(rows engine.Rows) error {
		err := rows.Scan(&key, &level, &name, engine.NewCell(adapter.KindInteger, &image))
		l.record(key, level).Set(rules.PointerTo(name), image)
		return err
	}, "SELECT product_id, store_id, type, image_id FROM product_image_pointer WHERE ", "product_id", "")
	return l.found, err
}

// SetLevels changes scoped (store-view) values.
func (t *Tx) SetLevels(ctx context.Context, r adapter.Resource, changes ...rules.LevelChange) error {
	switch r {
	case adapter.Categories:
		return t.setRows(ctx, "category_value", "category_id", []string{"name", "name_folded"}, changes, func(r adapter.Record) []any {
			name := r.Get("name")
			return []any{textArgument(name), engine.Fold(name)}
		})
	case adapter.ProductImages:
		return t.setRows(ctx, "product_image_value", "image_id", []string{"label", "position", "exclude"}, changes, func(r adapter.Record) []any {
			return []any{textArgument(r.Get("label")), integerArgument(r.Get("position")), integerArgument(r.Get("exclude"))}
		})
	default:
		return t.setProductLevels(ctx, changes)
	}
}

// textArgument returns a text, or nil.
func textArgument(v adapter.Value) any {
	if v.Kind() != adapter.Text {
		return nil
	}
	return v.Text()
}

// integerArgument returns an integer, or nil.
func integerArgument(v adapter.Value) any {
	if v.Kind() != adapter.Integer {
		return nil
	}
	return v.Int()
}

// setRows changes values that are stored as one row for each record and scope.
func (t *Tx) setRows(ctx context.Context, table, keyColumn string, columns []string, changes []rules.LevelChange, arguments func(adapter.Record) []any) error {
	var rows [][]any
	for _, c := range changes {
		if c.Current.Schema != nil {
			if err := t.Exec(ctx, "DELETE FROM "+table+" WHERE "+keyColumn+" = ? AND store_id = ?", int64(c.Key), c.Level); err != nil {
				return err
			}
		}
		next, removed := adapter.NewRecord(c.Change.Schema), false
		if c.Current.Schema != nil {
			copy(next.Values, c.Current.Values)
		}
		for i, v := range c.Change.Values {
			removed = removed || v.Kind() == adapter.Unset
			if v.Kind() != adapter.Absent {
				next.Values[i] = v
			}
		}
		if !removed {
			rows = append(rows, append([]any{int64(c.Key), c.Level}, arguments(next)...))
		}
	}
	return t.InsertValues(ctx, table, append([]string{keyColumn, "store_id"}, columns...), rows, "")
}

// setProductLevels changes scoped values of products and their pointers to images.
func (t *Tx) setProductLevels(ctx context.Context, changes []rules.LevelChange) error {
	var values, pointers [][]any
	var replaced levelRows
	for i := range changes {
		c := &changes[i]
		var oldValues, oldPointers []string
		for at, v := range c.Change.Values {
			a := &c.Change.Schema.Attributes[at]
			if v.Kind() == adapter.Absent {
				continue
			}
			was := c.Current.Schema != nil && c.Current.Values[at].Kind() != adapter.Absent
			if t.records.Products.Table.Columns[at].Late {
				pointer := strings.TrimSuffix(a.Name, rules.PointerTo(""))
				if was {
					oldPointers = append(oldPointers, pointer)
				}
				if v.Kind() != adapter.Unset {
					pointers = append(pointers, []any{int64(c.Key), c.Level, pointer, integerArgument(v)})
				}
				continue
			}
			if was {
				oldValues = append(oldValues, a.Name)
			}
			if v.Kind() == adapter.Unset {
				continue
			}
			value, folded, err := t.DB.Engine.ValueTexts(a, v)
			if err != nil {
				return &adapter.Error{Kind: adapter.Invalid, Op: "write a scoped value", Field: a.Name, Err: err}
			}
			values = append(values, []any{int64(c.Key), c.Level, a.Name, value, folded})
		}
		replaced.add("product_value", "attribute", c, oldValues)
		replaced.add("product_image_pointer", "type", c, oldPointers)
	}
	if err := replaced.delete(ctx, t); err != nil {
		return err
	}
	if err := t.InsertValues(ctx, "product_value", []string{"product_id", "store_id", "attribute", "value", "value_folded"}, values, ""); err != nil {
		return err
	}
	return t.InsertValues(ctx, "product_image_pointer", []string{"product_id", "store_id", "type", "image_id"}, pointers, "")
}

// levelRows are rows of products at scopes, grouped by one statement that can delete
// them: the rows of the same names at the same scope.
type levelRows struct {
	order    []levelNames
	products map[levelNames][]adapter.Key
}

// levelNames are the values of a column at a scope, joined by commas.
type levelNames struct {
	table, column, names string
	level                int64
}

// add adds the rows of a product that a change replaces.
func (l *levelRows) add(table, column string, c *rules.LevelChange, names []string) {
	if len(names) == 0 {
		return
	}
	if l.products == nil {
		l.products = map[levelNames][]adapter.Key{}
	}
	id := levelNames{table, column, strings.Join(names, ","), c.Level}
	if l.products[id] == nil {
		l.order = append(l.order, id)
	}
	l.products[id] = append(l.products[id], c.Key)
}

// delete deletes the rows.
func (l *levelRows) delete(ctx context.Context, t *Tx) error {
	for _, id := range l.order {
		var names []any
		for _, name := range strings.Split(id.names, ",") {
			names = append(names, name)
		}
		names = engine.PadToPowerOfTwo(names)
		for chunk := range slices.Chunk(l.products[id], engine.IDsPerStatement) {
			keys := engine.KeyArguments(chunk)
			text := "DELETE FROM " + id.table + " WHERE " + engine.InList("product_id", keys) + " AND store_id = ? AND " + engine.InList(id.column, names)
			if err := t.Exec(ctx, text, slices.Concat(keys, []any{id.level}, names)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Note notes that records came from a source.
func (t *Tx) Note(ctx context.Context, source string, r adapter.Resource, keys ...adapter.Key) error {
	rows := make([][]any, len(keys))
	for i, key := range keys {
		rows[i] = []any{source, string(r), int64(key)}
	}
	return t.InsertValues(ctx, "imported_record", []string{"source", "resource", "record_key"}, rows, t.DB.Engine.IgnoreDuplicate("source, resource, record_key"))
}

// Forget removes the notes about records.
func (t *Tx) Forget(ctx context.Context, r adapter.Resource, keys ...adapter.Key) error {
	for chunk := range slices.Chunk(keys, engine.IDsPerStatement) {
		arguments := engine.KeyArguments(chunk)
		if err := t.Exec(ctx, "DELETE FROM imported_record WHERE resource = ? AND "+engine.InList("record_key", arguments), append([]any{string(r)}, arguments...)...); err != nil {
			return err
		}
	}
	return nil
}

// SetPosition stores how far the changes of a source have been imported.
func (t *Tx) SetPosition(ctx context.Context, source, position string) error {
	return coordination.SetImportPosition(ctx, t.Tx, source, position)
}

// Position returns the last position of a source, as described at [adapter.Noter].
func (a *RecordAdapter) Position(ctx context.Context, source string) (string, error) {
	return coordination.NewImportLog(a.db.DB).Position(ctx, source)
}

// Noted returns the keys of records that came from a source, as described at
// [adapter.Noter].
func (a *RecordAdapter) Noted(ctx context.Context, source string, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Key, error) {
	keys, err := engine.SelectColumn[adapter.Key](ctx, a.db.ReadStatements.Query,
		"SELECT record_key FROM imported_record WHERE source = ? AND resource = ? AND record_key > ? ORDER BY record_key LIMIT ?", source, string(r), int64(after), limit)
	return keys, a.db.WrapError(ctx, "list imported records", err)
}
