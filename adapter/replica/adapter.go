package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
)

// Unmapped says what is done about a document that has no entry and carries no
// legacy id.
type UnmappedPolicy string

const (
	// Refuse leaves the document out; it is counted and logged.
	RefuseUnmapped UnmappedPolicy = "refuse"
	// Allocate gives it the next legacy id.
	AllocateIDs UnmappedPolicy = "allocate"
)

// Options say what an adapter is made of.
type Options struct {
	Replica Replica
	Backend Backend
	// Schemas describe the records; nil for those of adapter.NewSchemas.
	Schemas *adapter.Schemas
	// Unmapped is Refuse when it is "".
	Unmapped UnmappedPolicy
	// ScanEvery is the time between two scans of the backend; 0 is for none.
	ScanInterval time.Duration
	// Logger is told of what operators should know; nil for silence.
	Logger *slog.Logger
	// Registerer gets the adapter's metrics, unless it is nil.
	Registerer prometheus.Registerer
}

// An Adapter is a backend and its side as one. It is safe for concurrent use.
type Adapter struct {
	replica        Replica
	backend        Backend
	unmappedPolicy UnmappedPolicy
	plans          map[adapter.Resource]*resourcePlan
	rootPlans      []*resourcePlan // in the backend's order
	locks          rootLocks
	log            *slog.Logger
	metrics        *metrics
	instanceID     string // names this adapter in its notes
	closed         atomic.Bool
	stopScans      context.CancelFunc
	scanLoop       sync.WaitGroup
	scanSlot       chan struct{} // holds one while a scan runs
	lastScan       map[adapter.Resource]time.Time
	warned         logOnce
	hidden         hiddenRoots
	// foreignNote is how long a note of another process is left to that process when
	// its record is not found at the backend.
	foreignIntentAge time.Duration
}

// New returns the adapter of a backend and its side, which from then on are its own,
// but for the side's database: the caller closes that after the adapter. Kinds:
// Invalid when the backend keeps what the schemas do not have.
func New(o Options) (*Adapter, error) {
	schemas := o.Schemas
	if schemas == nil {
		schemas = adapter.NewSchemas()
	}
	if o.Unmapped == "" {
		o.Unmapped = RefuseUnmapped
	}
	if o.Unmapped != RefuseUnmapped && o.Unmapped != AllocateIDs {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "open " + o.Backend.Name(), Err: fmt.Errorf("unmapped %q: use %s or %s", o.Unmapped, RefuseUnmapped, AllocateIDs)}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Adapter{
		replica: o.Replica, backend: o.Backend, unmappedPolicy: o.Unmapped, log: o.Logger, instanceID: rand.Text(),
		scanSlot: make(chan struct{}, 1), lastScan: map[adapter.Resource]time.Time{}, foreignIntentAge: time.Minute,
	}
	var err error
	if a.plans, a.rootPlans, err = newPlans(o.Replica, o.Backend, schemas); err != nil {
		return nil, err
	}
	if a.metrics, err = newMetrics(o.Registerer); err != nil {
		return nil, &adapter.Error{Kind: adapter.Internal, Op: "open " + o.Backend.Name(), Err: err}
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stopScans = cancel
	if o.ScanInterval > 0 {
		a.scanLoop.Go(func() { a.scanPeriodically(ctx, o.ScanInterval) })
	}
	return a, nil
}

// Name returns the backend's name.
func (a *Adapter) Name() string { return a.backend.Name() }

// Store returns the store of r's records: the side's where the backend keeps none of
// them. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	if plan, ok := a.plans[r]; ok {
		return &store{a, plan}, nil
	}
	return a.replica.Store(r)
}

var errClosed = errors.New("the adapter is closed")

// Ping tells whether both the side and the backend can answer. Kinds: Unavailable.
func (a *Adapter) Ping(ctx context.Context) error {
	if err := a.checkOpen("ping " + a.Name()); err != nil {
		return err
	}
	if err := a.replica.Ping(ctx); err != nil {
		return err
	}
	return a.backend.Ping(ctx)
}

// open fails once the adapter is closed.
func (a *Adapter) checkOpen(op string) error {
	if a.closed.Load() {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errClosed}
	}
	return nil
}

// Close ends the scans and closes the backend. The side's database stays open.
func (a *Adapter) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	a.stopScans()
	a.scanLoop.Wait()
	return a.backend.Close()
}

// afterwards bounds what is done about a write when its caller may have gone.
const detachedTimeout = 5 * time.Second

// aside returns a context for what has to be done although that of the caller may
// have ended.
func detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
}

// refused reports whether err says that nothing was done.
func isRefusal(err error) bool {
	switch adapter.KindOf(err) {
	case adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported:
		return true
	default:
		return false
	}
}

// gone is the error for a record that is not there, or not to be seen.
func notFound(op string, r adapter.Resource, key adapter.Key) error {
	return &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("%s %s %d", op, r, key)}
}
