package adaptertest

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// maxGuess is the greatest integer that createLikeFirst tries for an attribute that must
// be the id of another record.
const maxGuess = 50

// A creates tests the creation and deletion of records.
type creates struct{ *suite }

// inCreates adapts a test of creates to a test of a suite.
func inCreates(test func(creates, *testing.T)) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) { test(creates{s}, t) }
}

// creatable returns a record that can be created, with the values of r.
func (s creates) creatable(r adapter.Record) adapter.Record {
	fresh := adapter.NewRecord(s.schema)
	for i, a := range s.schema.Attributes {
		switch {
		case a.WriteOnly && a.Kind == adapter.KindText:
			fresh.Values[i] = adapter.TextValue("x")
		case s.schema.Resource == adapter.ProductImages && a.Name == "file": // names are never used twice
			fresh.Values[i] = adapter.TextValue("n/e/new.png")
		case !a.ReadOnly && a.Nested == nil:
			fresh.Values[i] = r.Values[i]
		}
	}
	return fresh
}

// createLikeFirst creates a record like the first one. If the store refuses a value,
// because it must be unique or is not the id of a record, it tries others.
func (s creates) createLikeFirst(t *testing.T) (adapter.Key, adapter.Record) {
	t.Helper()
	_, first := s.firstRecord(t)
	fresh := s.creatable(first)
	for tried := int64(1); tried <= maxGuess; tried++ {
		key, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: fresh.Clone()})
		if err == nil {
			return key, fresh
		}
		var fault *adapter.Error
		if !errors.As(err, &fault) || fault.Field == "" || fault.Kind != adapter.Conflict && (fault.Kind != adapter.Invalid || tried == 1) {
			t.Fatalf("Create: %v", err)
		}
		at, _ := s.schema.Index(fault.Field)
		v := adapter.TextValue(fresh.Values[at].Text() + "2")
		if s.schema.Attributes[at].Kind == adapter.KindInteger {
			v = adapter.IntegerValue(tried)
		}
		fresh.Values[at] = v
	}
	t.Fatal("the store refuses all records like the first one")
	return 0, fresh
}

// testCreateDelete creates and deletes a record.
func (s creates) testCreateDelete(t *testing.T) {
	before := s.keys(s.list(t, &adapter.Query{}))
	key, given := s.createLikeFirst(t)
	if len(before) > 0 && key <= slices.Max(before) {
		t.Errorf("key %d, want one greater than all of %v", key, before)
	}
	stored := s.get(t, key)
	for i, a := range s.schema.Attributes {
		want := FormatValue(given.Values[i])
		if a.WriteOnly {
			want = "absent"
		}
		if got := FormatValue(stored.Values[i]); !a.ReadOnly && a.Nested == nil && got != want && (want != "absent" || got != "null") {
			t.Errorf("%s is %s, want %s", a.Name, got, want)
		}
	}
	if after := s.keys(s.list(t, &adapter.Query{})); !slices.Equal(after, append(before, key)) {
		t.Errorf("listed are %v, want %v and %d", after, before, key)
	}
	MustDelete(t, s.store, adapter.DeleteParams{Key: key})
	if _, err := s.store.Get(t.Context(), &adapter.GetParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
		t.Errorf("Get after Delete: %v, want not found", err)
	}
	if err := s.store.Delete(t.Context(), &adapter.DeleteParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
		t.Errorf("Delete again: %v, want not found", err)
	}
	if after := s.keys(s.list(t, &adapter.Query{})); !slices.Equal(after, before) {
		t.Errorf("listed are %v, want %v", after, before)
	}
	if again, _ := s.createLikeFirst(t); again <= key {
		t.Errorf("the next key is %d, want one greater than %d, which was used", again, key)
	}
}

