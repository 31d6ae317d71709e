package replica_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// A fate ends a process at one of its steps: of its calls to the side and to the
// backend. All that come later fail.
type fate struct {
	mu    sync.Mutex
	steps int
	at    int  // the step at which it ends, 0 for never
	after bool // the step is done, and nobody learns of it
	dead  bool
}

var errDead = &adapter.Error{Kind: adapter.Unavailable, Op: "step", Err: errors.New("the process has ended")}

func (f *fate) step(do func() error) error {
	f.mu.Lock()
	f.steps++
	mine := f.steps == f.at
	if mine && !f.after {
		f.dead = true
	}
	dead := f.dead
	f.mu.Unlock()
	if dead {
		return errDead
	}
	err := do()
	if mine {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.dead = true
		return errDead
	}
	return err
}

// mortalSide is a side whose process may end.
type mortalSide struct {
	replica.Replica
	*fate
}

func (s *mortalSide) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := s.Replica.Store(r)
	return &mortalStore{store, s.fate}, err
}

func (s *mortalSide) ImportRecords(ctx context.Context, records []replica.ImportedRecord) (keys []adapter.Key, err error) {
	err = s.step(func() (err error) { keys, err = s.Replica.ImportRecords(ctx, records); return err })
	return keys, err
}

func (s *mortalSide) UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	return s.step(func() error { return s.Replica.UpdateReadOnly(ctx, r, key, values) })
}

func (s *mortalSide) MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) (mappings []replica.Mapping, err error) {
	err = s.step(func() (err error) { mappings, err = s.Replica.MappingsByKey(ctx, r, keys); return err })
	return mappings, err
}

func (s *mortalSide) MappingsOfParts(ctx context.Context, r adapter.Resource, rootKey adapter.Key) (mappings []replica.Mapping, err error) {
	err = s.step(func() (err error) { mappings, err = s.Replica.MappingsOfParts(ctx, r, rootKey); return err })
	return mappings, err
}

func (s *mortalSide) PutMappings(ctx context.Context, mappings ...replica.Mapping) error {
	return s.step(func() error { return s.Replica.PutMappings(ctx, mappings...) })
}

func (s *mortalSide) InvalidateVersions(ctx context.Context) error {
	return s.step(func() error { return s.Replica.InvalidateVersions(ctx) })
}

func (s *mortalSide) DeleteMapping(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return s.step(func() error { return s.Replica.DeleteMapping(ctx, r, key) })
}

type mortalStore struct {
	adapter.Store
	*fate
}

func (s *mortalStore) List(ctx context.Context, p *adapter.ListParams) (found *adapter.ListResult, err error) {
	err = s.step(func() (err error) { found, err = s.Store.List(ctx, p); return err })
	return found, err
}

func (s *mortalStore) Get(ctx context.Context, p *adapter.GetParams) (r adapter.Record, err error) {
	err = s.step(func() (err error) { r, err = s.Store.Get(ctx, p); return err })
	return r, err
}

func (s *mortalStore) Create(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, err error) {
	err = s.step(func() (err error) { key, err = s.Store.Create(ctx, p); return err })
	return key, err
}

func (s *mortalStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return s.step(func() error { return s.Store.Update(ctx, p) })
}

func (s *mortalStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	return s.step(func() error { return s.Store.Delete(ctx, p) })
}

// mortalBackend is a backend whose client's process may end.
type mortalBackend struct {
	*memory
	*fate
}

func (b *mortalBackend) Fetch(ctx context.Context, r adapter.Resource, ids []string) (docs []replica.Document, err error) {
	err = b.step(func() (err error) { docs, err = b.memory.Fetch(ctx, r, ids); return err })
	return docs, err
}

func (b *mortalBackend) FindByKey(ctx context.Context, r adapter.Resource, key adapter.Key) (doc replica.Document, err error) {
	err = b.step(func() (err error) { doc, err = b.memory.FindByKey(ctx, r, key); return err })
	return doc, err
}

func (b *mortalBackend) Create(ctx context.Context, w *replica.Write) (id string, err error) {
	err = b.step(func() (err error) { id, err = b.memory.Create(ctx, w); return err })
	return id, err
}

func (b *mortalBackend) Update(ctx context.Context, w *replica.Write) error {
	return b.step(func() error { return b.memory.Update(ctx, w) })
}

func (b *mortalBackend) Delete(ctx context.Context, w *replica.Write) error {
	return b.step(func() error { return b.memory.Delete(ctx, w) })
}

// TestCrash ends the process at every step of every write, before and after the step
// is done. The next process finds both sides in agreement, the write done or not, by a
// scan as well as by reading what it is about.
func TestCrash(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			before := d.done(openShop(t), whole)
			first := mortal(t, &fate{})
			if err := d.do(first.shop); err != nil {
				t.Fatal(err)
			}
			after, kept, steps := d.done(first.shop, whole), d.done(first.shop, lossy), first.fate.steps
			if after == before {
				t.Fatalf("nothing is done: %s", after)
			}
			first.agree()
			first.settled()
			every := 1
			if !nightly.Whole() { // for the race detector, which has little to find here
				every = 20
			}
			for at := 1; at <= steps; at += every {
				// What is left after a step is what is left before the next: one is found by
				// a scan, the other by reading.
				for _, scans := range []bool{false, true} {
					t.Run(fmt.Sprintf("step %d done and scanned %v", at, scans), func(t *testing.T) {
						m := mortal(t, &fate{at: at, after: scans})
						err := d.do(m.shop)
						s := m.again()
						if scans {
							if err := s.Scan(t.Context()); err != nil {
								t.Fatal(err)
							}
							if err := s.Push(t.Context(), nil); err != nil { // of a record without an entry
								t.Fatal(err)
							}
						} else {
							for _, res := range s.memory.kept {
								s.keys(res.Resource, adapter.Query{})
							}
						}
						is := d.done(s, whole)
						// Who did not learn of the outcome gets what the backend has kept.
						if is != before && is != after && is != kept || err == nil && is != after {
							t.Errorf("after %v there is\n%s\nwant\n%s\nor\n%s", err, is, after, before)
						}
						if scans {
							s.agree()
							s.settled()
						}
					})
				}
			}
		})
	}
}

// A mortalShop is a shop whose process may end.
type mortalShop struct {
	*shop
	fate *fate
}

func mortal(t *testing.T, f *fate) *mortalShop {
	t.Helper()
	s := openShop(t)
	a, err := replica.New(replica.Options{Replica: &mortalSide{s.side, f}, Backend: &mortalBackend{s.memory, f}})
	if err != nil {
		t.Fatal(err)
	}
	s.Adapter = a
	s.LeaveForeign(time.Hour)
	return &mortalShop{s, f}
}
