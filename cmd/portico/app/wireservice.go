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

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/openapi"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// openService creates the handlers of calls, and notifies them of changes.
func (w *wiring) openService(ctx context.Context) (err error) {
	if w.authenticator, err = w.newAuthenticator(); err != nil {
		return err
	}
	if w.storeIdentity, err = storeIdentity(w.config, w.data != nil); err != nil {
		return err
	}
	settings, err := w.settings(w.config)
	if err != nil {
		return err
	}
	schemas, err := program.Schemas(w.config)
	if err != nil {
		return err
	}
	fields, err := program.Fields(w.config)
	if err != nil {
		return err
	}
	if w.service, err = mapping.New(w.dialect, fields, w.upstream, schemas, w.authenticator, settings, w.log); err != nil {
		return err
	}
	var shared time.Duration // how old replies may be that processes share
	if w.config.Cache.RedisURL != "" {
		shared = w.config.Cache.TTL + w.config.Cache.StaleTTL
	}
	w.importWatcher.Start(ctx, shared, w.setStoreEpoch, w.service.InvalidateChanged)
	w.resources.add(w.importWatcher.Close)
	return nil
}

// setStoreEpoch gives the caches the epoch of the store.
func (w *wiring) setStoreEpoch(epoch string) {
	if err := w.cache.SetStoreEpoch(epoch); err != nil { // with the same secret the first epoch succeeded
		w.log.Error("the cache goes on with the epoch before", "error", err)
	}
	w.authenticator.Purge()
}

// newAuthenticator returns the authenticator of clients.
func (w *wiring) newAuthenticator() (*auth.Authenticator, error) {
	options := auth.Options{
		RSACrashes: w.dialect.UnverifiableCrash, RefusePlaintext: w.config.Auth.RefusePlaintext, PlusAsSpace: w.config.Auth.PlusAsSpace,
		TimestampMaxAge: w.config.Auth.TimestampMaxAge, Log: w.log,
	}
	if w.config.PublicURL != "" {
		var err error
		if options.PublicURL, err = url.Parse(w.config.PublicURL); err != nil {
			return nil, errors.New("public_url: not a URL") // the error would repeat it
		}
	}
	credentials := w.dbGuard.Credentials(w.db.Credentials())
	options.Roles = credentials
	if w.config.Auth.Bearer {
		options.Keys = credentials
	}
	return auth.New(credentials, w.cache.Nonces(credentials, w.commonStore()), options), nil
}

// sharedCounts returns the rate-limit counts shared by all replicas, or nil without Redis: not a
// nil pointer in an interface, with which every call would report its counts needlessly.
func sharedCounts(c *cache.Cache) limits.SharedRates {
	if buckets := c.Buckets(); buckets != nil {
		return buckets
	}
	return nil
}

// settings returns the settings of the handlers of calls under a configuration.
func (w *wiring) settings(cfg *config.Config) (mapping.Settings, error) {
	stock, err := stockSettings(cfg.Stock)
	if err != nil {
		return mapping.Settings{}, err
	}
	var replies replycache.Cache
	if cfg.Cache.MemoryBytes > 0 || cfg.Cache.RedisURL != "" {
		replies = w.cache
	}
	return mapping.Settings{
		Settings: pipeline.Settings{
			BodyBytes:         cfg.Limits.BodyBytes,
			QueryBytes:        int(cfg.Limits.QueryBytes),
			RequestBytes:      cfg.Limits.RequestsBytes,
			MaxRows:           cfg.Lists.MaxRows,
			GuestMaxRows:      cfg.Lists.GuestMaxRows,
			ListsInFlight:     cfg.Lists.InFlight,
			ConsumerRate:      cfg.Limits.ConsumerRate,
			ConsumerBurst:     int(cfg.Limits.ConsumerBurst),
			JSONWithoutAccept: cfg.AcceptMissing == "json",
			Now:               time.Now,
			AwaitChanges:      w.importWatcher.Await,
			SharedCounts:      sharedCounts(w.cache),
		},
		FilterSettings: resource.FilterSettings{
			FiltersInFlight: cmp.Or(cfg.Lists.FiltersInFlight, defaultFiltersInFlight(cfg.Adapter)), MatchBytes: cfg.Lists.MatchBytes,
			// Otherwise an expensive filter would exceed the guard's timeout and count as a
			// failure of the upstream.
			FilterTimeout: min(cfg.Lists.FilterTimeout, cfg.Upstream.Timeout/2),
		},
		ReplySettings:  replycache.ReplySettings{Links: linkSettings(cfg), ReplyCache: replies, Fingerprint: replyFingerprint(cfg, w.storeIdentity)},
		LegacySettings: mapping.LegacySettings{LegacyAuth: w.legacy.Auth, LegacySigner: w.legacy.Signer, CacheLegacy: cfg.Legacy.Cache},
		ImagePixels:    cfg.Limits.ImagePixels,
		Customers:      handlers.CustomerSettings{PasswordCost: cfg.Auth.PasswordCost, NoConfirmation: !cfg.Customers.Confirmation, SharedAccounts: cfg.Customers.SharedAccounts},
		Regional:       resource.RegionalSettings{Zone: cfg.Store.TimeZone, Locale: contract.LocaleOf(cfg.Store.Locale)},
		Prices:         priceSettings(&cfg.Store),
		Products:       handlers.ProductSettings{AttributeSets: cfg.Store.AttributeSets, TaxClasses: cfg.Store.TaxClasses, Themes: cfg.Store.Themes, SingleStoreMode: cfg.Store.SingleStoreMode},
		Stock:          stock,
	}, nil
}

