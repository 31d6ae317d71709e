package adaptertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// isRefused reports whether err is the error of the functions that the suite passes to a store,
// marked once as an error of the caller.
func isRefused(err error) bool {
	refused, ok := errors.AsType[*adapter.RefusedError](err)
	return ok && refused.Err == errCallback //nolint:errorlint // must be marked once
}

// sameGlobalValues reports whether two records of a schema have the same values of the attributes that are the same
// in the whole store.
func sameGlobalValues(a, b adapter.Record) bool {
	a, b = a.Clone(), b.Clone()
	for _, r := range []adapter.Record{a, b} {
		for i := range r.Values {
			if r.Schema.Attributes[i].Scope != adapter.ScopeGlobal {
				r.Values[i] = adapter.Value{}
			}
		}
	}
	return sameRecord(a, b)
}

// testObservers writes with two observers, of which the second refuses the write. Both must
// see the write after the caller's function and before anything is written.
func (s *suite) testObservers(t *testing.T) {
	key, before := s.firstRecord(t)
	total := s.count(t, &adapter.Query{})
	none := adapter.Record{}
	for _, c := range []struct {
		name            string
		current, change adapter.Record
		write           func(caller func(), locked []adapter.Observer) error
	}{
		{"Create", none, before, func(caller func(), locked []adapter.Observer) error {
			p := adapter.CreateParams{Record: before.Clone(), Locked: locked}
			p.Check = func() error { caller(); return nil }
			_, err := s.store.Create(t.Context(), &p)
			return err
		}},
		{"Create without Check", none, before, func(caller func(), locked []adapter.Observer) error {
			caller()
			_, err := s.store.Create(t.Context(), &adapter.CreateParams{Record: before.Clone(), Locked: locked})
			return err
		}},
		{"Update", before, adapter.NewRecord(s.schema), func(caller func(), locked []adapter.Observer) error {
			p := adapter.UpdateParams{Key: key, Locked: locked}
			p.Change = func(current adapter.Record) (adapter.Record, error) {
				caller()
				clear(current.Values) // the observers must not see changes that Change makes to its copy
				return current, nil
			}
			return s.store.Update(t.Context(), &p)
		}},
		{"Delete", before, none, func(caller func(), locked []adapter.Observer) error {
			p := adapter.DeleteParams{Key: key, Locked: locked}
			p.Check = func(adapter.Record) error { caller(); return nil }
			return s.store.Delete(t.Context(), &p)
		}},
		{"Delete without Check", before, none, func(caller func(), locked []adapter.Observer) error {
			caller()
			return s.store.Delete(t.Context(), &adapter.DeleteParams{Key: key, Locked: locked})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			called := ""
			observe := func(letter string, err error) adapter.Observer {
				return func(current, change adapter.Record) error {
					called += letter
					same := sameRecord
					if strings.HasPrefix(c.name, "Delete") {
						same = sameGlobalValues // a delete names no store view, and the suite may read at one
					}
					if len(current.Values) != len(c.current.Values) || !same(current, c.current) {
						t.Errorf("current record:\n\t%s\nwant:\n\t%s", FormatRecord(current), FormatRecord(c.current))
					}
					if len(change.Values) != len(c.change.Values) || !sameRecord(change, c.change) {
						t.Errorf("change:\n\t%s\nwant:\n\t%s", FormatRecord(change), FormatRecord(c.change))
					}
					return err
				}
			}
			locked := []adapter.Observer{observe("1", nil), observe("2", errCallback), observe("3", nil)}
			err := c.write(func() { called += "caller " }, locked)
			if adapter.KindOf(err) == adapter.Unsupported && err != nil {
				return
			}
			if called != "caller 12" {
				t.Errorf("called %q, want the caller's function and two observers, with RunChange or RunCheck", called)
			}
			if !isRefused(err) {
				t.Errorf("error %v, want a RefusedError of the observer's own", err)
			}
			if after := s.count(t, &adapter.Query{}); after != total {
				t.Errorf("%d records, were %d", after, total)
			}
			if after := s.get(t, key); FormatRecord(after) != FormatRecord(before) {
				t.Errorf("changed despite the error:\n\t%s", FormatRecord(after))
			}
		})
	}
}
