package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// Owners are the rows with the owner of each resource's writes and the epochs that the processes
// have acknowledged. Package sqlstore documents the methods.
type Owners interface {
	Announce(ctx context.Context, p outbox.Process, ttl time.Duration) ([]outbox.Owner, error)
	Leave(ctx context.Context, id string) error
	Begin(ctx context.Context, r adapter.Resource, mirror bool) error
	Complete(ctx context.Context, r adapter.Resource, epoch int64) error
	GiveUp(ctx context.Context, r adapter.Resource, epoch int64) (ended bool, err error)
}

const (
	// announceEvery is how often a process announces itself, and announceTTL for how long that
	// counts.
	announceEvery = time.Second
	announceTTL   = 10 * time.Second
	// maxWaiting is the maximum number of writes that wait during handovers. It is shared by all
	// clients, which the gate cannot distinguish.
	maxWaiting = 256
	// turnPause is the pause before a canceled handover is tried again, as a multiple of the time
	// limit of a handover.
	turnPause = 10
)

// A Gate routes each write of a process to the system that owns the writes of its resource, and
// holds writes during a handover. It is safe for concurrent use.
type Gate struct {
	o GateOptions

	mu         sync.Mutex
	resources  map[adapter.Resource]*gateResource
	validUntil time.Time     // when others may no longer count on this process
	waiting    int           // writes
	changed    chan struct{} // closed when anything of these changes
	wake       chan struct{} // has room for one: something is to be announced
}

// GateOptions are the parts of a [Gate].
type GateOptions struct {
	Owners  Owners
	Process string // the name of this process; no two have the same
	// Wishes returns the desired owners: the resources whose writes Portico should own and mirror
	// under the rules in force. It chooses from Resources, all resources with writes.
	Wishes    func() map[adapter.Resource]bool
	Resources []adapter.Resource
	// CaughtUp reports whether Portico has all writes of a resource that clients have sent to the
	// legacy store through this process.
	CaughtUp func(r adapter.Resource) bool
	// Drain is how long writes wait for a handover.
	Drain time.Duration
	// Turned is called when a handover of a resource's writes is complete, and GaveUp when one was
	// canceled.
	Turned, GaveUp func(r adapter.Resource)
	Log            *slog.Logger
}

// A gateResource is the state of a resource with an owner.
type gateResource struct {
	outbox.Owner
	forwarded int       // writes in progress at the legacy store
	turning   time.Time // when this process saw the handover begin
	notBefore time.Time // when the next handover may be tried
	logged    string    // the last logged reason why there is no handover
}

