package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
)

// ruleParts holds the parts from which all rule sets of a process are built.
type ruleParts struct {
	program   *program.Program
	settings  func(*config.Config) (mapping.Settings, error)
	isOffered func(*contract.Route) bool       // whether the backend has the records of a route
	options   func() ([]adapter.Record, error) // of added attributes
	service   *mapping.Service                 // of the latest rule set, as api
	api       *httpapi.API
	*watching
	log *slog.Logger
}

// A ruleSet is the contract's port under one configuration: everything that a reload
// replaces. It does not change, and a request that begins under a rule set ends under it.
type ruleSet struct {
	handler   http.Handler
	api       *httpapi.API
	watchers  *watchers
	requests  *mirror.Requests // for mirrored writes
	reference *interfaceReference

	inProgress atomic.Int64  // requests, and one more while the rule set is in force
	ended      sync.Once     // closes idle
	idle       chan struct{} // closed after the last request
}

// newRuleSet returns the rule set of a configuration.
func (p *ruleParts) newRuleSet(cfg *config.Config) (*ruleSet, error) {
	settings, err := p.settings(cfg)
	if err != nil {
		return nil, err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, err
	}
	fields, err := program.Fields(cfg)
	if err != nil {
		return nil, err
	}
	dialect, err := program.Dialect(cfg)
	if err != nil {
		return nil, err
	}
	requests, err := mirror.NewRequests(schemas, fields)
	if err != nil {
		return nil, err
	}
	service, err := p.service.With(fields, settings)
	if err != nil {
		return nil, err
	}
	api, err := p.api.With(service, httpapi.Options{
		Rules: program.Rules(cfg.Routes), GuestRate: cfg.Limits.GuestRate, GuestBurst: int(cfg.Limits.GuestBurst), MediaFolders: linkSettings(cfg).ServedMediaFolders(),
		Consent: p.api.Consent.WithShopName(cfg.Store.Name), Landing: p.api.Landing.WithShopName(cfg.Store.Name),
	})
	if err != nil {
		return nil, err
	}
	engine := gin.New()
	engine.Use(p.program.OuterMiddleware...)
	if err := api.Mount(engine); err != nil {
		return nil, err
	}
	engine.Use(p.program.Middleware...)
	watchers, err := p.newWatchers(cfg, service, api.Rules)
	if err != nil {
		return nil, err
	}
	options := p.options
	if !schemas.HaveOptions() {
		options = nil
	}
	set := &ruleSet{api: api, watchers: watchers, requests: requests, reference: newReference(p.program, cfg, p.isOffered, options), idle: make(chan struct{})}
	set.handler = httpapi.Below(api.BasePath, httpapi.BehindScripts(dialect, cfg.Store.CodeInLinks, watchers.wrap(engine, api.Scheme)), engine)
	set.inProgress.Store(1)
	// The next rule set starts from this one: it keeps the rates whose limits do not change.
	p.service, p.api = service, api
	return set, nil
}

// leave ends a request, or the time in which the rule set is in force.
func (s *ruleSet) leave() {
	if s.inProgress.Add(-1) == 0 {
		s.ended.Do(func() { close(s.idle) })
	}
}

// ruleSets is the handler of the contract's port. It serves each request under the rule set
// that is in force when the request begins.
type ruleSets struct {
	parts   *ruleParts
	inForce atomic.Pointer[ruleSet]

	// closing ends rule sets that were replaced but are not idle yet.
	closing  context.Context
	stop     context.CancelFunc
	retiring sync.WaitGroup
}

// newRuleSets returns a handler under the rules of cfg.
func newRuleSets(parts *ruleParts, cfg *config.Config) (*ruleSets, error) {
	first, err := parts.newRuleSet(cfg)
	if err != nil {
		return nil, err
	}
	s := &ruleSets{parts: parts}
	s.closing, s.stop = context.WithCancel(context.Background())
	s.inForce.Store(first)
	return s, nil
}

// ServeHTTP serves a request.
func (s *ruleSets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := s.enter()
	defer set.leave()
	set.handler.ServeHTTP(w, r)
}

// enter begins a request under the rule set in force. A rule set that was replaced between
// the two steps may count as idle already, so the request must not begin under it.
func (s *ruleSets) enter() *ruleSet {
	for {
		set := s.inForce.Load()
		set.inProgress.Add(1)
		if s.inForce.Load() == set {
			return set
		}
		set.leave()
	}
}

// current returns the rule set in force.
func (s *ruleSets) current() *ruleSet { return s.inForce.Load() }

// replace puts the rules of cfg in force, or changes nothing if it fails. It must not be
// called concurrently, nor after close.
func (s *ruleSets) replace(cfg *config.Config) error {
	next, err := s.parts.newRuleSet(cfg)
	if err != nil {
		return err
	}
	endWrites := func() {}
	if shadowReads := next.watchers.shadowReads; shadowReads != nil && s.current().watchers.shadowReads == nil {
		// Writes that are in progress now are not counted. Until they have ended, they may cause
		// differences.
		endWrites = shadowReads.BeginWrite()
	}
	before := s.inForce.Swap(next)
	before.leave()
	s.retiring.Go(func() {
		var err error
		select {
		case <-before.idle:
			endWrites()
			err = before.watchers.finish(s.closing)
		case <-s.closing.Done():
			err = before.watchers.close()
		}
		if err != nil {
			s.parts.log.Error("recordings of the former configuration not written", "error", err)
		}
	})
	return nil
}

// close ends the rule sets. Call it after the last request.
func (s *ruleSets) close() error {
	s.stop()
	s.retiring.Wait()
	return s.current().watchers.close()
}
