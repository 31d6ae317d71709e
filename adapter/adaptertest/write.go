package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// testWrites runs the applicable tests of writes. Tests that change records come last, each on
// an adapter of its own.
func testWrites(t *testing.T, h Harness, schema *adapter.Schema, supported supportedWrites) {
	shared := h.Open(t)
	for _, c := range []struct {
		name    string
		applies bool
		changes bool
		test    func(*suite, *testing.T)
	}{
		{"nothing to change", supported.updates, false, (*suite).testEmptyUpdate},
		{"error of Change", supported.updates, false, (*suite).testChangeError},
		{"values of another kind", supported.updates, false, (*suite).testWrongKind},
		{"read-only", supported.updates, false, (*suite).testReadOnly},
		{"unknown key", true, false, (*suite).testUnknownKey},
		{"failed update", supported.updates, false, (*suite).testFailedUpdate},
		{"checks", true, false, (*suite).testChecks},
		{"observers", true, false, (*suite).testObservers},
		{"owner", schema.Owner != "", false, inCreates(creates.testOwner)},
		{"partial", supported.updates, true, (*suite).testPartialUpdate},
		{"unset", supported.updates, true, (*suite).testUnset},
		{"write-only", supported.updates, true, (*suite).testWriteOnly},
		{"concurrent updates", supported.updates, true, (*suite).testConcurrentUpdates},
		{"create and delete", supported.creates, true, inCreates(creates.testCreateDelete)},
		{"invalid create", supported.creates, true, inCreates(creates.testInvalidCreate)},
		{"concurrent creates", supported.creates, true, inCreates(creates.testConcurrentCreates)},
	} {
		if !c.applies {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			a := shared
			if c.changes {
				a = h.Open(t)
			}
			c.test(&suite{schema: schema, store: storeOf(t, a, schema.Resource)}, t)
		})
	}
}

// supportedWrites are the kinds of writes that a store supports.
type supportedWrites struct{ creates, updates, deletes bool }

// supportedWrites probes the kinds of writes that the store supports. It changes nothing.
func (s *suite) supportedWrites(t *testing.T) supportedWrites {
	_, create := s.store.Create(t.Context(), &adapter.CreateParams{Record: adapter.NewRecord(s.schema), Check: func() error { return errCallback }})
	update := s.store.Update(t.Context(), &adapter.UpdateParams{Key: unknownKey, Change: func(adapter.Record) (adapter.Record, error) {
		return adapter.NewRecord(s.schema), nil
	}})
	remove := s.store.Delete(t.Context(), &adapter.DeleteParams{Key: unknownKey, Check: func(adapter.Record) error { return errCallback }})
	takes := func(err error) bool { return adapter.KindOf(err) != adapter.Unsupported }
	return supportedWrites{creates: takes(create), updates: takes(update), deletes: takes(remove)}
}

// unknownKey is the key of no record.
const unknownKey = 1 << 40

// firstRecord returns the first record and its key.
func (s *suite) firstRecord(t *testing.T) (adapter.Key, adapter.Record) {
	t.Helper()
	key := s.key(s.list(t, &adapter.Query{Limit: 1})[0])
	return key, s.get(t, key)
}

func (s *suite) get(t *testing.T, key adapter.Key) adapter.Record {
	t.Helper()
	return MustGet(t, s.store, adapter.GetParams{Key: key})
}

// set changes one attribute of a record.
func (s *suite) set(t *testing.T, key adapter.Key, name string, v adapter.Value) error {
	t.Helper()
	return s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(adapter.Record) (adapter.Record, error) {
		change := adapter.NewRecord(s.schema)
		change.Set(name, v)
		return change, nil
	}})
}

// otherValue returns a value of the attribute's kind that differs from v. ok is false for
// kinds that the suite has no values of.
func otherValue(a adapter.Attribute, v adapter.Value) (w adapter.Value, ok bool) {
	switch a.Kind {
	case adapter.KindDecimal:
		if v.Text() == "7.2500" {
			return adapter.TextValue("-0.0001"), true
		}
		return adapter.TextValue("7.2500"), true
	case adapter.KindInteger:
		if v.Int() == 1 {
			return adapter.IntegerValue(0), true
		}
		return adapter.IntegerValue(1), true
	case adapter.KindTime:
		return adapter.TextValue("2031-12-30 23:59:58"), true
	case adapter.KindText:
		return adapter.TextValue(v.Text() + " é'\"%中"), true
	}
	return adapter.Value{}, false
}

