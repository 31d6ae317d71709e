package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"math"
	"slices"
	"strings"
	"testing"
)

func joinLines(texts []string) string { return strings.Join(texts, "\n\t") }

func (s *suite) testList(t *testing.T) {
	all := s.list(t, &adapter.Query{})
	if len(all) == 0 {
		t.Fatal("no records: the demo store is not there")
	}
	if total := s.count(t, &adapter.Query{}); total != int64(len(all)) {
		t.Errorf("%d records, counted %d", len(all), total)
	}
	if !slices.IsSortedFunc(all, func(a, b adapter.Record) int { return cmp.Compare(s.key(a), s.key(b)) }) {
		t.Error("without an order, records are not by ascending key")
	}
	for _, a := range s.schema.Attributes {
		if s.attributes != nil && !s.attributes(a) {
			continue
		}
		t.Run(a.Name, func(t *testing.T) { s.testAttribute(t, a) })
	}
	t.Run("page", func(t *testing.T) {
		for _, offset := range []int64{0, 1, int64(len(all)) - 1, int64(len(all)), 1 << 62, math.MaxInt64} {
			for _, limit := range []int64{0, 1, 3, 1 << 62, math.MaxInt64} {
				s.compare(t, all, &adapter.Query{Offset: offset, Limit: limit})
			}
		}
	})
	if s.schema.Owner != "" {
		t.Run("owner", func(t *testing.T) { s.testOwnerLists(t, all) })
	}
	t.Run("marks", func(t *testing.T) { s.testMarks(t, all, &adapter.Query{}, nil) })
	t.Run("max bytes", func(t *testing.T) { s.testMaxBytes(t, all) })
	t.Run("combined conditions", func(t *testing.T) { s.testCombinedConditions(t, all) })
	t.Run("unknown attribute", func(t *testing.T) {
		for _, q := range []adapter.Query{
			{OrderBy: "no_such_attribute"},
			{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "no_such_attribute", Op: adapter.IsNull}}}}},
		} {
			if _, err := s.store.List(t.Context(), &adapter.ListParams{Query: q}); adapter.KindOf(err) != adapter.Unsupported {
				t.Errorf("%v: error %v, want unsupported", q, err)
			}
		}
		s.testUnknownNames(t, s.key(all[0]))
	})
}

// testUnknownNames asks for attributes that the resource does not have. A store may ignore
// unknown names in Only.
func (s *suite) testUnknownNames(t *testing.T, key adapter.Key) {
	unknown := []string{"no_such_attribute"}
	for _, count := range []bool{false, true} {
		if _, err := s.store.List(t.Context(), &adapter.ListParams{With: unknown, Count: count}); err == nil || adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("List with an unknown attribute, count %t: %v, want unsupported", count, err)
		}
	}
	if _, err := s.store.Get(t.Context(), &adapter.GetParams{Key: key, With: unknown}); err == nil || adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("Get with an unknown attribute: %v, want unsupported", err)
	}
	r, err := s.store.Get(t.Context(), &adapter.GetParams{Key: key, Only: unknown})
	if err != nil && adapter.KindOf(err) != adapter.Unsupported || err == nil && s.key(r) != key {
		t.Errorf("Get of an unknown attribute alone: %v, %v", r.Values, err)
	}
}

// testOwnerLists lists and gets the records of each owner, and of an owner without
// records.
func (s *suite) testOwnerLists(t *testing.T, all []adapter.Record) {
	owners := map[int64]bool{unknownKey: true}
	for _, r := range all {
		owners[r.Get(s.schema.Owner).Int()] = true
	}
	delete(owners, 0) // no restriction
	for owner := range owners {
		own := slices.DeleteFunc(slices.Clone(all), func(r adapter.Record) bool { return r.Get(s.schema.Owner).Int() != owner })
		for _, r := range all {
			_, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), OwnerID: owner})
			if its := r.Get(s.schema.Owner).Int() == owner; its != (err == nil) || !its && adapter.KindOf(err) != adapter.NotFound {
				t.Errorf("customer %d: Get %d: %v, which is the customer's: %t", owner, s.key(r), err, its)
			}
		}
		if found := MustSelect(t, s.store, s.schema, adapter.ListParams{OwnerID: owner}); !slices.Equal(s.keys(found), s.keys(own)) {
			t.Errorf("customer %d: keys %v, want %v", owner, s.keys(found), s.keys(own))
		}
		counted, err := s.store.List(t.Context(), &adapter.ListParams{OwnerID: owner, Count: true})
		if err != nil || !counted.Partial && counted.Total != int64(len(own)) {
			t.Errorf("customer %d: counted %d, want %d; %v", owner, counted.Total, len(own), err)
		}
	}
}

