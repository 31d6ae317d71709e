package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/adapter"
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

// Metrics count by resource, except Intents, which is the number of unresolved write intents.
type Metrics struct {
	Reconciled, Imported, Refused, Unmapped, IncompleteScans counter
	Intents                                                  prometheus.Gauge
}

// A counter counts by resource.
type counter struct{ *prometheus.CounterVec }

// Count counts one event.
func (c counter) Count(r adapter.Resource) { c.WithLabelValues(string(r)).Inc() }

// newMetrics returns metrics of some resources, registered unless registerer is
// nil. It panics if they are registered already.
func newMetrics(registerer prometheus.Registerer, resources []adapter.Resource) *Metrics {
	register := promauto.With(registerer)
	newCounter := func(name, help string) counter {
		c := counter{register.NewCounterVec(prometheus.CounterOpts{Name: "portico_side_" + name, Help: help}, []string{"resource"})}
		for _, r := range resources {
			c.WithLabelValues(string(r)) // so that the first event counts as an increase
		}
		return c
	}
	return &Metrics{
		Reconciled:      newCounter("taken_over_total", "Records of the local replica that were updated from the backend."),
		Imported:        newCounter("adopted_total", "Records imported that only the backend had."),
		Refused:         newCounter("left_out_total", "Values and records of the backend that the local replica refused, or that do not fit."),
		Unmapped:        newCounter("unmapped_total", "Documents found at the backend that have no legacy id, or another record's."),
		IncompleteScans: newCounter("incomplete_scans_total", "Scans in which the backend listed a record twice, or another number of records than it said."),
		Intents: register.NewGauge(prometheus.GaugeOpts{
			Name: "portico_side_noted", Help: "Writes whose outcome was unknown at the last scan of the backend.",
		}),
	}
}

// maxWarnings bounds the number of messages that a Logger remembers.
const maxWarnings = 10_000

// A logger logs each warning only once. It is safe for concurrent use.
type logger struct {
	*slog.Logger
	logged sync.Map
	count  atomic.Int64
}

// WarnOnce logs a message about a record, with more attributes for the log alone, unless it has logged it
// before. id is the backend id, or the legacy id where that is unknown; "" for a message about all records.
func (l *logger) WarnOnce(message string, r adapter.Resource, id string, more ...any) {
	if l.count.Load() >= maxWarnings {
		return
	}
	if _, logged := l.logged.LoadOrStore(message+string(r)+" "+id, true); !logged {
		l.count.Add(1)
		attributes := []any{"resource", r}
		if id != "" {
			attributes = append(attributes, "record", id)
		}
		l.Warn(message, append(attributes, more...)...)
	}
}

// A reporter counts every refusal, and logs each record with its reason once.
type reporter struct {
	Log     *logger
	Metrics *Metrics
}

// Lacking names the values without which records cannot be imported.
type Lacking []string

// Error names the values.
func (l Lacking) Error() string { return "lacks values of " + strings.Join(l, ", ") }

// Import reports a record that cannot be imported; id is the backend's.
func (r reporter) Import(resource adapter.Resource, id string, err error) {
	r.Metrics.Refused.Count(resource)
	message := "a record of the backend cannot be imported: " + err.Error()
	if lacking, is := errors.AsType[Lacking](err); is {
		message = "a record of the backend cannot be imported without values of " + strings.Join(lacking, ", ") + ": map them, give them a default, or map the records that they refer to"
	}
	r.Log.WarnOnce(message, resource, id)
}

// File reports a file that cannot be imported.
func (r reporter) File(resource adapter.Resource, id string, err error) {
	r.Metrics.Refused.Count(resource)
	r.Log.WarnOnce("a file of the backend cannot be imported: "+err.Error(), resource, id)
}

// LeftOut reports the values of a document that do not fit their attributes.
func (r reporter) LeftOut(resource adapter.Resource, id string, reasons []string) {
	for _, reason := range reasons {
		r.Metrics.Refused.Count(resource)
		r.Log.WarnOnce("a value of the backend is left out: "+reason, resource, id)
	}
}

// Value reports a value that cannot be applied to a known record, whose legacy id is key.
func (r reporter) Value(resource adapter.Resource, key adapter.Key, attribute string, err error) {
	r.Metrics.Refused.Count(resource)
	r.Log.Warn("a value of the backend cannot be taken over: change it at the backend", "resource", resource, "id", key, "attribute", attribute, "kind", adapter.KindOf(err).String())
}

// Duplicate reports a document that carries another record's legacy id.
func (r reporter) Duplicate(resource adapter.Resource, id string) {
	r.Metrics.Unmapped.Count(resource)
	r.Log.WarnOnce("a record of the backend carries another record's legacy id: correct it at the backend", resource, id)
}

// Unmapped reports a document that has no legacy id.
func (r reporter) Unmapped(resource adapter.Resource, id string) {
	r.Metrics.Unmapped.Count(resource)
	r.Log.WarnOnce("a record of the backend has no legacy id: import one, or set rest.unmapped to allocate", resource, id)
}

// IncompleteScan reports a list of the backend that may lack records.
func (r reporter) IncompleteScan(resource adapter.Resource, why error) {
	r.Metrics.IncompleteScans.Count(resource)
	r.Log.WarnOnce("a scan may lack records of the backend, which stay invisible: let the mapping order its list by something without ties, such as the id", resource, "", "list", why.Error())
}
