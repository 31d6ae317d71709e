package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/config/testenv"
)

// A crashPoint ends a process at one of its steps, which are its calls to the local replica
// and to the backend. All later steps fail.
type crashPoint struct {
	mu      sync.Mutex
	steps   int
	crashAt int  // the number of the step, from 1; 0 for never
	after   bool // the process ends after the step is done, before it learns the result
	crashed bool
}

var errCrashed = &adapter.Error{Kind: adapter.Unavailable, Op: "step", Err: errors.New("the process has ended")}

func (point *crashPoint) step(do func() error) error {
	point.mu.Lock()
	point.steps++
	isCrashStep := point.steps == point.crashAt
	if isCrashStep && !point.after {
		point.crashed = true
	}
	crashed := point.crashed
	point.mu.Unlock()
	if crashed {
		return errCrashed
	}
	err := do()
	if isCrashStep {
		point.mu.Lock()
		defer point.mu.Unlock()
		point.crashed = true
		return errCrashed
	}
	return err
}

// A crashingReplica is a replica whose process may end.
type crashingReplica struct {
	replica.Replica
	*crashPoint
}

func (s *crashingReplica) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := s.Replica.Store(r)
	return &crashingStore{store, s.crashPoint}, err
}

func (s *crashingReplica) CreateWithIntent(ctx context.Context, p *adapter.CreateParams, intent func(adapter.Key) ([]byte, error)) (key adapter.Key, err error) {
	err = s.step(func() (err error) { key, err = s.Replica.CreateWithIntent(ctx, p, intent); return err })
	return key, err
}

func (s *crashingReplica) UpdateIdle(ctx context.Context, root idmap.Mapping, r adapter.Resource, p *adapter.UpdateParams) (idle bool, err error) {
	err = s.step(func() (err error) { idle, err = s.Replica.UpdateIdle(ctx, root, r, p); return err })
	return idle, err
}

func (s *crashingReplica) ImportRecords(ctx context.Context, records []replica.ImportedRecord) (keys []adapter.Key, err error) {
	err = s.step(func() (err error) { keys, err = s.Replica.ImportRecords(ctx, records); return err })
	return keys, err
}

func (s *crashingReplica) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) (done []adapter.Imported, err error) {
	err = s.step(func() (err error) { done, err = s.Replica.Import(ctx, batch, o); return err })
	return done, err
}

func (s *crashingReplica) UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error {
	return s.step(func() error { return s.Replica.UpdateReadOnly(ctx, r, key, values) })
}

func (s *crashingReplica) VersionsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) (mappings []idmap.Mapping, err error) {
	err = s.step(func() (err error) { mappings, err = s.Replica.VersionsByKey(ctx, r, keys); return err })
	return mappings, err
}

func (s *crashingReplica) MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) (mappings []idmap.Mapping, err error) {
	err = s.step(func() (err error) { mappings, err = s.Replica.MappingsByKey(ctx, r, keys); return err })
	return mappings, err
}

func (s *crashingReplica) MappingsOfParts(ctx context.Context, r adapter.Resource, rootKey adapter.Key) (mappings []idmap.Mapping, err error) {
	err = s.step(func() (err error) { mappings, err = s.Replica.MappingsOfParts(ctx, r, rootKey); return err })
	return mappings, err
}

func (s *crashingReplica) PutMappings(ctx context.Context, mappings ...idmap.Mapping) error {
	return s.step(func() error { return s.Replica.PutMappings(ctx, mappings...) })
}

func (s *crashingReplica) BeginIntent(ctx context.Context, root idmap.Mapping) (begun bool, err error) {
	err = s.step(func() (err error) { begun, err = s.Replica.BeginIntent(ctx, root); return err })
	return begun, err
}

func (s *crashingReplica) CompleteIntent(ctx context.Context, intent []byte, root idmap.Mapping, parts ...idmap.Mapping) (completed bool, err error) {
	err = s.step(func() (err error) { completed, err = s.Replica.CompleteIntent(ctx, intent, root, parts...); return err })
	return completed, err
}

func (s *crashingReplica) DeleteMapping(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return s.step(func() error { return s.Replica.DeleteMapping(ctx, r, key) })
}

type crashingStore struct {
	adapter.Store
	*crashPoint
}

func (s *crashingStore) List(ctx context.Context, p *adapter.ListParams) (found *adapter.ListResult, err error) {
	err = s.step(func() (err error) { found, err = s.Store.List(ctx, p); return err })
	return found, err
}

func (s *crashingStore) Get(ctx context.Context, p *adapter.GetParams) (r adapter.Record, err error) {
	err = s.step(func() (err error) { r, err = s.Store.Get(ctx, p); return err })
	return r, err
}

