package main

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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// An app is the program's parts, wired together and ready to be served.
type app struct {
	db       *sqlstore.DB
	contract http.Handler // the contract's port
	// connections bounds those of the contract's port.
	connections *httpapi.Connections
	ops         *ops // the operators' port
	watch       *watch
	close       func() error // ends what the parts hold, when nothing is served any more
}

// newApp wires the program for cfg on db, which has the schemas of cfg. data, if not
// nil, is what a reset of the demo store goes back to.
func newApp(cfg *config.Config, db *sqlstore.DB, data *adapter.Dataset, log *slog.Logger) (a *app, err error) {
	d, err := dialect(cfg.Dialect)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newBuildInfo(cfg.Dialect, cfg.Adapter),
	)
	metrics, err := httpapi.NewMetrics(registry)
	if err != nil {
		return nil, err
	}

	circuits, err := newBreakers(registry)
	if err != nil {
		return nil, err
	}
	guardMetrics, err := guard.NewMetrics(registry)
	if err != nil {
		return nil, err
	}
	guardOf := func(domain string) *guard.Guard {
		circuits.add(domain)
		return guard.New(guardMetrics, guard.Options{
			Name:          domain,
			Timeout:       cfg.Upstream.Timeout,
			MaxInFlight:   cfg.Upstream.MaxInFlight,
			MaxWait:       cfg.Upstream.MaxWait,
			Failures:      cfg.Upstream.BreakerFailures,
			OpenFor:       cfg.Upstream.BreakerOpen,
			OnStateChange: circuits.telling(log),
		})
	}
	// The database is a failure domain, and a backend another: while that is away,
	// clients are still told apart, and their images served.
	guarded := guardOf(sqlSection)
	guardedRecords := guarded
	if cfg.Adapter != sqlSection {
		guardedRecords = guardOf(cfg.Adapter)
	}
	open := new(closers)
	defer func() {
		if a == nil {
			err = errors.Join(err, open.close())
		}
	}()
	records, closeRecords, err := recordsOf(cfg, db, registry, log)
	if err != nil {
		return nil, err
	}
	open.add(closeRecords)
	upstream := guardedRecords.Adapter(records)
	kept, err := openCache(cfg, registry, circuits, log)
	if err != nil {
		return nil, err
	}
	open.add(kept.Close)
	sameReplies, err := fingerprint(cfg, data != nil)
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
	authOptions := auth.Options{PublicURL: publicURL, RSACrashes: d.UnverifiableCrash, RefusePlaintext: cfg.Auth.RefusePlaintext, TimestampMaxAge: cfg.Auth.TimestampMaxAge}
	if cfg.Auth.Bearer {
		authOptions.Keys = guarded.Keys(credentials)
	}
	authenticator := auth.New(guarded.Credentials(credentials), kept.Nonces(guarded.Nonces(credentials)), authOptions)
	site, err := newConsent(cfg, db, guarded.Adapter(db.Adapter()), upstream, auth.NewGranting(authenticator, guarded.Grants(credentials), d.UnapprovedTokenCrash), log)
	if err != nil {
		return nil, err
	}

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
	old, err := newLegacy(cfg, guardMetrics, circuits, log)
	if err != nil {
		return nil, err
	}
	open.add(func() error { old.close(); return nil })
	var replies mapping.ReplyCache
	if cfg.Cache.MemoryBytes > 0 || cfg.Cache.RedisURL != "" {
		replies = kept
	}
	service, err := mapping.New(d, fields, upstream, schemas, authenticator, mapping.Settings{
		BodyBytes:       cfg.Limits.BodyBytes,
		QueryBytes:      int(cfg.Limits.QueryBytes),
		RequestBytes:    cfg.Limits.RequestsBytes,
		MaxRows:         cfg.Lists.MaxRows,
		GuestMaxRows:    cfg.Lists.GuestMaxRows,
		ListsInFlight:   cfg.Lists.InFlight,
		FiltersInFlight: cmp.Or(cfg.Lists.FiltersInFlight, max(2, int64(runtime.GOMAXPROCS(0)))),
		MatchBytes:      cfg.Lists.MatchBytes,
		// Else the guard would take a filter that is too expensive for an upstream that
		// does not answer.
		FilterTimeout:     min(cfg.Lists.FilterTimeout, cfg.Upstream.Timeout/2),
		ImagePixels:       cfg.Limits.ImagePixels,
		PublicURL:         cfg.PublicURL,
		ConsumerRate:      cfg.Limits.ConsumerRate,
		ConsumerBurst:     int(cfg.Limits.ConsumerBurst),
		PasswordCost:      cfg.Auth.PasswordCost,
		JSONWithoutAccept: cfg.AcceptMissing == "json",
		Prices:            mapping.PriceSettings{TimeZone: cfg.Store.TimeZone, TaxCountry: cfg.Store.TaxCountry, TaxRegion: cfg.Store.TaxRegion},
		Products:          mapping.ProductSettings{AttributeSets: cfg.Store.AttributeSets, TaxClasses: cfg.Store.TaxClasses, Themes: cfg.Store.Themes},
		Stock:             stock,
		Now:               time.Now,
		ReplyCache:        replies,
		Fingerprint:       sameReplies,
		LegacyAuth:        old.auth,
		LegacySigner:      old.signer,
		CacheLegacy:       cfg.Legacy.Cache,
	}, log)
	if err != nil {
		return nil, err
	}
	options := httpapi.Options{
		Log: log, Metrics: metrics, OpenMedia: guarded.Media(db.OpenMedia), WriteTimeout: cfg.Server.WriteTimeout, TrustedProxies: cfg.TrustedProxies,
		BasePath: cfg.BasePath(), Rules: old.rules, Legacy: old.system, Consent: site,
		ReplyBytes: cfg.Limits.RepliesBytes, SpoolBytes: cfg.Lists.SpoolBytes, SpoolDir: cfg.Lists.SpoolDir,
		GuestRate: cfg.Limits.GuestRate, GuestBurst: int(cfg.Limits.GuestBurst), Connections: httpapi.NewConnections(),
	}
	api, err := httpapi.New(service, options)
	if err != nil {
		return nil, err
	}
	watching, err := newWatch(cfg, service, old, registry, log)
	if err != nil {
		return nil, err
	}
	open.add(watching.close)

	operators := &ops{token: cfg.OpsToken, registry: registry, ping: old.ping(upstream.Ping), keepsReplies: kept.HasUsable, profiles: cfg.OpsPprof, differences: watching.samples()}
	operators.purge = func(ctx context.Context) error {
		service.InvalidateLists()
		return kept.Purge(ctx)
	}
	if data != nil {
		operators.reset = func(ctx context.Context) error {
			err := db.Reset(ctx, data)
			err = errors.Join(err, operators.purge(ctx)) // whatever became of it
			if err != nil {
				log.ErrorContext(ctx, "demo reset", "error", err)
				return err
			}
			authenticator.Purge()
			return nil
		}
	}
	return &app{db: db, connections: options.Connections, contract: httpapi.Below(options.BasePath, watching.around(api, options.Scheme), api), ops: operators, watch: watching, close: open.close}, nil
}

// stockSettings reads the store's stock settings, which config has checked.
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

// stockDefaults are the same settings for filling a store.
func stockDefaults(c config.Stock) adapter.StockDefaults {
	defaults := adapter.StockDefaults{MinQty: c.MinQty, NotifyStockQty: c.NotifyQty, Backorders: c.Backorders}
	if c.ManageStock {
		defaults.ManageStock = 1
	}
	return defaults
}
