package app

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cache"
	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/replycache"
)

// consoleParts are the parts of the program that the console shows.
type consoleParts struct {
	program  *program.Program
	config   *config.Config // of the start
	demo     bool
	db       *sqlstore.DB
	rules    *ruleSets
	registry *prometheus.Registry
	breakers *breakerMetrics
	refused  *refusedCalls

	authenticator *auth.Authenticator
	service       *mapping.Service
	cache         *cache.Cache
	ops           *ops
	scheme        func(*http.Request) string
	log           *slog.Logger
}

// newConsole returns the console of the program.
func (p *consoleParts) newConsole() (*webconsole.Console, error) {
	d, err := program.Dialect(p.config.Dialect)
	if err != nil {
		return nil, err
	}
	return webconsole.New(webconsole.Options{
		Token: p.config.OpsToken, Closed: p.program.DemoPublic, Scheme: p.scheme,
		Version: p.program.Build.Version, Dialect: p.config.Dialect, Adapter: p.config.Adapter, Demo: p.demo, Log: p.log,
		Gatherer: p.registry, Ready: p.ops.ready, Breakers: p.breakers.all,
		Changed: func() []config.Row { return config.Changed(p.current().Rows()) },
		Migration: webconsole.Migration{
			Plan:       p.plan,
			Routes:     func() []string { return plan.Lines(program.Rules(p.current().Routes)) },
			Preview:    p.previewRoutes,
			ResourceOf: p.service.Table().ResourcesOfCalls(),
		},
		Callers:     webconsole.Callers{Load: p.callers, Refused: p.refused.all},
		Credentials: p.credentials(),
		Try:         p.tryIt(d), SharedCounts: sharedCounts(p.cache),
		Cache: webconsole.Cache{
			Contents: p.cacheContents, Purge: p.ops.purge,
			PurgeTag: func(ctx context.Context, tag string) { p.cache.BeginWrite(ctx, []string{tag})() },
			PurgeProduct: func(ctx context.Context, id int64) {
				p.service.InvalidateChanged(ctx, map[adapter.Resource][]adapter.Key{adapter.Products: {adapter.Key(id)}})
			},
		},
		Reference:   p.ops.reference.forConsole,
		Differences: webconsole.Differences{Load: p.differences, Ignored: func() []string { return p.current().Shadow.Ignore }},
	})
}

// situation returns the state of the migration, from this process and its store.
func (p *consoleParts) situation(ctx context.Context) (*migrate.Situation, error) {
	watchers := p.rules.current().watchers
	return migrate.NewSituation(ctx, p.program, watchers.config, migrate.SituationSources{
		Ask: func() ([]migrate.ServerStatus, []string) {
			return []migrate.ServerStatus{{Status: watchers.status(), Server: "this port"}}, nil
		},
		Stored: func(ctx context.Context, s *migrate.Situation) error {
			ctx, cancel := context.WithTimeout(ctx, migrate.StoreTimeout)
			defer cancel()
			return migrate.AddStored(ctx, watchers.config, p.db, s.Situation)
		},
	})
}

// plan returns the migration state of each resource.
func (p *consoleParts) plan(ctx context.Context) (*plan.Plan, error) {
	s, err := p.situation(ctx)
	if err != nil {
		return nil, err
	}
	return s.Plan(), nil
}

// previewRoutes returns the changes that other lines of the section routes would make.
func (p *consoleParts) previewRoutes(ctx context.Context, lines string) (*webconsole.Preview, error) {
	next, err := p.current().WithRoutes("these lines", []byte(lines))
	if err != nil {
		var faults []string
		for _, fault := range program.Faults(err) {
			faults = append(faults, fault.String())
		}
		return &webconsole.Preview{Faults: faults}, nil
	}
	s, err := p.situation(ctx)
	if err != nil {
		return nil, err
	}
	before := s.Plan()
	s.Rules = program.Rules(next.Routes)
	return &webconsole.Preview{Before: before, After: s.Plan()}, nil
}

// current returns the configuration in force.
func (p *consoleParts) current() *config.Config { return p.rules.current().watchers.config }

// cacheContents describes the contents of the cache. It also counts the replies about product,
// unless that is 0.
func (p *consoleParts) cacheContents(product int64) webconsole.CacheContents {
	c := p.config.Cache
	tags := []webconsole.TagCount{
		{Tag: replycache.CatalogTag, Meaning: "lists, and everything else that several products can change"},
		{Tag: replycache.StockTag, Meaning: "those that show quantities"},
	}
	if product != 0 {
		tags = append(tags, webconsole.TagCount{Tag: replycache.ProductTag(product), Meaning: "those about this product alone"})
	}
	var names []string
	for _, tag := range tags {
		names = append(names, tag.Tag)
	}
	found := p.cache.Contents(names...)
	for i := range tags {
		tags[i].Replies = found.ByTag[i]
	}
	return webconsole.CacheContents{
		Off: c.MemoryBytes == 0 && c.RedisURL == "", Entries: found.Entries, Fresh: found.Fresh, Bytes: found.Bytes, Limit: float64(c.MemoryBytes),
		TTL: c.TTL, StaleTTL: c.StaleTTL, Redis: c.RedisURL != "", Tags: tags,
	}
}