// testInvalidCreate creates records that the store must refuse as invalid.
func (s creates) testInvalidCreate(t *testing.T) {
	key, given := s.createLikeFirst(t)
	MustDelete(t, s.store, adapter.DeleteParams{Key: key})
	total := s.count(t, &adapter.Query{})
	for i, a := range s.schema.Attributes {
		var refused []adapter.Value
		switch v, ok := otherValue(a, given.Values[i]); {
		case a.Nested != nil:
			continue
		case a.ReadOnly && ok:
			refused = append(refused, v)
		case a.Kind == adapter.KindInteger:
			refused = append(refused, adapter.TextValue("1"), adapter.RecordsValue(nil))
		case a.Kind == adapter.KindTime:
			refused = append(refused, adapter.TextValue("2012-02-30 00:00:00"), adapter.IntegerValue(1))
		case a.Kind == adapter.KindDecimal:
			refused = append(refused, adapter.TextValue("x"), adapter.IntegerValue(1))
		default:
			refused = append(refused, adapter.IntegerValue(1), adapter.RecordsValue(nil))
		}
		for _, v := range refused {
			r := given.Clone()
			r.Values[i] = v
			if _, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: r}); adapter.KindOf(err) != adapter.Invalid || err == nil {
				t.Errorf("%s given as %s: %v, want invalid", a.Name, FormatValue(v), err)
			}
		}
	}
	if after := s.count(t, &adapter.Query{}); after != total {
		t.Errorf("%d records, were %d", after, total)
	}
}

// testConcurrentCreates creates one record from many goroutines. Either all are stored,
// or, if the record has unique values, one is.
func (s creates) testConcurrentCreates(t *testing.T) {
	const writers = 50
	key, given := s.createLikeFirst(t)
	_, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: given.Clone()})
	want := writers
	if adapter.KindOf(err) == adapter.Conflict {
		want = 1
	} else if err != nil {
		t.Fatalf("Create: %v", err)
	}
	MustDelete(t, s.store, adapter.DeleteParams{Key: key})
	var all sync.WaitGroup
	var mu sync.Mutex
	keys := map[adapter.Key]bool{}
	for range writers {
		all.Go(func() {
			key, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: given.Clone()})
			var fault *adapter.Error
			switch {
			case err == nil:
				mu.Lock()
				keys[key] = true
				mu.Unlock()
			case !errors.As(err, &fault) || fault.Kind != adapter.Conflict || fault.Field == "":
				t.Errorf("Create: %v, want a conflict that names the attribute", err)
			}
		})
	}
	all.Wait()
	if len(keys) != want {
		t.Errorf("%d of %d were stored, want %d", len(keys), writers, want)
	}
	listed := s.keys(s.list(t, &adapter.Query{}))
	for key := range keys {
		if !slices.Contains(listed, key) {
			t.Errorf("%d was stored, but is not listed", key)
		}
	}
}

// testOwner writes to a record on behalf of its customer and of another customer.
func (s creates) testOwner(t *testing.T) {
	key, r := s.firstRecord(t)
	owner := r.Get(s.schema.Owner).Int()
	update := func(ownerID int64) error {
		return s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, OwnerID: ownerID, Change: func(adapter.Record) (adapter.Record, error) {
			if ownerID != owner {
				t.Error("Change called for a record of another customer")
			}
			return adapter.NewRecord(s.schema), nil
		}})
	}
	remove := func(ownerID int64) error {
		return s.store.Delete(t.Context(), &adapter.DeleteParams{Key: key, OwnerID: ownerID, Check: func(adapter.Record) error {
			if ownerID != owner {
				t.Error("Check called for a record of another customer")
			}
			return errCallback
		}})
	}
	for name, write := range map[string]func(int64) error{"Update": update, "Delete": remove} {
		if err := write(owner); err != nil && !errors.Is(err, errCallback) && adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s by customer %s: %v", name, strconv.FormatInt(owner, 10), err)
		}
		if err := write(owner + 1); err == nil || adapter.KindOf(err) != adapter.NotFound && adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s by another customer: %v, want not found", name, err)
		}
	}
}
