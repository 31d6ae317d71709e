package adaptertest

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"testing"
)

// Attributes are values of a record by the name of the attribute: texts, ints, lists of texts,
// lists of Attributes for nested records, and values of package adapter. nil is null.
type Attributes map[string]any

// attrs is short for Attributes.
type attrs = Attributes

// Record returns a record with these values.
func (a Attributes) Record(schema *adapter.Schema) adapter.Record {
	r := adapter.NewRecord(schema)
	for name, v := range a {
		switch v := v.(type) {
		case adapter.Value:
			r.Set(name, v)
		case string:
			r.Set(name, adapter.TextValue(v))
		case int:
			r.Set(name, adapter.IntegerValue(int64(v)))
		case []string:
			r.Set(name, adapter.TextsValue(v))
		case []Attributes:
			nested := make([]adapter.Record, len(v))
			at, _ := schema.Index(name)
			for i, one := range v {
				nested[i] = one.Record(schema.Attributes[at].Nested)
			}
			r.Set(name, adapter.RecordsValue(nested))
		default:
			r.Set(name, adapter.NullValue())
		}
	}
	return r
}

// With returns the attributes, extended by more.
func (a Attributes) With(more Attributes) Attributes {
	all := Attributes{}
	maps.Copy(all, a)
	maps.Copy(all, more)
	return all
}

// StoreOf returns the store of a resource.
func StoreOf(tb testing.TB, a adapter.Adapter, r adapter.Resource) adapter.Store {
	tb.Helper()
	s, err := a.Store(r)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// AddedAttributes returns attributes of every kind and scope that a configuration may add.
func AddedAttributes() (added []adapter.AddedAttribute) {
	for kind, name := range []string{adapter.KindText: "text", adapter.KindInteger: "integer", adapter.KindDecimal: "decimal", adapter.KindTime: "time"} {
		kind := adapter.Kind(kind)
		added = append(added,
			adapter.AddedAttribute{Resource: adapter.Customers, Name: "my_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.CustomerAddresses, Name: "my_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "global_" + name, Kind: kind},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "website_" + name, Kind: kind, Scope: adapter.ScopeWebsite},
			adapter.AddedAttribute{Resource: adapter.Products, Name: "store_" + name, Kind: kind, Scope: adapter.ScopeStore},
		)
	}
	return added
}

// AddedValue returns one of a few values of a kind, null and absent among them.
func AddedValue(kind adapter.Kind, n int) adapter.Value {
	texts := map[adapter.Kind][]string{
		adapter.KindText:    {"Grün, bláu ", "GRUN, BLAU", "", "7"},
		adapter.KindDecimal: {"0.1000", "-12.5000", "99999999.9999", "2.0000"},
		adapter.KindTime:    {"2012-03-01 10:00:00", "1970-01-01 00:00:00", "2038-12-31 23:59:59", "2012-03-01 09:59:59"},
	}
	switch n %= 6; {
	case n == 4:
		return adapter.NullValue()
	case n == 5:
		return adapter.Value{}
	case kind == adapter.KindInteger:
		return adapter.IntegerValue([]int64{10, 9, -3, 1 << 40}[n])
	default:
		return adapter.TextValue(texts[kind][n])
	}
}