// testAttribute lists by one attribute with every operator and operand, and in both
// orders.
func (s *suite) testAttribute(t *testing.T, a adapter.Attribute) {
	// Sorting by an on-demand attribute includes it in the records.
	full := s.list(t, &adapter.Query{OrderBy: a.Name})
	if total := s.count(t, &adapter.Query{}); total != int64(len(full)) {
		t.Fatalf("%d records in order, of %d", len(full), total)
	}
	if a.OnDemand {
		s.testOnDemand(t, a, full)
	}
	where := func(op adapter.Op, operands ...string) {
		if !s.sampleNext() {
			return
		}
		s.compare(t, full, &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: a.Name, Op: op, Operands: operands}}}}})
	}
	where(adapter.IsNull)
	where(adapter.IsNotNull)
	if a.Kind == adapter.KindTexts || a.Kind == adapter.KindRecords {
		return
	}
	operands := s.operands(a, full)
	for _, operand := range operands {
		for _, op := range []adapter.Op{
			adapter.Eq, adapter.NotEq, adapter.Gt, adapter.Lt, adapter.GtEq, adapter.LtEq,
			adapter.In, adapter.NotIn, adapter.Like, adapter.NotLike, adapter.InCommaList,
		} {
			where(op, operand)
		}
	}
	for i, operand := range operands {
		where(adapter.Within, operand, operands[len(operands)-1-i])
	}
	for _, op := range []adapter.Op{adapter.In, adapter.NotIn} {
		where(op)
		where(op, operands...)
		where(op, operands[0], operands[len(operands)-1])
	}
	for _, pattern := range patterns(operands) {
		where(adapter.Like, pattern)
		where(adapter.NotLike, pattern)
	}
	for _, expression := range []string{"", "^1", "[0-9]$", "a", "^$"} {
		where(adapter.Matches, expression)
	}
	for _, desc := range []bool{false, true} {
		for _, page := range [][2]int64{{0, 0}, {0, 2}, {2, 3}, {1, 0}} {
			if s.sampleNext() || page == [2]int64{2, 3} {
				s.compare(t, full, &adapter.Query{OrderBy: a.Name, Desc: desc, Offset: page[0], Limit: page[1]})
			}
		}
		s.testMarks(t, full, &adapter.Query{OrderBy: a.Name, Desc: desc}, operands)
	}
}

// testOnDemand asks for an on-demand attribute by name and compares it with full, the
// result of sorting by it.
func (s *suite) testOnDemand(t *testing.T, a adapter.Attribute, full []adapter.Record) {
	with := []string{a.Name}
	result, err := s.store.List(t.Context(), &adapter.ListParams{With: with})
	if err != nil || len(result.Records) != len(full) {
		t.Fatalf("with %s: %d records, want %d; %v", a.Name, len(result.Records), len(full), err)
	}
	for _, r := range full {
		got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), With: with})
		if err != nil {
			t.Errorf("Get %d: %v", s.key(r), err)
			continue
		}
		listed := result.Records[slices.IndexFunc(result.Records, func(l adapter.Record) bool { return s.key(l) == s.key(r) })]
		if want := FormatValue(r.Get(a.Name)); FormatValue(got.Get(a.Name)) != want || FormatValue(listed.Get(a.Name)) != want {
			t.Errorf("%d: got %s, listed %s, want %s", s.key(r), FormatValue(got.Get(a.Name)), FormatValue(listed.Get(a.Name)), want)
		}
	}
}

// maxOperands bounds the number of values that operands takes from the records. Texts are
// used in four forms, and each by every operator.
const maxOperands = 6

