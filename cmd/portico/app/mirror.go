package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

const (
	// mirrorLease is the name of the lease that the delivering process holds: only one of several
	// processes delivers.
	mirrorLease = "mirror"
	// mirrorLeaseTTL is the time to live of the lease: after it, another process can replace one
	// that has ended without releasing the lease.
	mirrorLeaseTTL = 15 * time.Second
	// mirrorStandby is the interval at which the other processes try to acquire the lease.
	mirrorStandby = time.Second
	// countOutbox is the interval at which the metrics of the outbox are updated.
	countOutbox = 5 * time.Second
)

// A mirroring repeats clients' writes at the legacy store.
type mirroring struct {
	db        *sqlstore.DB
	gate      *mirror.Gate
	deliverer mirror.Deliverer
	writes    *follow.Writes
	metrics   *mirrorMetrics
	holder    string
	log       *slog.Logger
}

// A mirrorSource is the legacy store's database, which completes deliveries of an outbox.
type mirrorSource struct {
	*follow.Writes
	box coordination.Outboxes
}

// Settle acknowledges deliveries.
func (s mirrorSource) Settle(ctx context.Context, deliveries ...outbox.Delivery) ([]outbox.Entry, error) {
	return s.Writes.Settle(ctx, s.box, deliveries...)
}

// newMirroring returns the mirroring of writes, and the adapter to serve. records is the adapter of
// Portico's records, and trial the adapter in which creates are tried, both behind their guard.
func newMirroring(cfg *config.Config, db *sqlstore.DB, records, trial adapter.Adapter, writes *follow.Writes, legacy *program.LegacySystem, rules func() proxy.Rules, requests func() *mirror.Requests, registry prometheus.Registerer, log *slog.Logger) (*mirroring, adapter.Adapter, error) {
	metrics := newMirrorMetrics(registry)
	fields, err := program.Fields(cfg)
	if err != nil {
		return nil, nil, err
	}
	parts, err := program.ResourceParts(cfg)
	if err != nil {
		return nil, nil, err
	}
	var written []adapter.Resource
	for _, part := range parts {
		if part.Writes {
			written = append(written, adapter.Resource(part.Name))
		}
	}
	metrics.start(written)
	m := &mirroring{db: db, writes: writes, metrics: metrics, holder: program.HolderName(), log: log}
	m.gate = mirror.NewGate(mirror.GateOptions{
		Owners: db.WriteOwners(), Process: m.holder, Resources: written, CaughtUp: writes.CaughtUp, Drain: cfg.Mirror.Drain, Log: log,
		Wishes: func() map[adapter.Resource]bool { return mirror.WishesOf(rules(), written) },
		Turned: func(r adapter.Resource) { metrics.turns.WithLabelValues(string(r), turned).Inc() },
		GaveUp: func(r adapter.Resource) { metrics.turns.WithLabelValues(string(r), gaveUp).Inc() },
	})
	sender := &mirror.Sender{
		System: legacy.Client, Table: contract.NewTable(contract.Routes(fields)), Timeout: cfg.Legacy.Timeout,
		Signer: auth.NewSigner(cfg.Legacy.ConsumerKey, cfg.Legacy.ConsumerSecret, cfg.Legacy.Token, cfg.Legacy.TokenSecret),
	}
	m.deliverer = mirror.Deliverer{Records: db.Adapter(), States: follow.States, Requests: requests, Sender: sender, Log: log,
		Count: func(r adapter.Resource, outcome string) { metrics.deliveries.WithLabelValues(string(r), outcome).Inc() }}
	served := mirror.NewAdapter(records, mirror.CreateOptions{
		Trial: trial, Mirrors: m.gate.Mirrors, Outbox: db.Outbox(), Source: mirrorSource{writes, db.Outbox()},
		Requests: requests, Sender: sender, Wait: cfg.Follow.Wait, Log: log,
		Count: func(r adapter.Resource, outcome string) { metrics.creates.WithLabelValues(string(r), outcome).Inc() },
	})
	return m, served, nil
}

// beginWrite is httpapi.Options.BeginWrite.
func (m *mirroring) beginWrite(ctx context.Context, resource string, rule proxy.Rule) (proxy.Target, func(), error) {
	return m.gate.Begin(ctx, adapter.Resource(resource), rule)
}