func (s *crashingStore) Create(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, err error) {
	err = s.step(func() (err error) { key, err = s.Store.Create(ctx, p); return err })
	return key, err
}

func (s *crashingStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return s.step(func() error { return s.Store.Update(ctx, p) })
}

func (s *crashingStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	return s.step(func() error { return s.Store.Delete(ctx, p) })
}

// A crashingBackend is a backend whose client process may end.
type crashingBackend struct {
	*memoryBackend
	*crashPoint
}

func (b *crashingBackend) Fetch(ctx context.Context, r adapter.Resource, ids []string) (docs []replica.Document, err error) {
	err = b.step(func() (err error) { docs, err = b.memoryBackend.Fetch(ctx, r, ids); return err })
	return docs, err
}

func (b *crashingBackend) Find(ctx context.Context, r adapter.Resource, key adapter.Key, record adapter.Record) (doc replica.Document, err error) {
	err = b.step(func() (err error) { doc, err = b.memoryBackend.Find(ctx, r, key, record); return err })
	return doc, err
}

func (b *crashingBackend) Create(ctx context.Context, w *replica.Write) (id string, err error) {
	err = b.step(func() (err error) { id, err = b.memoryBackend.Create(ctx, w); return err })
	return id, err
}

func (b *crashingBackend) Update(ctx context.Context, w *replica.Write) error {
	return b.step(func() error { return b.memoryBackend.Update(ctx, w) })
}

func (b *crashingBackend) Delete(ctx context.Context, w *replica.Write) error {
	return b.step(func() error { return b.memoryBackend.Delete(ctx, w) })
}

// TestCrash ends the process at every step of every write, before and after the step is done.
// The next process then finds the replica and the backend in agreement, with the write done or
// not, whether it scans or reads the records. A write of several requests may be done in part,
// until it is repeated.
func TestCrash(t *testing.T) {
	for _, c := range slices.Concat(writeCases(), pushCases()) {
		t.Run(c.name, func(t *testing.T) {
			before := c.observe(newFixture(t), exact)
			first := newCrashingFixture(t, &crashPoint{})
			if err := c.write(first.fixture); err != nil {
				t.Fatal(err)
			}
			after, lossyState, steps := c.observe(first.fixture, exact), c.observe(first.fixture, lossy), first.point.steps
			if after == before {
				t.Fatalf("the write changed nothing: %s", after)
			}
			first.checkAgreement()
			first.checkNoIntents()
			stride := 1
			if !testenv.Nightly() { // the race detector is slow and finds little here
				stride = 20
			}
			for at := 1; at <= steps; at += stride {
				// The state after one step is the state before the next, so it is enough to
				// test one with a scan and the other with reads.
				for _, scans := range []bool{false, true} {
					t.Run(fmt.Sprintf("step %d done and scanned %v", at, scans), func(t *testing.T) {
						m := newCrashingFixture(t, &crashPoint{crashAt: at, after: scans})
						err := c.write(m.fixture)
						f := m.restart()
						if scans {
							if err := f.Scan(t.Context()); err != nil {
								t.Fatal(err)
							}
							if c.pushes { // an imported record has no mapping before it is at the backend
								if err := f.Push(t.Context(), 1, nil); err != nil {
									t.Fatal(err)
								}
							}
						} else {
							for _, res := range f.memory.resources {
								f.keys(res.Resource, adapter.Query{})
							}
						}
						state := c.observe(f, exact)
						// A process that did not learn the outcome applies the values as the
						// backend stored them.
						if !c.repeats && state != before && state != after && state != lossyState || err == nil && state != after {
							t.Errorf("after %v the replica holds\n%s\nwant\n%s\nor\n%s", err, state, after, before)
						}
						if scans {
							f.checkAgreement()
							f.checkNoIntents()
						}
						if !c.repeats {
							return
						}
						if err := c.write(f); err != nil {
							t.Fatal(err)
						}
						if state := c.observe(f, exact); state != after {
							t.Errorf("after %v and a repetition the replica holds\n%s\nwant\n%s", err, state, after)
						}
						f.checkAgreement()
						f.checkNoIntents()
					})
				}
			}
		})
	}
}

// A crashingFixture is a fixture whose process may end.
type crashingFixture struct {
	*fixture
	point *crashPoint
}

func newCrashingFixture(t *testing.T, point *crashPoint) *crashingFixture {
	t.Helper()
	f := newFixture(t)
	a, err := replica.New(replica.Options{Replica: &crashingReplica{f.local, point}, Backend: &crashingBackend{f.memory, point}})
	if err != nil {
		t.Fatal(err)
	}
	f.Adapter = a
	f.SetForeignIntentAge(time.Hour)
	return &crashingFixture{f, point}
}