func (s *suite) testPartialUpdate(t *testing.T) {
	key, before := s.firstRecord(t)
	for i, a := range s.schema.Attributes {
		v, ok := otherValue(a, before.Values[i])
		if a.ReadOnly || a.Fixed || a.WriteOnly || !ok {
			continue
		}
		if err := s.set(t, key, a.Name, v); err != nil {
			t.Errorf("%s: %v", a.Name, err)
			continue
		}
		after := s.get(t, key)
		for j, b := range s.schema.Attributes {
			want := before.Values[j]
			switch {
			case j == i:
				want = v
			case b.ReadOnly && b.Name != s.schema.Key:
				continue // the store may update it
			}
			if FormatValue(after.Values[j]) != FormatValue(want) {
				t.Errorf("after %s: %s is %s, want %s", a.Name, b.Name, FormatValue(after.Values[j]), FormatValue(want))
			}
		}
		listed := s.list(t, &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{
			{Attribute: a.Name, Op: adapter.Eq, Operands: []string{v.Text()}},
		}}}})
		if !slices.Contains(s.keys(listed), key) {
			t.Errorf("%s: not found by its new value", a.Name)
		}
		before = after
	}
}

// testUnset removes optional values, which some records lack.
func (s *suite) testUnset(t *testing.T) {
	all := s.list(t, &adapter.Query{})
	for i, a := range s.schema.Attributes {
		lacks := func(r adapter.Record) bool { return r.Values[i].Kind() == adapter.Absent }
		has := slices.IndexFunc(all, func(r adapter.Record) bool { return !r.Values[i].Empty() })
		if a.ReadOnly || a.Fixed || a.WriteOnly || a.OnDemand || a.Scope != adapter.ScopeGlobal || has < 0 || !slices.ContainsFunc(all, lacks) {
			continue
		}
		key := s.key(all[has])
		if err := s.set(t, key, a.Name, adapter.UnsetValue()); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		} else if after := s.get(t, key); !lacks(after) {
			t.Errorf("%s is %s, want absent", a.Name, FormatValue(after.Values[i]))
		}
	}
}

func (s *suite) testEmptyUpdate(t *testing.T) {
	key, before := s.firstRecord(t)
	for name, change := range map[string]func(adapter.Record) adapter.Record{
		"nothing":  func(adapter.Record) adapter.Record { return adapter.NewRecord(s.schema) },
		"the same": func(current adapter.Record) adapter.Record { return current },
	} {
		err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(r adapter.Record) (adapter.Record, error) {
			return change(r), nil
		}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, a := range s.schema.Attributes {
			if after := s.get(t, key); !a.ReadOnly && FormatValue(after.Values[i]) != FormatValue(before.Values[i]) {
				t.Errorf("%s: %s is %s, was %s", name, a.Name, FormatValue(after.Values[i]), FormatValue(before.Values[i]))
			}
		}
	}
}

func (s *suite) testChangeError(t *testing.T) {
	key, before := s.firstRecord(t)
	var seen adapter.Record
	err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		seen = current.Clone()
		for i, a := range s.schema.Attributes {
			if v, ok := otherValue(a, current.Values[i]); ok {
				current.Values[i] = v
			}
		}
		return current, errCallback
	}})
	if !isRefused(err) {
		t.Errorf("error %v, want a RefusedError of Change's own", err)
	}
	if !sameRecord(seen, before) {
		t.Errorf("Change saw:\n\t%s\nGet:\n\t%s", FormatRecord(seen), FormatRecord(before))
	}
	if after := s.get(t, key); FormatRecord(after) != FormatRecord(before) {
		t.Errorf("changed despite the error:\n\t%s", FormatRecord(after))
	}
}