// startMirroring repeats writes at the legacy store until stop is called. If this process cannot,
// it only prevents handovers of writes.
func startMirroring(ctx context.Context, a *app) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	switch {
	case a.mirroring != nil:
		running.Go(func() { a.mirroring.gate.Run(ctx) })
		running.Go(func() { a.mirroring.deliver(ctx) })
	case a.bystander != nil:
		running.Go(func() { a.bystander.Run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// deliver delivers whenever no other process does.
func (m *mirroring) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := m.db.Leases().Hold(ctx, mirrorLease, m.holder, mirrorLeaseTTL, func(ctx context.Context, lease coordination.Lease, valid func() bool) error {
			box := m.db.Outbox().Fenced(lease)
			d := m.deliverer
			d.Outbox, d.Source, d.MayDeliver = box, mirrorSource{m.writes, box}, valid
			counting, stop := context.WithCancel(ctx)
			defer stop()
			go m.metrics.keepCounting(counting, box, m.log)
			d.Run(ctx)
			return nil
		})
		switch {
		case errors.Is(err, coordination.ErrLeaseLost):
			m.log.Warn("another process delivers to the legacy store now, as this one did not respond in time")
		case err != nil && ctx.Err() == nil:
			m.log.Warn("changes cannot be delivered to the legacy store now", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(mirrorStandby):
		}
	}
}

// newBystander returns a gate that prevents handovers of writes while this process serves, because
// it cannot repeat them.
func newBystander(db *sqlstore.DB, log *slog.Logger) *mirror.Gate {
	return mirror.NewGate(mirror.GateOptions{
		Owners: db.WriteOwners(), Process: program.HolderName(), Log: log,
		Wishes:   func() map[adapter.Resource]bool { return nil },
		CaughtUp: func(adapter.Resource) bool { return false },
		Turned:   func(adapter.Resource) {},
	})
}

// mirrorMetrics are the metrics of a mirroring.
type mirrorMetrics struct {
	resources                  []adapter.Resource // with writes that can be mirrored
	deliveries, creates, turns *prometheus.CounterVec
	entries                    *prometheus.GaugeVec
	conflicts                  *prometheus.GaugeVec
	oldest                     prometheus.Gauge
}

// newMirrorMetrics registers the metrics. It panics if they are registered already.
func newMirrorMetrics(registerer prometheus.Registerer) *mirrorMetrics {
	register := promauto.With(registerer)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: "portico_mirror_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: "portico_mirror_" + name, Help: help}
	}
	return &mirrorMetrics{
		deliveries: counter("deliveries_total", "Attempts to repeat a change at the legacy store, by resource and outcome: accepted, empty if nothing had to be sent, superseded if a client has changed the record again, refused and so parked, failed and so repeated, unavailable if the legacy store cannot be reached.", "resource", "outcome"),
		creates:    counter("creates_total", "Records that were to be created at the legacy store first, by resource and outcome: created, found after the reply was lost, refused, unsent, or unknown.", "resource", "outcome"),
		turns:      counter("turns_total", "How often the writes of a resource were to move, to Portico or back to the legacy store, as far as this process has seen it. outcome is turned if they have moved, and given_up if they stayed and are to move later.", "resource", "outcome"),
		entries:    register.NewGaugeVec(gauge("entries", "What the legacy store still has to be told, by resource and state: waiting, parked, held if its interface has no form for it, or unknown for records of which nobody knows whether they were created. 0 where another process delivers."), []string{"resource", "state"}),
		conflicts:  register.NewGaugeVec(gauge("conflicts", "Values that both a client and the legacy store have changed, by what has become of them, as far as they are noted. 0 where another process delivers."), []string{"outcome"}),
		oldest:     register.NewGauge(gauge("oldest_seconds", "Age of the oldest change that waits to be repeated at the legacy store. 0 if there is none, and where another process delivers.")),
	}
}

// start initializes the metrics of some resources to zero, so that their first event counts as an
// increase.
func (m *mirrorMetrics) start(resources []adapter.Resource) {
	m.resources = resources
	m.set(nil, nil, time.Time{})
	for _, r := range resources {
		for _, outcome := range mirror.Outcomes() {
			m.deliveries.WithLabelValues(string(r), outcome)
		}
		for _, outcome := range mirror.CreateOutcomes() {
			m.creates.WithLabelValues(string(r), outcome)
		}
		for _, outcome := range []string{turned, gaveUp} {
			m.turns.WithLabelValues(string(r), outcome)
		}
	}
}

// How a change of sides ends, as the metrics call it.
const turned, gaveUp = "turned", "given_up"

// keepCounting updates the gauges until ctx ends, and then sets them to 0.
func (m *mirrorMetrics) keepCounting(ctx context.Context, box coordination.Outboxes, log *slog.Logger) {
	defer m.set(nil, nil, time.Time{})
	for {
		if err := m.count(ctx, box); err != nil && ctx.Err() == nil {
			log.Warn("the outbox cannot be counted", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(countOutbox):
		}
	}
}

func (m *mirrorMetrics) count(ctx context.Context, box coordination.Outboxes) error {
	counts, err := box.Count(ctx)
	if err != nil {
		return err
	}
	conflicts, err := box.CountConflicts(ctx)
	if err != nil {
		return err
	}
	var oldest time.Time
	for _, c := range counts {
		if !c.Oldest.IsZero() && (oldest.IsZero() || c.Oldest.Before(oldest)) {
			oldest = c.Oldest
		}
	}
	m.set(counts, conflicts, oldest)
	return nil
}

// set sets the gauges. oldest is the time at which the oldest waiting change was recorded; zero: no
// change waits.
func (m *mirrorMetrics) set(counts map[adapter.Resource]coordination.OutboxCount, conflicts map[outbox.ConflictOutcome]int64, oldest time.Time) {
	all := map[adapter.Resource]coordination.OutboxCount{}
	for _, r := range m.resources {
		all[r] = coordination.OutboxCount{}
	}
	maps.Copy(all, counts)
	m.entries.Reset()
	for r, c := range all {
		for state, n := range map[string]int64{"waiting": c.Waiting, "parked": c.Parked, "held": c.Held, "unknown": c.Unknown} {
			m.entries.WithLabelValues(string(r), state).Set(float64(n))
		}
	}
	for _, outcome := range outbox.ConflictOutcomes() {
		m.conflicts.WithLabelValues(string(outcome)).Set(float64(conflicts[outcome]))
	}
	m.oldest.Set(0)
	if !oldest.IsZero() {
		m.oldest.Set(time.Since(oldest).Seconds())
	}
}
