package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A warehouse keeps stock items in a JSON file. It implements [adapter.Adapter], and
// [adapter.Store] for the one resource that it offers.
//
// The file is read at each call, so that other programs may replace it at any time.
type warehouse struct {
	file   string
	schema *adapter.Schema
	writes sync.Mutex // an update reads the file and replaces it
	closed atomic.Bool
}

func newWarehouse(file string, schemas *adapter.Schemas) *warehouse {
	return &warehouse{file: file, schema: schemas.Of(adapter.StockItems)}
}

// Name returns the name that metrics and the log use.
func (w *warehouse) Name() string { return "warehouse" }

// Store returns the store of stock items. Kinds: Unsupported for all other resources, which tells
// Portico that the warehouse does not offer them.
func (w *warehouse) Store(r adapter.Resource) (adapter.Store, error) {
	if r != adapter.StockItems {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
	}
	return w, nil
}

// Ping reports whether the file can be read. Kinds: Unavailable.
func (w *warehouse) Ping(context.Context) error {
	_, err := w.read("ping")
	return err
}

// Close makes all later calls fail.
func (w *warehouse) Close() error {
	w.closed.Store(true)
	return nil
}

// List returns the stock items that p selects. Stock belongs to no customer.
func (w *warehouse) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	const op = "list stock items"
	if p.OwnerID != 0 {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	if err := cmp.Or(w.schema.CheckFilters(p.Filters), w.schema.CheckAttributes(p.With)); err != nil {
		return nil, err
	}
	items, err := w.read(op)
	if err != nil {
		return nil, err
	}
	page, total, err := adapter.Apply(ctx, w.schema, items, &p.Query)
	if err != nil || p.Count {
		return &adapter.ListResult{Total: total}, err
	}
	return &adapter.ListResult{Records: page}, nil
}

// Get returns one stock item.
func (w *warehouse) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	const op = "get stock item"
	if err := ctx.Err(); err != nil {
		return adapter.Record{}, err
	}
	if err := cmp.Or(w.schema.CheckFilters(p.Filters), w.schema.CheckAttributes(p.With)); err != nil {
		return adapter.Record{}, err
	}
	items, err := w.read(op)
	if err != nil {
		return adapter.Record{}, err
	}
	at, err := w.find(op, items, p.Key)
	if err != nil {
		return adapter.Record{}, err
	}
	return items[at], nil
}

// Create fails with kind Unsupported, as the contract creates no stock items.
func (w *warehouse) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, &adapter.Error{Kind: adapter.Unsupported, Op: "create stock item"}
}

// Update changes one stock item. Portico has checked and completed the client's values, so the
// values that p.Change returns are stored unchanged.
func (w *warehouse) Update(ctx context.Context, p *adapter.UpdateParams) error {
	const op = "update stock item"
	w.writes.Lock()
	defer w.writes.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	items, err := w.read(op)
	if err != nil {
		return err
	}
	at, err := w.find(op, items, p.Key)
	if err != nil {
		return err
	}
	current := items[at].Clone()
	change, err := p.Change(items[at])
	if err != nil {
		return err
	}
	if items[at], err = merge(op, current, change); err != nil {
		return err
	}
	if err := w.replace(items); err != nil {
		// Whether the file has been replaced is unknown, so the kind is Unavailable.
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return nil
}

// Delete fails with kind Unsupported, as the contract deletes no stock items.
func (w *warehouse) Delete(context.Context, *adapter.DeleteParams) error {
	return &adapter.Error{Kind: adapter.Unsupported, Op: "delete stock item"}
}

// find returns the index of the item with this key.
func (w *warehouse) find(op string, items []adapter.Record, key adapter.Key) (int, error) {
	at := slices.IndexFunc(items, func(item adapter.Record) bool { return adapter.Key(item.Get(w.schema.Key).Int()) == key })
	if at < 0 {
		return 0, &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	return at, nil
}

// merge returns current with the values of change; absent ones stay. Kinds: Invalid for a value of
// another kind than its attribute, for an empty value of a required attribute, and for a changed
// value of a read-only attribute.
func merge(op string, current, change adapter.Record) (adapter.Record, error) {
	for i, a := range current.Schema.Attributes {
		value := change.Values[i]
		switch same := value.Kind() == current.Values[i].Kind() && value.Text() == current.Values[i].Text(); {
		case value.Kind() == adapter.Absent || same:
		case value.Kind() == adapter.Unset && !a.ReadOnly && !a.Required:
			current.Values[i] = adapter.NullValue() // the file has no absent values
		case a.ReadOnly || !valid(&a, value):
			return current, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errors.New("is read-only, required or of another kind")}
		default:
			current.Values[i] = value
		}
	}
	return current, nil
}

var decimal = regexp.MustCompile(`^-?[0-9]+\.[0-9]{4}$`)

// valid reports whether v is a value of an attribute.
func valid(a *adapter.Attribute, v adapter.Value) bool {
	switch kind := a.Kind; {
	case v.Kind() == adapter.Null:
		return !a.Required
	case kind == adapter.KindInteger:
		return v.Kind() == adapter.Integer
	case kind == adapter.KindDecimal:
		return v.Kind() == adapter.Text && decimal.MatchString(v.Text())
	case kind == adapter.KindTime:
		_, err := time.Parse(time.DateTime, v.Text())
		return v.Kind() == adapter.Text && err == nil
	}
	return v.Kind() == adapter.Text
}

// read returns the stock items of the file by ascending key.
func (w *warehouse) read(op string) ([]adapter.Record, error) {
	unavailable := func(err error) error { return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err} }
	if w.closed.Load() {
		return nil, unavailable(errors.New("the warehouse is closed"))
	}
	text, err := os.ReadFile(w.file)
	if err != nil {
		return nil, unavailable(err)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil {
		return nil, unavailable(err)
	}
	items := make([]adapter.Record, len(objects))
	for n, object := range objects {
		items[n] = adapter.NewRecord(w.schema)
		for i, a := range w.schema.Attributes {
			value := valueOf(object[a.Name])
			if !valid(&a, value) || a.Name == w.schema.Key && value.Empty() {
				return nil, unavailable(fmt.Errorf("item %d: %s is %v", n, a.Name, object[a.Name]))
			}
			items[n].Values[i] = value
		}
	}
	slices.SortFunc(items, func(a, b adapter.Record) int {
		return cmp.Compare(a.Get(w.schema.Key).Int(), b.Get(w.schema.Key).Int())
	})
	return items, nil
}

// valueOf returns a value of the file, or the absent value for a value that no attribute has.
func valueOf(v any) adapter.Value {
	switch v := v.(type) {
	case nil:
		return adapter.NullValue()
	case string:
		return adapter.TextValue(v)
	case float64:
		if v == math.Trunc(v) {
			return adapter.IntegerValue(int64(v))
		}
	}
	return adapter.Value{}
}

// replace writes a new file and renames it, so that readers see the old or the new one.
func (w *warehouse) replace(items []adapter.Record) (err error) {
	objects := make([]map[string]any, len(items))
	for n, item := range items {
		objects[n] = map[string]any{}
		for i, a := range w.schema.Attributes {
			switch v := item.Values[i]; v.Kind() {
			case adapter.Text:
				objects[n][a.Name] = v.Text()
			case adapter.Integer:
				objects[n][a.Name] = v.Int()
			default:
				objects[n][a.Name] = nil
			}
		}
	}
	file, err := os.CreateTemp(filepath.Dir(w.file), "stock-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(json.NewEncoder(file).Encode(objects), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), w.file)
}