// NewGate returns a gate that lets nothing of mirrored resources through before Run is called.
func NewGate(o GateOptions) *Gate {
	return &Gate{o: o, resources: map[adapter.Resource]*gateResource{}, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// Run keeps the gate up to date until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	ticks := time.NewTicker(announceEvery)
	defer ticks.Stop()
	for failing := false; ctx.Err() == nil; {
		err := g.announce(ctx)
		if err == nil {
			g.turn(ctx)
		} else if ctx.Err() == nil && !failing {
			g.o.Log.Warn("the store does not say which system has the writes of mirrored resources: writes may have to wait", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-ticks.C:
		case <-g.wake:
		}
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTTL)
	defer cancel()
	if err := g.o.Owners.Leave(leaving, g.o.Process); err != nil {
		g.o.Log.Warn("other processes wait for this one before writes change sides", "for", announceTTL, "error", err)
	}
}

// announce publishes the desired owners and the acknowledged epochs of this process, and reads the
// owners.
func (g *Gate) announce(ctx context.Context) error {
	began := time.Now()
	owners, err := g.o.Owners.Announce(ctx, outbox.Process{ID: g.o.Process, Wishes: g.o.Wishes(), Known: g.known()}, announceTTL)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.validUntil = began.Add(announceTTL - announceEvery)
	for _, o := range owners {
		r := g.resource(o.Resource)
		if o.Turning && o.Epoch != r.Epoch {
			r.turning = time.Now()
			g.announceSoon() // to acknowledge the epoch
		}
		if r.Turning && !o.Turning && o.Mirrored == r.Mirrored {
			r.notBefore = time.Now().Add(turnPause * g.o.Drain) // it was canceled
		}
		if r.Epoch != 0 && o.Mirrored != r.Mirrored {
			g.o.Log.Info("the writes of a resource have changed sides", "resource", string(o.Resource), "to", sideName(o.Mirrored))
			g.o.Turned(o.Resource)
		}
		r.Owner = o
	}
	close(g.changed)
	g.changed = make(chan struct{})
	return nil
}

// resource returns the state of a resource, which begins empty. The caller holds mu.
func (g *Gate) resource(name adapter.Resource) *gateResource {
	r := g.resources[name]
	if r == nil {
		r = &gateResource{}
		g.resources[name] = r
	}
	return r
}

// known returns the epochs that this process acknowledges: it has no older writes in progress at
// the legacy store, and Portico has all of them. Writes to Portico check the owner when they are
// stored.
func (g *Gate) known() map[adapter.Resource]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := map[adapter.Resource]int64{}
	for name, r := range g.resources {
		if !r.Turning || r.forwarded == 0 && g.o.CaughtUp(name) {
			known[name] = r.Epoch
		}
	}
	return known
}

func (g *Gate) announceSoon() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func sideName(mirrored bool) string {
	if mirrored {
		return "portico"
	}
	return "legacy"
}

// turn begins, completes and cancels handovers.
func (g *Gate) turn(ctx context.Context) {
	wishes := g.o.Wishes()
	for _, name := range g.o.Resources {
		g.mu.Lock()
		var r gateResource
		if known := g.resources[name]; known != nil {
			r = *known
		}
		g.mu.Unlock()
		var err error
		switch {
		case r.Turning && time.Since(r.turning) > g.o.Drain:
			var ended bool
			if ended, err = g.o.Owners.GiveUp(ctx, name, r.Epoch); ended {
				g.o.Log.Warn("the writes of a resource have not changed sides in time, and stay where they are for now", "resource", string(name), "reason", r.logged, "tried_again_in", turnPause*g.o.Drain)
				g.o.GaveUp(name)
			}
		case r.Turning:
			err = g.o.Owners.Complete(ctx, name, r.Epoch)
		case wishes[name] != r.Mirrored && !time.Now().Before(r.notBefore):
			err = g.o.Owners.Begin(ctx, name, wishes[name])
		default:
			continue
		}
		g.note(ctx, name, err)
	}
}

// note logs once why a handover cannot begin or be completed.
func (g *Gate) note(ctx context.Context, name adapter.Resource, err error) {
	var refused *outbox.NoTurnError
	if err == nil || ctx.Err() != nil {
		g.announceSoon()
		return
	}
	reason := err.Error()
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.resource(name)
	if r.logged == reason {
		return
	}
	r.logged = reason
	level := slog.LevelWarn
	if errors.As(err, &refused) {
		level = slog.LevelInfo
	}
	g.o.Log.Log(ctx, level, "the writes of a resource do not change sides yet", "resource", string(name), "reason", reason)
}

// Mirrors reports whether Portico owns the writes of a resource and mirrors them.
func (g *Gate) Mirrors(r adapter.Resource) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.resources[r]
	return known != nil && known.Mirrored
}

// Begin returns the system that executes a write of a resource, given the rule in force. During a
// handover it waits, and fails with kind Unavailable if that takes too long or too many others
// wait. The caller calls end when the write has ended.
func (g *Gate) Begin(ctx context.Context, name adapter.Resource, rule proxy.Rule) (to proxy.Target, end func(), err error) {
	turning := func() error {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "write " + string(name), Err: errTurning, RetryAfter: announceEvery}
	}
	to, end, changed := g.enter(name, rule)
	if end != nil {
		return to, end, nil
	}
	if !g.wait() {
		return to, nil, turning()
	}
	defer g.endWait()
	deadline := time.NewTimer(g.o.Drain)
	defer deadline.Stop()
	for ; end == nil; to, end, changed = g.enter(name, rule) {
		select {
		case <-changed:
		case <-ctx.Done():
			return to, nil, ctx.Err()
		case <-deadline.C:
			return to, nil, turning()
		}
	}
	return to, end, nil
}

// wait counts a write that waits, unless too many do.
func (g *Gate) wait() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == maxWaiting {
		return false
	}
	g.waiting++
	return true
}

func (g *Gate) endWait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

var errTurning = errors.New("the writes of the resource are changing sides, or the store does not say which side has them")

// enter decides which system executes a write, and counts it there. end is nil while the owner is
// unknown; changed is closed when that may have ended.
func (g *Gate) enter(name adapter.Resource, rule proxy.Rule) (to proxy.Target, end func(), changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.resource(name)
	owned := r.Epoch > 0
	to = rule.To
	switch {
	case !owned && !rule.Mirror:
	case time.Now().After(g.validUntil), r.Turning:
		return to, nil, g.changed
	case r.Mirrored:
		to = proxy.Portico
	default:
		to = proxy.Legacy
	}
	if to == proxy.Portico {
		return to, func() {}, nil
	}
	r.forwarded++
	return to, sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.forwarded--; r.forwarded == 0 && r.Turning {
			g.announceSoon()
		}
	}), nil
}

// WishesOf returns the given resources whose writes rules mirror: the desired owners.
func WishesOf(rules proxy.Rules, resources []adapter.Resource) map[adapter.Resource]bool {
	wishes := map[adapter.Resource]bool{}
	for _, name := range resources {
		if rules.Mirrors(string(name)) {
			wishes[name] = true
		}
	}
	return wishes
}