// TestLevelReadings holds lists of products at a store view to [adapter.ListParams.Reads], for every
// added attribute: unnamed, filtered, and ordered by values and by places of options, as a whole and in
// pages. Some products must have values of these attributes at the store view.
func TestLevelReadings(t *testing.T, store adapter.Store, schema *adapter.Schema, storeID int64) {
	t.Helper()
	inDefault, atView := MustList(t, store, adapter.ListParams{}).Records, MustList(t, store, adapter.ListParams{StoreID: storeID}).Records
	read := func(how adapter.LevelReading, i, at int) adapter.Value {
		if how == adapter.ReadsAny || how == adapter.ReadsOverrides && inDefault[i].Values[at].Kind() != adapter.Absent {
			return atView[i].Values[at]
		}
		return inDefault[i].Values[at]
	}
	for at := range schema.Attributes {
		a := &schema.Attributes[at]
		if !a.Added {
			continue
		}
		ranks := map[int64]int{7: 2, 9: 0, 10: 1}
		filter := []adapter.Condition{{Any: []adapter.Test{{Attribute: a.Name, Op: adapter.IsNotNull}}}}
		for _, q := range []adapter.Query{
			{}, {Where: filter}, {OrderBy: a.Name}, {OrderBy: a.Name, Ranks: ranks}, {OrderBy: a.Name, Desc: true, Ranks: ranks}, {OrderBy: a.Name, Ranks: map[int64]int{}},
		} {
			if q.Ranks != nil && a.Kind != adapter.KindInteger && a.Kind != adapter.KindText {
				continue // no kind of ids of options
			}
			for _, p := range []adapter.ListParams{{}, {WebsiteScope: true}, {OverridesOnly: true}} {
				p.StoreID, p.Query = storeID, q
				var reference []adapter.Record
				for i := range inDefault {
					r := inDefault[i].Clone()
					r.Values[at] = read(p.Reads(a), i, at)
					reference = append(reference, r)
				}
				want, _, err := adapter.Apply(t.Context(), schema, reference, &q)
				if err != nil {
					t.Fatal(err)
				}
				wanted, got := "", ""
				for _, r := range want {
					wanted += fmt.Sprintf(" %d %s", r.Key(), FormatValue(r.Values[at]))
				}
				for p.Query.Limit = 5; ; { // pages behind cursors
					page := MustSelect(t, store, schema, p)
					for _, r := range page {
						got += fmt.Sprintf(" %d %s", r.Key(), FormatValue(r.Values[at]))
					}
					if len(page) < 5 {
						break
					}
					last := page[len(page)-1]
					p.Query.After = &adapter.Cursor{Key: last.Key(), Value: last.Values[at]}
				}
				if got != wanted {
					t.Errorf("%s, website values %t, overrides %t, %s, %d ranks:\n\t%s\nwant\t%s", a.Name, p.WebsiteScope, p.OverridesOnly, formatQuery(&q), len(q.Ranks), got, wanted)
				}
			}
		}
	}
}

// AllOf returns all records of a resource, without on-demand attributes.
func AllOf(ctx context.Context, a adapter.Adapter, r adapter.Resource) ([]adapter.Record, error) {
	store, err := a.Store(r)
	if err != nil {
		return nil, err
	}
	found, err := store.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	return found.Records, nil
}

// Update sets attributes of a record at a store view.
func Update(tb testing.TB, store adapter.Store, key adapter.Key, storeID int64, change Attributes) error {
	tb.Helper()
	return store.Update(tb.Context(), &adapter.UpdateParams{Key: key, StoreID: storeID, Change: func(current adapter.Record) (adapter.Record, error) {
		return change.Record(current.Schema), nil
	}})
}

// MustGet returns a record, which must exist.
func MustGet(tb testing.TB, store adapter.Store, p adapter.GetParams) adapter.Record {
	tb.Helper()
	r, err := store.Get(tb.Context(), &p)
	if err != nil {
		tb.Fatalf("get %+v: %v", p, err)
	}
	return r
}

// MustList returns the result of a list, which must succeed.
func MustList(tb testing.TB, store adapter.Store, p adapter.ListParams) *adapter.ListResult {
	tb.Helper()
	result, err := store.List(tb.Context(), &p)
	if err != nil {
		tb.Fatalf("list %.300s: %v", fmt.Sprintf("%+v", p), err)
	}
	return result
}

// MustSelect returns the records that the query of a list selects, whether the store or
// adapter.Apply evaluates it.
func MustSelect(tb testing.TB, store adapter.Store, schema *adapter.Schema, p adapter.ListParams) []adapter.Record {
	tb.Helper()
	found := MustList(tb, store, p)
	if !found.Partial {
		return found.Records
	}
	page, _, err := adapter.Apply(tb.Context(), schema, found.Records, &p.Query)
	if err != nil {
		tb.Fatalf("%s: Apply: %v", formatQuery(&p.Query), err)
	}
	return page
}

// MustDelete deletes a record, which must exist.
func MustDelete(tb testing.TB, store adapter.Store, p adapter.DeleteParams) {
	tb.Helper()
	if err := store.Delete(tb.Context(), &p); err != nil {
		tb.Fatalf("delete %d: %v", p.Key, err)
	}
}
