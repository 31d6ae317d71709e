package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/cmd/portico/app/records"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// An app holds the parts of the program, wired together and ready to be served.
type app struct {
	db       *sqlstore.DB
	contract http.Handler // the contract's port
	// connections limits the connections of the contract's port.
	connections *httpapi.Connections
	landing     *openapi.LandingPage
	ops         *ops // the operators' port
	rules       *ruleSets
	follower    *follow.Follower // nil: the program follows no legacy store
	mirroring   *mirroring       // nil: no writes can be mirrored
	bystander   *mirror.Gate     // in place of mirroring while there is a legacy store
	traces      *otlp.Provider   // nil: nothing is traced
	close       func() error     // closes the parts; call it after the last request
}

// A wiring is an app under construction: the sources of its parts, and the parts so far.
type wiring struct {
	app
	program   *program.Program
	config    *config.Config
	data      *adapter.Dataset // of the demo store; nil: not a demo store
	log       *slog.Logger
	dialect   *contract.Dialect
	resources closers // of the parts

	registry     *prometheus.Registry
	breakers     *breakerMetrics
	guardMetrics *guard.Metrics
	// The database and the backend are separate failure domains: while the backend is down,
	// Portico still authenticates clients and serves images.
	dbGuard, recordsGuard *guard.Guard
	mediaGuard            *guard.Guard // of reading images: dbGuard unless they are in another system

	served   *servedRecords
	legacy   *program.LegacySystem
	writes   *follow.Writes  // nil: no part waits for writes that the follower applies
	records  adapter.Adapter // behind their guard
	upstream adapter.Adapter // records, which mirrors writes if they can be mirrored

	importWatcher *coordination.Watcher
	cache         *cache.Cache
	storeIdentity string // see storeIdentity
	authenticator *auth.Authenticator
	service       *mapping.Service
	refused       refusedCalls
}

// newApp wires the parts of the program for cfg. db has the schemas of cfg. If data is not
// nil, the program serves a demo store, and a reset restores data.
func newApp(ctx context.Context, p *program.Program, cfg *config.Config, db *sqlstore.DB, data *adapter.Dataset, log *slog.Logger) (*app, error) {
	d, err := program.Dialect(cfg)
	if err != nil {
		return nil, err
	}
	w := &wiring{app: app{db: db}, program: p, config: cfg, data: data, log: log, dialect: d}
	for _, step := range []func(context.Context) error{
		w.openMetrics, w.openRecords, w.openFollower, w.openMirroring, w.openCache, w.openService, w.openContract, w.openOps,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, w.resources.close())
		}
	}
	w.close = w.resources.close
	return &w.app, nil
}

// openMetrics makes the metrics and the guards.
func (w *wiring) openMetrics(context.Context) error {
	w.registry = prometheus.NewRegistry()
	w.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(w.registry, w.program, w.config.Dialect, w.config.Adapter)
	w.breakers = newBreakerMetrics(w.registry)
	w.guardMetrics = guard.NewMetrics(w.registry)
	w.dbGuard = w.newGuard(program.SQLSection)
	w.recordsGuard, w.mediaGuard = w.dbGuard, w.dbGuard
	if w.config.Media.Bucket != "" && w.data == nil {
		w.mediaGuard = w.newGuard("media") // with its own slots: images must not fill the database's
	}
	if w.config.Adapter != program.SQLSection {
		w.recordsGuard = w.newGuard(w.config.Adapter)
	}
	return nil
}

// newGuard returns the guard of a failure domain.
func (w *wiring) newGuard(domain string) *guard.Guard {
	w.breakers.add(domain)
	w.breakers.add(guard.WritesOf(domain))
	return guard.New(w.guardMetrics, guard.Options{
		Name:          domain,
		Timeout:       w.config.Upstream.Timeout,
		MaxInFlight:   w.config.Upstream.MaxInFlight,
		MaxWait:       w.config.Upstream.MaxWait,
		Failures:      w.config.Upstream.BreakerFailures,
		OpenFor:       w.config.Upstream.BreakerOpen,
		OnStateChange: w.breakers.onUpstreamChange(w.log),
	})
}

// mirrors reports whether writes can be mirrored. A demo store has no legacy store.
func (w *wiring) mirrors() bool { return program.CanMirror(w.config) && w.data == nil }

// inForce returns the configuration in force.
func (w *wiring) inForce() *config.Config { return w.rules.current().watchers.config }

// currentRules returns the rules in force.
func (w *wiring) currentRules() proxy.Rules { return w.rules.current().api.Rules }

// currentRequests returns the translation of writes into requests of the legacy store.
func (w *wiring) currentRequests() *mirror.Requests { return w.rules.current().requests }

// openRecords opens the traces, the records and the legacy store.
func (w *wiring) openRecords(ctx context.Context) (err error) {
	if w.traces, err = newTraces(ctx, w.program, w.config, w.log); err != nil {
		return err
	}
	w.resources.add(func() error { return closeTraces(w.traces) })
	if w.served, err = openAdapter(ctx, w.program, w.config, w.db, w.mirrors(), w.registry, w.log); err != nil {
		return err
	}
	w.resources.add(w.served.close)
	if w.legacy, err = program.NewLegacySystem(w.config, w.guardMetrics, w.breakers.onUpstreamChange(w.log)); err != nil {
		return err
	}
	if w.legacy.Client != nil {
		w.breakers.add(program.LegacyDomain)
	}
	w.resources.add(func() error { w.legacy.Close(); return nil })
	return nil
}

// openFollower creates the follower of the legacy store.
func (w *wiring) openFollower(context.Context) (err error) {
	metrics := follow.NewMetrics(w.registry)
	if w.config.Follow.DSN == "" || w.data != nil { // a demo store has no legacy store
		return nil
	}
	if w.follower, err = records.NewFollower(w.program, w.config, w.inForce, w.db, -1, nil, metrics, w.log); err != nil {
		return err
	}
	if w.config.Legacy.URL != "" {
		w.writes = w.follower.Writes()
		w.resources.add(w.writes.Close)
	}
	return nil
}

// openMirroring creates the mirroring, which repeats clients' writes at the legacy store. If this
// process repeats none, it ensures that no other process does.
func (w *wiring) openMirroring(ctx context.Context) (err error) {
	w.records = w.recordsGuard.Adapter(w.served)
	w.upstream = w.records
	if w.mirrors() {
		w.mirroring, w.upstream, err = newMirroring(w.config, w.db, w.records, w.recordsGuard.Adapter(w.served.trial), w.writes, w.legacy, w.currentRules, w.currentRequests, w.registry, w.log)
		return err
	}
	if w.data != nil {
		return nil
	}
	if err := program.CheckOwners(ctx, w.config, w.db.WriteOwners()); err != nil {
		return err
	}
	if w.config.Legacy.URL != "" {
		w.bystander = newBystander(w.db, w.log)
	}
	return nil
}

// openCache opens the cache of replies.
func (w *wiring) openCache(context.Context) (err error) {
	w.importWatcher = w.db.Changes().NewWatch()
	if w.cache, err = openReplyCache(w.config, w.importWatcher, w.registry, w.breakers, w.log); err != nil {
		return err
	}
	w.resources.add(w.cache.Close)
	return nil
}