// priceSettings returns the settings that prices depend on.
func priceSettings(cfg *config.Store) resource.PriceSettings {
	rounding := resource.RoundDecimal
	if cfg.TaxRounding == "binary" {
		rounding = resource.RoundBinary
	}
	return resource.PriceSettings{
		TimeZone:   cfg.TimeZone,
		TaxCountry: cfg.TaxCountry, TaxRegion: cfg.TaxRegion, TaxPostcode: cfg.TaxPostcode,
		TaxBasedOn: cfg.TaxBasedOn, PricesIncludeTax: cfg.PriceTax, TaxCrossBorder: cfg.CrossBorder,
		OriginCountry: cfg.OriginCountry, OriginRegion: cfg.OriginRegion, OriginPostcode: cfg.OriginCode,
		TaxGroup: cfg.TaxGroup, Rounding: rounding, ByWebsite: cfg.PriceScope == "website", Currency: cfg.Currency,
	}
}

// linkSettings returns the settings of the addresses in replies.
func linkSettings(cfg *config.Config) resource.LinkSettings {
	return resource.LinkSettings{
		PublicURL: cfg.PublicURL, LinkURL: cfg.Store.LinkURL, CodeInLinks: cfg.Store.CodeInLinks, SingleStoreMode: cfg.Store.SingleStoreMode,
		MediaURL: cfg.Store.MediaURL, SecureMediaURL: cfg.Store.SecureMediaURL,
	}
}

// openContract makes the contract's port: the interface, and the pages of consent and landing.
func (w *wiring) openContract(context.Context) error {
	cfg := w.config
	granting := auth.NewGranting(w.authenticator, w.dbGuard.Credentials(w.db.Credentials()), w.dialect.UnapprovedTokenCrash)
	may := permissions(cfg, w.dialect, w.service.Table().Routes(), w.upstream)
	consentSite, err := newConsent(cfg, w.db, w.dbGuard.Adapter(w.db.Adapter()), w.records, may, granting, sharedCounts(w.cache), w.log)
	if err != nil {
		return err
	}
	if w.landing, err = openapi.NewLandingPage(openapi.LandingOptions{ShopName: cfg.Store.Name, PublicURL: cfg.PublicURL, Dialect: cfg.Dialect}); err != nil {
		return err
	}
	w.ops = &ops{token: cfg.OpsToken, registry: w.registry, hasCachedReplies: w.cache.HasUsable, pprof: cfg.OpsPprof}
	w.connections = httpapi.NewConnections(httpapi.ConnectionLimits{Most: maxConnections(cfg, w.log), UnreadBytes: cfg.Limits.UnreadBytes, UnreadTime: cfg.Server.ReadTimeout})
	options := httpapi.Options{
		Log: w.log, Metrics: httpapi.NewMetrics(w.registry), OpenMedia: w.mediaGuard.Media(w.db.OpenMedia), WriteTimeout: cfg.Server.WriteTimeout, TrustedProxies: cfg.TrustedProxies,
		OffloaderHeaders: httpapi.OffloaderHeaders(cfg.OffloaderHeader), PublicHTTPS: cfg.PublicHTTPS(),
		BasePath: cfg.BasePath(), Legacy: w.legacy.Client, Consent: consentSite, Landing: w.landing,
		ReplyBytes: cfg.Limits.RepliesBytes, SpoolBytes: cfg.Lists.SpoolBytes, SpoolDir: cfg.Lists.SpoolDir,
		Connections: w.connections, Draining: w.ops.draining.Load, FollowWrite: followWrites(cfg, w.writes),
		SharedCounts: sharedCounts(w.cache),
	}
	if w.traces != nil {
		options.Tracer = w.traces.Tracer()
	}
	if cfg.OpsConsole {
		options.Refused = w.refused.add
	}
	if w.mirroring != nil {
		options.BeginWrite = w.mirroring.beginWrite
	}
	api, err := httpapi.New(w.service, options)
	if err != nil {
		return err
	}
	gin.SetMode(gin.ReleaseMode)
	w.rules, err = newRuleSets(&ruleParts{
		program: w.program, settings: w.settings, service: w.service, api: api,
		isOffered: func(r *contract.Route) bool { return mapping.Offers(w.upstream, r) },
		options:   func() ([]adapter.Record, error) { return optionsIn(context.Background(), w.upstream) },
		watching:  newWatching(w.service.Table(), w.legacy, w.registry, w.log), log: w.log,
	}, cfg)
	if err != nil {
		return err
	}
	w.contract = w.rules
	w.resources.add(w.rules.close)
	return nil
}

