package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/adapter/transfer"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/landing"
	"github.com/portico-commerce/portico/mapping/mirror"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

// An app holds the parts of the program, wired together and ready to be served.
type app struct {
	db       *sqlstore.DB
	contract http.Handler // the contract's port
	// connections limits the connections of the contract's port.
	connections *httpapi.Connections
	landing     *landing.Page
	ops         *ops // the operators' port
	rules       *ruleSets
	follower    *transfer.Follower // nil: the program follows no old shop
	mirroring   *mirroring         // nil: no writes can be mirrored
	bystander   *mirror.Gate       // in place of mirroring while there is an old shop
	traces      *otlp.Provider     // nil: nothing is traced
	close       func() error       // closes the parts; call it after the last request
}

// newApp wires the parts of the program for cfg. db has the schemas of cfg. If data is not
// nil, the program serves a demo store, and a reset restores data.
func (p *program) newApp(ctx context.Context, cfg *config.Config, db *sqlstore.DB, data *adapter.Dataset, log *slog.Logger) (a *app, err error) {
	d, err := dialect(cfg.Dialect)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), p.newBuildInfo(cfg.Dialect, cfg.Adapter),
	)
	metrics, err := httpapi.NewMetrics(registry)
	if err != nil {
		return nil, err
	}

	breakers, err := newBreakerMetrics(registry)
	if err != nil {
		return nil, err
	}
	guardMetrics, err := guard.NewMetrics(registry)
	if err != nil {
		return nil, err
	}
	newGuard := func(domain string) *guard.Guard {
		breakers.add(domain)
		return guard.New(guardMetrics, guard.Options{
			Name:          domain,
			Timeout:       cfg.Upstream.Timeout,
			MaxInFlight:   cfg.Upstream.MaxInFlight,
			MaxWait:       cfg.Upstream.MaxWait,
			Failures:      cfg.Upstream.BreakerFailures,
			OpenFor:       cfg.Upstream.BreakerOpen,
			OnStateChange: breakers.onUpstreamChange(log),
		})
	}
	// The database and the backend are separate failure domains: while the backend is down,
	// Portico still authenticates clients and serves images.
	dbGuard := newGuard(sqlSection)
	recordsGuard := dbGuard
	if cfg.Adapter != sqlSection {
		recordsGuard = newGuard(cfg.Adapter)
	}
	resources := new(closers)
	defer func() {
		if a == nil {
			err = errors.Join(err, resources.close())
		}
	}()
	traces, err := p.newTraces(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	resources.add(func() error { return closeTraces(traces) })
	mirrors := canMirror(cfg) && data == nil
	records, err := p.openAdapter(ctx, cfg, db, mirrors, registry, log)
	if err != nil {
		return nil, err
	}
	resources.add(records.close)
	legacy, err := newLegacy(cfg, guardMetrics, breakers, log)
	if err != nil {
		return nil, err
	}
	resources.add(func() error { legacy.close(); return nil })
	var rules *ruleSets
	currentRules := func() passthrough.Rules { return rules.current().api.Rules }
	followMetrics, err := transfer.NewFollowMetrics(registry)
	if err != nil {
		return nil, err
	}
	var follower *transfer.Follower
	var writes *transfer.Writes
	if cfg.Follow.DSN != "" && data == nil { // the demo store follows nobody
		if follower, err = p.newFollower(cfg, db, -1, nil, followMetrics, log); err != nil {
			return nil, err
		}
		if cfg.Legacy.URL != "" {
			writes = follower.Writes()
			resources.add(writes.Close)
		}
	}
	guarded := recordsGuard.Adapter(records)
	var upstream adapter.Adapter = guarded
	var repeats *mirroring
	if mirrors {
		if repeats, upstream, err = newMirroring(cfg, db, guarded, recordsGuard.Adapter(records.trial), writes, legacy, currentRules, registry, log); err != nil {
			return nil, err
		}
	}
	var bystander *mirror.Gate
	if data == nil && repeats == nil {
		if err := checkOwners(ctx, cfg, db.WriteOwners()); err != nil {
			return nil, err
		}
		if cfg.Legacy.URL != "" {
			bystander = newBystander(db, log)
		}
	}
	watch := db.NewWatch()
	replyCache, err := openReplyCache(cfg, watch, registry, breakers, log)
	if err != nil {
		return nil, err
	}
	resources.add(replyCache.Close)
	store, err := storeIdentity(cfg, data != nil)
	if err != nil {
		return nil, err
	}

	var publicURL *url.URL
	if cfg.PublicURL != "" {
		if publicURL, err = url.Parse(cfg.PublicURL); err != nil {
			return nil, errors.New("public_url: not a URL") // the error would repeat it
		}
	}
	credentials := db.Credentials()
	authOptions := auth.Options{PublicURL: publicURL, RSACrashes: d.UnverifiableCrash, RefusePlaintext: cfg.Auth.RefusePlaintext, TimestampMaxAge: cfg.Auth.TimestampMaxAge, Log: log}
	if cfg.Auth.Bearer {
		authOptions.Keys = dbGuard.Keys(credentials)
	}
	authenticator := auth.New(dbGuard.Credentials(credentials), replyCache.Nonces(dbGuard.Nonces(credentials)), authOptions)
	stock, err := stockSettings(cfg.Stock)
	if err != nil {
		return nil, err
	}
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	fields, err := storeFields(cfg)
	if err != nil {
		return nil, err
	}
	var replies mapping.ReplyCache
	if cfg.Cache.MemoryBytes > 0 || cfg.Cache.RedisURL != "" {
		replies = replyCache
	}
	settings := mapping.Settings{
		QueryBytes:        int(cfg.Limits.QueryBytes),
		RequestBytes:      cfg.Limits.RequestsBytes,
		ListsInFlight:     cfg.Lists.InFlight,
		FiltersInFlight:   cmp.Or(cfg.Lists.FiltersInFlight, max(2, int64(runtime.GOMAXPROCS(0)))),
		ImagePixels:       cfg.Limits.ImagePixels,
		PublicURL:         cfg.PublicURL,
		PasswordCost:      cfg.Auth.PasswordCost,
		JSONWithoutAccept: cfg.AcceptMissing == "json",
		Prices:            mapping.PriceSettings{TimeZone: cfg.Store.TimeZone, TaxCountry: cfg.Store.TaxCountry, TaxRegion: cfg.Store.TaxRegion},
		Products:          mapping.ProductSettings{AttributeSets: cfg.Store.AttributeSets, TaxClasses: cfg.Store.TaxClasses, Themes: cfg.Store.Themes},
		Stock:             stock,
		Now:               time.Now,
		ReplyCache:        replies,
		AwaitChanges:      watch.Await,
		LegacyAuth:        legacy.auth,
		LegacySigner:      legacy.signer,
		CacheLegacy:       cfg.Legacy.Cache,
	}
	setLimits(&settings, cfg)
	service, err := mapping.New(d, fields, upstream, schemas, authenticator, settings, log)
	if err != nil {
		return nil, err
	}
	granting := auth.NewGranting(authenticator, dbGuard.Grants(credentials), d.UnapprovedTokenCrash)
	consentSite, err := newConsent(cfg, db, dbGuard.Adapter(db.Adapter()), guarded, permissions(cfg, d, service.Table().Routes(), upstream), granting, log)
	if err != nil {
		return nil, err
	}
	var shared time.Duration // how old replies may be that processes share
	if cfg.Cache.RedisURL != "" {
		shared = cfg.Cache.TTL + cfg.Cache.StaleTTL
	}
	watch.Start(ctx, shared, service.InvalidateChanged)
	resources.add(watch.Close)
	page, err := landing.New(landing.Options{ShopName: cfg.Store.Name, PublicURL: cfg.PublicURL, Dialect: cfg.Dialect})
	if err != nil {
		return nil, err
	}
	opsPort := &ops{token: cfg.OpsToken, registry: registry, hasCachedReplies: replyCache.HasUsable, pprof: cfg.OpsPprof}
	options := httpapi.Options{
		Log: log, Metrics: metrics, OpenMedia: dbGuard.Media(db.OpenMedia), WriteTimeout: cfg.Server.WriteTimeout, TrustedProxies: cfg.TrustedProxies,
		BasePath: cfg.BasePath(), Legacy: legacy.client, Consent: consentSite, Landing: page,
		ReplyBytes: cfg.Limits.RepliesBytes, SpoolBytes: cfg.Lists.SpoolBytes, SpoolDir: cfg.Lists.SpoolDir,
		Connections: httpapi.NewConnections(), Draining: opsPort.draining.Load,
	}
	options.FollowWrite = followWrites(cfg, writes)
	if traces != nil {
		options.Tracer = traces.Tracer()
	}
	refused := new(refusedCalls)
	if cfg.OpsConsole {
		options.Refused = refused.add
	}
	if repeats != nil {
		options.BeginWrite = repeats.beginWrite
	}
	api, err := httpapi.New(service, options)
	if err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	rules, err = newRuleSets(&ruleParts{
		program: p, store: store, service: service, api: api, watching: newWatching(service.Table(), legacy, registry, log), log: log,
	}, cfg)
	if err != nil {
		return nil, err
	}
	resources.add(rules.close)

	opsPort.ping = legacy.wrapPing(upstream.Ping, currentRules)
	opsPort.shadowSamples = func(w http.ResponseWriter, r *http.Request) { rules.current().watchers.serveShadow(w, r) }
	opsPort.migration = func(w http.ResponseWriter, r *http.Request) { rules.current().watchers.serveMigration(w, r) }
	opsPort.reference = p.newReference(cfg, func(r *contract.Route) bool { return mapping.Offers(upstream, r) })
	opsPort.purge = func(ctx context.Context) error {
		service.InvalidateLists()
		return replyCache.Purge(ctx)
	}
	if data != nil {
		opsPort.restore = func(ctx context.Context) error { return db.Reset(ctx, data) }
		opsPort.reset = func(ctx context.Context) error {
			err := opsPort.restore(ctx)
			err = errors.Join(err, opsPort.purge(ctx)) // a failed reset may have changed records, too
			if err != nil {
				log.ErrorContext(ctx, "demo reset", "error", err)
				return err
			}
			authenticator.Purge()
			return nil
		}
	}
	if cfg.OpsConsole {
		opsPort.console, err = (&consoleParts{
			program: p, config: cfg, demo: data != nil, db: db, rules: rules, registry: registry, breakers: breakers, refused: refused, authenticator: authenticator, service: service, cache: replyCache, ops: opsPort, scheme: api.Scheme, log: log,
		}).newConsole()
		if err != nil {
			return nil, err
		}
		resources.add(func() error { opsPort.console.Close(); return nil })
	}
	return &app{db: db, connections: options.Connections, contract: rules, landing: page, ops: opsPort, rules: rules, follower: follower, mirroring: repeats, bystander: bystander, traces: traces, close: resources.close}, nil
}

// stockSettings converts the stock settings, which config has validated.
func stockSettings(c config.Stock) (mapping.StockSettings, error) {
	minQty, err := strconv.ParseFloat(c.MinQty, 64)
	if err != nil {
		return mapping.StockSettings{}, fmt.Errorf("stock.min_qty: %w", err)
	}
	notifyQty, err := strconv.ParseFloat(c.NotifyQty, 64)
	if err != nil {
		return mapping.StockSettings{}, fmt.Errorf("stock.notify_qty: %w", err)
	}
	return mapping.StockSettings{MinQty: minQty, NotifyQty: notifyQty, Backorders: c.Backorders, ManageStock: c.ManageStock}, nil
}

// stockDefaults converts the stock settings to the defaults with which a data set is
// loaded.
func stockDefaults(c config.Stock) adapter.StockDefaults {
	defaults := adapter.StockDefaults{MinQty: c.MinQty, NotifyStockQty: c.NotifyQty, Backorders: c.Backorders}
	if c.ManageStock {
		defaults.ManageStock = 1
	}
	return defaults
}