// operands returns values of the attribute, and values next to them.
func (s *suite) operands(a adapter.Attribute, records []adapter.Record) []string {
	var operands []string
	for _, r := range records {
		if v := r.Get(a.Name); !v.Empty() {
			operands = append(operands, v.Text())
		}
	}
	slices.Sort(operands)
	operands = slices.Compact(operands)
	operands = operands[:min(len(operands), maxOperands)]
	switch a.Kind {
	case adapter.KindInteger, adapter.KindDecimal:
		return append(operands, "0", "-0.0", "1", "-1", "0.00001", "-0.00001", "0.5", "1.00000000000000000001",
			"99999999.9999", "-99999999.9999", "9223372036854775807", "123456789012345678901234567890", "-123456789012345678901234567890")
	case adapter.KindTime:
		return append(operands, "", "2012-03-01 10:00:00", "0000-00-00 00:00:00", "9999-12-31 23:59:59")
	default:
		for _, o := range slices.Clone(operands) {
			operands = append(operands, strings.ToLower(o)+" ", strings.ToUpper(o), " "+o)
		}
		return append(operands, "", " ", "é", "Weiß", "%", `\`, "'", `"`, "a,b", "\u00a0", "中")
	}
}

// patterns returns LIKE patterns made of operands.
func patterns(operands []string) []string {
	all := []string{"", "%", "_%", "%_", `\%`, `\`, `\\`, `%\`, `a\`, "%.0000", "2012-%", "% ", "_", "%%%%"}
	for _, o := range operands[:min(4, len(operands))] {
		runes := []rune(o)
		half := string(runes[:len(runes)/2])
		all = append(all, half+"%", "%"+half, "%"+half+"%", half+"_", strings.ToLower(o), o+" ")
	}
	return all
}

// testCombinedConditions combines conditions by and and by or.
func (s *suite) testCombinedConditions(t *testing.T, all []adapter.Record) {
	key := s.schema.Key
	first, last := fmt.Sprint(s.key(all[0])), fmt.Sprint(s.key(all[len(all)-1]))
	test := func(op adapter.Op, operand string) adapter.Test {
		return adapter.Test{Attribute: key, Op: op, Operands: []string{operand}}
	}
	like := test(adapter.Like, "1%") // on a number, which no database evaluates exactly
	many := adapter.Condition{}
	for range 2000 {
		many.Any = append(many.Any, test(adapter.Eq, first))
	}
	wheres := [][]adapter.Condition{
		{{Any: []adapter.Test{test(adapter.Gt, first)}}, {Any: []adapter.Test{test(adapter.Lt, last)}}},
		{{Any: []adapter.Test{test(adapter.Eq, first), test(adapter.Eq, last)}}},
		{{Any: []adapter.Test{test(adapter.Eq, first), like}}},
		{{Any: []adapter.Test{test(adapter.Gt, first)}}, {Any: []adapter.Test{like}}},
		{{}},
		{{Any: []adapter.Test{test(adapter.Eq, first)}}, {}},
	}
	if s.sampleNext() { // these take longer than all others together
		wheres = append(wheres, []adapter.Condition{many}, slices.Repeat([]adapter.Condition{{Any: []adapter.Test{test(adapter.GtEq, first)}}}, 2000))
	}
	for _, where := range wheres {
		s.compare(t, all, &adapter.Query{Where: where})
		s.compare(t, all, &adapter.Query{Where: where, OrderBy: key, Desc: true, Offset: 1, Limit: 2})
	}
}

// compare sends q to the store and to adapter.Apply over full, and compares the
// results.
func (s *suite) compare(t *testing.T, full []adapter.Record, q *adapter.Query) {
	t.Helper()
	want, total, err := adapter.Apply(t.Context(), s.schema, full, q)
	if err != nil {
		t.Fatalf("%s: Apply: %v", formatQuery(q), err)
	}
	got := s.list(t, q)
	if !slices.EqualFunc(got, want, sameRecord) {
		t.Errorf("%s: keys %v, want %v", formatQuery(q), s.keys(got), s.keys(want))
	}
	if n := s.count(t, q); n != total {
		t.Errorf("%s: counted %d, want %d", formatQuery(q), n, total)
	}
}

// sameRecord compares the attributes that both records have. On-demand attributes may
// be in one only.
func sameRecord(a, b adapter.Record) bool {
	for i, v := range a.Values {
		w := b.Values[i]
		one := (v.Kind() == adapter.Absent) != (w.Kind() == adapter.Absent)
		if FormatValue(v) != FormatValue(w) && !(one && a.Schema.Attributes[i].OnDemand) {
			return false
		}
	}
	return true
}

// list returns the records that q selects. It calls adapter.Apply if the store's result
// is partial.
func (s *suite) list(t *testing.T, q *adapter.Query) []adapter.Record {
	t.Helper()
	return MustSelect(t, s.store, s.schema, adapter.ListParams{Query: *q})
}

func (s *suite) count(t *testing.T, q *adapter.Query) int64 {
	t.Helper()
	result := MustList(t, s.store, adapter.ListParams{Query: *q, Count: true})
	if !result.Partial {
		return result.Total
	}
	_, total, err := adapter.Apply(t.Context(), s.schema, result.Records, q)
	if err != nil {
		t.Fatalf("count %s: Apply: %v", formatQuery(q), err)
	}
	return total
}

func (s *suite) key(r adapter.Record) adapter.Key { return adapter.Key(r.Get(s.schema.Key).Int()) }

func (s *suite) keys(records []adapter.Record) []adapter.Key {
	keys := make([]adapter.Key, len(records))
	for i, r := range records {
		keys[i] = s.key(r)
	}
	return keys
}

// formatQuery returns q as text, truncated to a readable length.
func formatQuery(q *adapter.Query) string {
	text := fmt.Sprintf("%+v", *q)
	return text[:min(len(text), 300)]
}

func (s *suite) testGet(t *testing.T) {
	for _, listed := range s.list(t, &adapter.Query{}) {
		got, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(listed)})
		if err != nil {
			t.Errorf("Get %d: %v", s.key(listed), err)
		} else if !sameRecord(got, listed) {
			t.Errorf("Get %d:\n\t%s\nlisted:\n\t%s", s.key(listed), FormatRecord(got), FormatRecord(listed))
		}
	}
	for _, key := range []adapter.Key{-1, 1 << 40, 1<<63 - 1} {
		if _, err := s.store.Get(t.Context(), &adapter.GetParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("Get %d: %v, want not found", key, err)
		}
	}
}

// testFilters reads with filters that the resource does not have, and with one twice.
func (s *suite) testFilters(t *testing.T) {
	tests := map[string][]adapter.Filter{"unknown": {{Name: "in_orbit", Value: 1}}}
	for _, name := range s.schema.Filters {
		tests[name+" twice"] = []adapter.Filter{{Name: name, Value: 1}, {Name: name, Value: 1}}
	}
	for name, filters := range tests {
		for _, count := range []bool{false, true} {
			_, err := s.store.List(t.Context(), &adapter.ListParams{Filters: filters, Count: count})
			if err == nil || adapter.KindOf(err) != adapter.Unsupported {
				t.Errorf("%s: List, count %t: %v, want unsupported", name, count, err)
			}
		}
		for _, r := range s.list(t, &adapter.Query{Limit: 1}) {
			if _, err := s.store.Get(t.Context(), &adapter.GetParams{Key: s.key(r), Filters: filters}); err == nil || adapter.KindOf(err) != adapter.Unsupported {
				t.Errorf("%s: Get: %v, want unsupported", name, err)
			}
		}
	}
}

// testCancelled calls every method with a context that has ended.
func (s *suite) testCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first := s.list(t, &adapter.Query{Limit: 1})
	if len(first) == 0 {
		t.Fatal("no records: the demo store is not there")
	}
	key := s.key(first[0])
	for method, call := range map[string]func() error{
		"List":  func() error { _, err := s.store.List(ctx, &adapter.ListParams{}); return err },
		"Count": func() error { _, err := s.store.List(ctx, &adapter.ListParams{Count: true}); return err },
		"Get":   func() error { _, err := s.store.Get(ctx, &adapter.GetParams{Key: key}); return err },
		"Update": func() error {
			return s.store.Update(ctx, &adapter.UpdateParams{Key: key, Change: func(adapter.Record) (adapter.Record, error) {
				return adapter.NewRecord(s.schema), nil
			}})
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) && adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s with a cancelled context: %v", method, err)
		}
	}
}
