package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configure an Adapter.
type Options struct {
	Replica Replica
	// Writes stores clients' writes in the local replica, for example through an adapter that
	// adds them to an outbox; nil means Replica. Undoing and reconciling use Replica.
	Writes  Writes
	Backend Backend
	// Schemas describe the records; nil means adapter.NewSchemas.
	Schemas *adapter.Schemas
	// AllocateIDs gives the next legacy id to a document that has no mapping and carries no legacy
	// id. Otherwise such documents are left out, counted and logged.
	AllocateIDs bool
	// Changed is called before the local replica stores changes of the backend, and after a record
	// has become visible. It gets the keys of the changed roots, and lists parts under the keys of
	// their roots, so that cached replies that show them are no longer served. If Changed fails,
	// the scan or the read fails and is to be repeated. It may be nil.
	Changed func(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error
	// ScanInterval is the time between two scans of the backend; 0 turns scans off.
	ScanInterval time.Duration
	// Logger gets messages for operators; nil discards them.
	Logger *slog.Logger
	// Registerer gets the adapter's metrics, once; nil registers none.
	Registerer prometheus.Registerer
}

// An Adapter serves the records of a backend from the local replica and keeps the two in
// agreement. It is safe for concurrent use.
type Adapter struct {
	*reconciler
	adapter.Noter        // the replica
	clientWrites  Writes // also serves the resources without backend-owned attributes
	stopScans     context.CancelFunc
	scanLoop      sync.WaitGroup
	scanSlot      chan struct{}                             // a semaphore: holds one element while a scan runs
	scans         map[adapter.Resource]adapter.ClockReading // at the start of the last complete scan
}

// New returns an adapter that joins a backend with its local replica. It takes ownership of
// the backend, and starts scanning where o.ScanInterval is set. The caller closes the
// replica's database after closing the adapter. Kinds: Invalid when the backend declares a
// resource or an attribute that the schemas do not have.
func New(o Options) (*Adapter, error) {
	o.Schemas = cmp.Or(o.Schemas, adapter.NewSchemas())
	o.Writes = cmp.Or[Writes](o.Writes, o.Replica)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	r := &reconciler{
		walker:      &walker{replica: o.Replica, backend: o.Backend, schemas: o.Schemas},
		allocateIDs: o.AllocateIDs, changed: o.Changed, log: &logger{Logger: o.Logger}, instanceID: rand.Text(),
		clock: adapter.NewClock(), foreignIntentAge: time.Minute, foreignWriteWait: 2 * time.Second,
	}
	a := &Adapter{reconciler: r, Noter: o.Replica, clientWrites: o.Writes, scanSlot: make(chan struct{}, 1), scans: map[adapter.Resource]adapter.ClockReading{}}
	var err error
	if a.plans, a.ordered, err = newPlans(o); err != nil {
		return nil, err
	}
	a.metrics = newMetrics(o.Registerer, convert(a.ordered, func(plan *resourcePlan) adapter.Resource { return plan.Resource }))
	a.refusals = reporter{Log: a.log, Metrics: a.metrics}
	ctx, cancel := context.WithCancel(context.Background())
	a.stopScans = cancel
	if o.ScanInterval > 0 {
		a.scanLoop.Go(func() { a.scanPeriodically(ctx, o.ScanInterval) })
	}
	return a, nil
}

// Name returns the backend's name.
func (a *Adapter) Name() string { return a.backend.Name() }

// Store returns the store of r's records. Resources without backend-owned attributes are served by
// the local replica alone. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	if plan, ok := a.plans[r]; ok {
		return &store{a, plan}, nil
	}
	return a.clientWrites.Store(r)
}

// Ping reports whether both the local replica and the backend can answer. Kinds:
// Unavailable.
func (a *Adapter) Ping(ctx context.Context) error {
	if err := a.checkOpen("ping " + a.Name()); err != nil {
		return err
	}
	if err := a.replica.Ping(ctx); err != nil {
		return err
	}
	return a.backend.Ping(ctx)
}

// Close stops the scans and closes the backend. The replica's database stays open. Later
// calls fail with kind Unavailable if they would need the backend.
func (a *Adapter) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	a.stopScans()
	a.scanLoop.Wait()
	return a.backend.Close()
}

// detachedTimeout bounds the work that must be finished for a write even if its caller has
// gone away.
const detachedTimeout = 5 * time.Second

// detachedContext returns a context that outlives the cancellation of ctx, for work that
// must be finished anyway.
func detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
}

// notFound returns the error for a record that does not exist or must not be visible.
func notFound(op string, r adapter.Resource, key adapter.Key) error {
	return &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("%s %s %d", op, r, key)}
}