// maxConnections returns the maximum number of connections of the contract's port, and logs a
// warning if it is lower than the setting.
func maxConnections(cfg *config.Config, log *slog.Logger) int {
	limit, known := program.OpenFilesLimit()
	if !known {
		return cfg.Server.MaxConnections
	}
	most := program.MaxConnections(cfg, limit)
	if most < cfg.Server.MaxConnections {
		log.Warn("the contract's port lets in fewer connections than server.max_connections, because this process may open few files: raise that limit (LimitNOFILE= of systemd, --ulimit nofile of a container), or lower server.max_connections",
			"connections", most, "max_connections", cfg.Server.MaxConnections, "open_files", limit)
	}
	return most
}

// openOps connects the operators' port to the other parts.
func (w *wiring) openOps(context.Context) (err error) {
	rules, port := w.rules, w.ops
	port.ping = w.legacy.WrapPing(w.upstream.Ping, w.currentRules)
	port.shadowSamples = func(rw http.ResponseWriter, r *http.Request) { rules.current().watchers.serveShadow(rw, r) }
	port.migration = func(rw http.ResponseWriter, r *http.Request) { rules.current().watchers.serveMigration(rw, r) }
	port.reference = func() *interfaceReference { return rules.current().reference }
	port.purge = func(ctx context.Context) error {
		w.service.InvalidateLists()
		return w.cache.Purge(ctx)
	}
	if w.data != nil {
		port.restore = func(ctx context.Context) error {
			data := *w.data
			data.Stock = program.StockDefaults(w.inForce().Stock)
			return w.db.Reset(ctx, &data)
		}
		port.reset = w.resetDemo
	}
	if !w.config.OpsConsole {
		return nil
	}
	port.console, err = (&consoleParts{
		program: w.program, config: w.config, demo: w.data != nil, db: w.db, rules: rules, registry: w.registry, breakers: w.breakers, refused: &w.refused, authenticator: w.authenticator, service: w.service, cache: w.cache, ops: port, scheme: rules.current().api.Scheme, log: w.log,
	}).newConsole()
	if err != nil {
		return err
	}
	w.resources.add(func() error { port.console.Close(); return nil })
	return nil
}

// resetDemo restores the demo store, and clears the caches.
func (w *wiring) resetDemo(ctx context.Context) error {
	err := w.ops.restore(ctx)
	err = errors.Join(err, w.ops.purge(ctx)) // a failed reset may have changed records, too
	if err != nil {
		w.log.ErrorContext(ctx, "demo reset", "error", err)
		return err
	}
	w.authenticator.Purge()
	return nil
}

// stockSettings converts the stock settings, which config has validated.
func stockSettings(c config.Stock) (handlers.StockSettings, error) {
	minQty, err := strconv.ParseFloat(c.MinQty, 64)
	if err != nil {
		return handlers.StockSettings{}, fmt.Errorf("stock.min_qty: %w", err)
	}
	notifyQty, err := strconv.ParseFloat(c.NotifyQty, 64)
	if err != nil {
		return handlers.StockSettings{}, fmt.Errorf("stock.notify_qty: %w", err)
	}
	return handlers.StockSettings{MinQty: minQty, NotifyQty: notifyQty, Backorders: c.Backorders, ManageStock: c.ManageStock, HideSoldOut: c.HideSoldOut}, nil
}

// defaultFiltersInFlight returns the default of lists.filters_in_flight. A list of a backend over HTTP occupies no
// processor most of the time, as it waits for the backend.
func defaultFiltersInFlight(adapter string) int64 {
	processors := max(2, int64(runtime.GOMAXPROCS(0)))
	if adapter == program.RESTSection {
		return 4 * processors
	}
	return processors
}
