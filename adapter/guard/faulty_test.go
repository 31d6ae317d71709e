package guard_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A faultyAdapter is a real adapter that hangs, fails and panics on demand, and counts the
// calls that reach it.
type faultyAdapter struct {
	adapter.Adapter
	// fault, unless nil, runs before each call. If it returns an error, the call fails with
	// it.
	fault                 atomic.Pointer[func(context.Context) error]
	calls, inFlight, most atomic.Int64
}

// set sets the fault; nil removes it.
func (a *faultyAdapter) set(f func(context.Context) error) {
	if f == nil {
		a.fault.Store(nil)
		return
	}
	a.fault.Store(&f)
}

// reach counts a call and runs it, after the fault.
func (a *faultyAdapter) reach(ctx context.Context, run func() error) error {
	a.calls.Add(1)
	now := a.inFlight.Add(1)
	defer a.inFlight.Add(-1)
	for most := a.most.Load(); now > most && !a.most.CompareAndSwap(most, now); most = a.most.Load() {
	}
	if fault := a.fault.Load(); fault != nil {
		if err := (*fault)(ctx); err != nil {
			return err
		}
	}
	return run()
}

func (a *faultyAdapter) Ping(ctx context.Context) error {
	return a.reach(ctx, func() error { return a.Adapter.Ping(ctx) })
}

func (a *faultyAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	return &faultyStore{s, a}, err
}

type faultyStore struct {
	adapter.Store
	adapter *faultyAdapter
}

func (s *faultyStore) List(ctx context.Context, p *adapter.ListParams) (result *adapter.ListResult, err error) {
	err = s.adapter.reach(ctx, func() (err error) { result, err = s.Store.List(ctx, p); return err })
	return result, err
}

func (s *faultyStore) Get(ctx context.Context, p *adapter.GetParams) (r adapter.Record, err error) {
	err = s.adapter.reach(ctx, func() (err error) { r, err = s.Store.Get(ctx, p); return err })
	return r, err
}

func (s *faultyStore) Create(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, err error) {
	err = s.adapter.reach(ctx, func() (err error) { key, err = s.Store.Create(ctx, p); return err })
	return key, err
}

func (s *faultyStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return s.adapter.reach(ctx, func() error { return s.Store.Update(ctx, p) })
}

func (s *faultyStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	return s.adapter.reach(ctx, func() error { return s.Store.Delete(ctx, p) })
}

// unavailableFault is the fault of an upstream that is down.
func unavailableFault(context.Context) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: "reach", Err: errors.New("connection refused")}
}

// hangFault is the fault of an upstream that does not answer.
func hangFault(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// demoTemplate is a database with the demo store and images.
var demoTemplate = sqltest.NewTemplate("demo_with_images", demotest.LoadWithImages)

// openDemo opens a copy of the demo store for one test.
func openDemo(tb testing.TB) *sqlstore.DB {
	tb.Helper()
	return demotest.Open(tb, sqlstore.Options{DSN: demoTemplate.SQLite(tb), MediaDir: tb.TempDir()})
}

// A guarded is a faulty upstream behind a guard.
type guarded struct {
	*guard.Guard
	adapter  *guard.Adapter
	upstream *faultyAdapter
	db       *sqlstore.DB
	metrics  *prometheus.Registry
	states   *[]string // states that the breakers went through
	stock    adapter.Store
	products adapter.Store
}

// newGuarded opens a demo store behind a guard.
func newGuarded(tb testing.TB, o guard.Options) *guarded {
	tb.Helper()
	registry := prometheus.NewRegistry()
	metrics := guard.NewMetrics(registry)
	var states []string
	o.Name = "test"
	o.OnStateChange = func(name, to string) {
		if name != o.Name && name != guard.WritesOf(o.Name) {
			tb.Errorf("OnStateChange got the name %q", name)
		}
		states = append(states, to)
	}
	g := &guarded{Guard: guard.New(metrics, o), db: openDemo(tb), metrics: registry, states: &states}
	g.upstream = &faultyAdapter{Adapter: g.db.Adapter()}
	g.adapter = g.Adapter(g.upstream)
	g.stock, g.products = adaptertest.StoreOf(tb, g.adapter, adapter.StockItems), adaptertest.StoreOf(tb, g.adapter, adapter.Products)
	return g
}

// get makes one guarded call.
func (g *guarded) get(ctx context.Context) error {
	_, err := g.stock.Get(ctx, &adapter.GetParams{Key: 1})
	return err
}

// write makes one guarded call that writes.
func (g *guarded) write(ctx context.Context) error {
	return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) { return current, nil }})
}

// fail makes calls that fail with kind Unavailable, and leaves the upstream down.
func (g *guarded) fail(t *testing.T, times int) {
	t.Helper()
	g.failBy(t, times, g.get)
}

// failBy is fail for calls like the given one.
func (g *guarded) failBy(t *testing.T, times int, call func(context.Context) error) {
	t.Helper()
	g.upstream.set(unavailableFault)
	for range times {
		if err := call(t.Context()); adapter.KindOf(err) != adapter.Unavailable {
			t.Fatalf("a call to a failing upstream: %v", err)
		}
	}
}

// sum returns the sum of a metric's series, or of the series that have a label with this
// value unless it is "".
func (g *guarded) sum(t *testing.T, metric, value string) (sum float64) {
	t.Helper()
	families, err := g.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			if value == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == value }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// counted returns the number of calls counted with a kind.
func (g *guarded) counted(t *testing.T, kind string) float64 {
	t.Helper()
	return g.sum(t, "portico_upstream_calls_total", kind)
}