func (s *suite) testWrongKind(t *testing.T) {
	key, before := s.firstRecord(t)
	for _, a := range s.schema.Attributes {
		if a.ReadOnly {
			continue
		}
		wrong := []adapter.Value{adapter.RecordsValue(nil)}
		if a.Required {
			wrong = append(wrong, adapter.NullValue())
		}
		switch a.Kind {
		case adapter.KindRecords:
			wrong = []adapter.Value{adapter.TextsValue(nil), adapter.TextValue("")}
		case adapter.KindDecimal:
			wrong = append(wrong, adapter.IntegerValue(1), adapter.TextValue("x"), adapter.TextValue("1.00001"), adapter.TextValue(""))
		case adapter.KindInteger:
			wrong = append(wrong, adapter.TextValue("1"))
		case adapter.KindTime:
			wrong = append(wrong, adapter.TextValue("2012-01-01"), adapter.TextValue("2012-02-30 00:00:00"), adapter.IntegerValue(1))
		}
		for _, v := range wrong {
			if err := s.set(t, key, a.Name, v); adapter.KindOf(err) != adapter.Invalid || err == nil {
				t.Errorf("%s := %s: %v, want invalid", a.Name, FormatValue(v), err)
			}
		}
	}
	if after := s.get(t, key); FormatRecord(after) != FormatRecord(before) {
		t.Errorf("changed despite the error:\n\t%s", FormatRecord(after))
	}
}

func (s *suite) testReadOnly(t *testing.T) {
	key, before := s.firstRecord(t)
	for i, a := range s.schema.Attributes {
		v, ok := otherValue(a, before.Values[i])
		if !a.ReadOnly && !a.Fixed || !ok {
			continue
		}
		if err := s.set(t, key, a.Name, v); adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("%s: %v, want invalid", a.Name, err)
		}
	}
	if after := s.get(t, key); FormatRecord(after) != FormatRecord(before) {
		t.Errorf("changed despite the error:\n\t%s", FormatRecord(after))
	}
}

// testWriteOnly sets texts that are only written: they leave no trace.
func (s *suite) testWriteOnly(t *testing.T) {
	key, before := s.firstRecord(t)
	for _, a := range s.schema.Attributes {
		if !a.WriteOnly || a.Fixed || a.Kind != adapter.KindText {
			continue
		}
		if err := s.set(t, key, a.Name, adapter.TextValue("x")); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		for i, b := range s.schema.Attributes {
			if after := s.get(t, key); !b.ReadOnly && FormatValue(after.Values[i]) != FormatValue(before.Values[i]) {
				t.Errorf("after %s: %s is %s, was %s", a.Name, b.Name, FormatValue(after.Values[i]), FormatValue(before.Values[i]))
			}
		}
		found := s.list(t, &adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: a.Name, Op: adapter.Eq, Operands: []string{"x"}}}}}})
		if len(found) > 0 {
			t.Errorf("%s: records can be found by it", a.Name)
		}
	}
}

func (s *suite) testUnknownKey(t *testing.T) {
	for _, key := range []adapter.Key{-1, unknownKey} {
		err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(r adapter.Record) (adapter.Record, error) {
			t.Error("Change called for a record that is not there")
			return r, nil
		}})
		if kind := adapter.KindOf(err); kind != adapter.NotFound && kind != adapter.Unsupported || err == nil {
			t.Errorf("Update %d: %v, want not found", key, err)
		}
		err = s.store.Delete(t.Context(), &adapter.DeleteParams{Key: key})
		if kind := adapter.KindOf(err); kind != adapter.NotFound && kind != adapter.Unsupported || err == nil {
			t.Errorf("Delete %d: %v, want not found", key, err)
		}
	}
}

// testFailedUpdate changes all attributes of a record, one of them to a value that the
// store must refuse. Then no record may have changed at all.
func (s *suite) testFailedUpdate(t *testing.T) {
	all := s.list(t, &adapter.Query{})
	key := s.key(all[0])
	fails := func(name string, kind adapter.ErrorKind, refused adapter.Record) {
		t.Helper()
		err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
			change := refused.Clone()
			for i, a := range s.schema.Attributes {
				v, ok := otherValue(a, current.Values[i])
				if ok && change.Values[i].Kind() == adapter.Absent && !a.ReadOnly && !a.Fixed && !a.WriteOnly {
					change.Values[i] = v
				}
			}
			return change, nil
		}})
		if adapter.KindOf(err) != kind || err == nil {
			t.Errorf("%s: %v, want %s", name, err, kind)
		}
		if after := s.list(t, &adapter.Query{}); !slices.EqualFunc(after, all, sameRecord) {
			t.Fatalf("%s: records changed despite the error", name)
		}
	}
	for i, a := range s.schema.Attributes {
		if a.Nested == nil && !a.WriteOnly {
			refused := adapter.NewRecord(s.schema)
			refused.Values[i] = adapter.RecordsValue(nil)
			fails(a.Name, adapter.Invalid, refused)
		}
	}
	for _, other := range all[1:] {
		if taken, ok := s.takenValues(all[0], other); ok {
			fails("unique values of another record", adapter.Conflict, taken)
		}
	}
}

// takenValues returns a change that gives r the unique values of another record. ok is
// false if no change can.
func (s *suite) takenValues(r, other adapter.Record) (taken adapter.Record, ok bool) {
	taken, ok = adapter.NewRecord(s.schema), len(s.schema.Unique) > 0
	for _, name := range s.schema.Unique {
		at, _ := s.schema.Index(name)
		taken.Values[at] = other.Values[at]
		ok = ok && (!s.schema.Attributes[at].Fixed || r.Values[at].Equal(other.Values[at]))
	}
	return taken, ok
}

// counters returns the indexes of up to two attributes that can hold counters.
func (s *suite) counters() []int {
	var found []int
	for _, kind := range []adapter.Kind{adapter.KindDecimal, adapter.KindText} {
		for i, a := range s.schema.Attributes {
			if a.Kind == kind && !a.ReadOnly && !a.Fixed && !a.WriteOnly && !slices.Contains(s.schema.Unique, a.Name) {
				found = append(found, i)
			}
		}
	}
	return found[:min(2, len(found))]
}

// testConcurrentUpdates increments attributes of one record from many goroutines. The
// updates must be serializable: none is lost, and each sees all of every other or nothing
// of it.
func (s *suite) testConcurrentUpdates(t *testing.T) {
	const writers = 50
	counters := s.counters()
	if len(counters) == 0 {
		t.Fatal("no attribute can hold a counter")
	}
	key, _ := s.firstRecord(t)
	number := func(kind adapter.Kind, n int) adapter.Value {
		if kind == adapter.KindDecimal {
			return adapter.TextValue(strconv.Itoa(n) + ".0000")
		}
		return adapter.TextValue(strconv.Itoa(n))
	}
	for _, at := range counters {
		if err := s.set(t, key, s.schema.Attributes[at].Name, number(s.schema.Attributes[at].Kind, 0)); err != nil {
			t.Fatal(err)
		}
	}
	count := func(r adapter.Record) int {
		n := -1
		for _, at := range counters {
			whole, _, _ := strings.Cut(r.Values[at].Text(), ".")
			read, err := strconv.Atoi(whole)
			if err != nil || n >= 0 && read != n {
				t.Errorf("%s is %q, the attribute before %d", s.schema.Attributes[at].Name, r.Values[at].Text(), n)
			}
			n = read
		}
		return n
	}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
				change := adapter.NewRecord(s.schema)
				for _, at := range counters {
					change.Values[at] = number(s.schema.Attributes[at].Kind, count(current)+1)
				}
				return change, nil
			}})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	all.Wait()
	if got := count(s.get(t, key)); got != writers {
		t.Errorf("%d after %d increments", got, writers)
	}
}

// testChecks runs Create and Delete with checks that fail.
func (s *suite) testChecks(t *testing.T) {
	key, before := s.firstRecord(t)
	total := s.count(t, &adapter.Query{})
	_, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: before.Clone(), Check: func() error { return errCallback }})
	if !isRefused(err) && adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("Create: %v, want a RefusedError of Check's own", err)
	}
	err = s.store.Delete(t.Context(), &adapter.DeleteParams{Key: key, Check: func(adapter.Record) error { return errCallback }})
	if !isRefused(err) && adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("Delete: %v, want a RefusedError of Check's own", err)
	}
	if after := s.count(t, &adapter.Query{}); after != total {
		t.Errorf("%d records, were %d", after, total)
	}
}
