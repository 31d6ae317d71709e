package app

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cache"
	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
	"github.com/portico-commerce/portico/mapping/redact"
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
	d, err := program.Dialect(p.config)
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
		Reference:   func() (calls, dialects template.HTML, err error) { return p.ops.reference().forConsole() },
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

// maxRefusedCalls is the number of refused calls that are remembered.
const maxRefusedCalls = 200

// refusedCalls are the latest calls whose credentials were refused. It is safe for concurrent use.
type refusedCalls struct {
	mu    sync.Mutex
	calls [maxRefusedCalls]webconsole.RefusedCall
	count int // of all calls so far
}

// add stores a call. If there are too many, it replaces the oldest one.
func (c *refusedCalls) add(r httpapi.RefusedRequest) {
	call := webconsole.RefusedCall{
		Time: time.Now(), Consumer: strings.Clone(redact.Consumer(r.Request)), Call: r.Call, Method: contract.MethodLabel(r.Request.Method),
		// Without the clones, the whole head of the request would stay in memory.
		Path: strings.Clone(redact.Path(r.Request.URL.EscapedPath())), Agent: strings.Clone(redact.Agent(r.Request.Header)), Client: r.Client, Problem: r.Problem,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[c.count%maxRefusedCalls] = call
	c.count++
}

// all returns the calls, the last first.
func (c *refusedCalls) all() (all []webconsole.RefusedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range min(c.count, maxRefusedCalls) {
		all = append(all, c.calls[(c.count-1-i)%maxRefusedCalls])
	}
	return all
}

// callers returns the clients with the calls that they make, from the recorded counts of all
// processes, and the registered programs that have not called.
func (p *consoleParts) callers(ctx context.Context) (*webconsole.CallerReport, error) {
	report, byKey := &webconsole.CallerReport{}, map[string]*webconsole.Caller{}
	caller := func(key string) *webconsole.Caller {
		folded := strings.ToLower(key)
		if byKey[folded] == nil {
			byKey[folded] = &webconsole.Caller{Key: key}
		}
		return byKey[folded]
	}
	usage, missing := p.usage()
	report.Missing = missing
	sums := map[*webconsole.Caller]*recording.CallUsage{}
	if usage != nil {
		for _, row := range usage.Rows() {
			c := caller(row.Consumer)
			if sums[c] == nil {
				sums[c] = recording.NewCallUsage(&row)
			}
			sums[c].Add(&row)
		}
		for _, u := range recording.NewUsageReport(usage, mapping.Calls()).Calls {
			c := caller(u.Consumer)
			c.Calls = append(c.Calls, webconsole.CallUsage{Call: u.Call, Usage: usageOf(&u)})
		}
	}
	for c, sum := range sums {
		c.Usage = usageOf(sum)
	}
	grants, err := p.db.Credentials().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		c := caller(redact.KeyName(g.Consumer.Key))
		c.Names = append(c.Names, cmp.Or(g.Consumer.Name, "(no name)"))
	}
	for _, c := range byKey {
		report.Callers = append(report.Callers, *c)
	}
	return report, nil
}

// usage returns the recorded counts, or the reason why they are missing.
func (p *consoleParts) usage() (usage *recording.Usage, missing string) {
	dir := p.current().Record.Dir
	if dir == "" {
		return nil, "Calls are not counted: set record.dir, and reload."
	}
	usage, err := recording.ReadUsage(os.DirFS(dir))
	if err != nil {
		return nil, "There are no counts yet, or they cannot be read: " + err.Error()
	}
	return usage, ""
}

// usageOf converts counts.
func usageOf(u *recording.CallUsage) webconsole.Usage {
	return webconsole.Usage{
		Requests: u.Requests, Refused: u.Refused, Failed: u.Failed, Legacy: u.Legacy,
		Formats: recording.ByCount(u.Formats), Agents: recording.ByCount(u.Agents), First: u.First, Last: u.Last,
	}
}

// credentials returns the functions with which the console manages credentials, the same as the
// commands. Changes take effect in this process immediately.
func (p *consoleParts) credentials() webconsole.Credentials {
	db := p.db
	changed := func(err error) error {
		p.authenticator.PurgeCredentials()
		return refusalOf(err)
	}
	return webconsole.Credentials{
		Consumers: db.Credentials().List,
		Keys:      db.Credentials().Keys,
		Admins:    func(ctx context.Context) ([]webconsole.Admin, error) { return credentials.ReadAdmins(ctx, db) },
		BearerOff: !p.config.Auth.Bearer,

		AddConsumer: func(ctx context.Context, name, callback string) (adapter.Consumer, error) {
			added, err := credentials.AddConsumer(ctx, db, adapter.Consumer{Name: name, Callback: callback})
			return added, changed(err)
		},
		AddToken: func(ctx context.Context, consumerKey string, adminID, customerID int64) (adapter.Token, error) {
			added, err := credentials.AddToken(ctx, db, consumerKey, adapter.Token{AdminID: adminID, CustomerID: customerID})
			return added, changed(err)
		},
		AddKey: func(ctx context.Context, name, username string, customerID int64) (adapter.APIKey, string, error) {
			key := adapter.APIKey{Name: name, Kind: adapter.AdminKey}
			if customerID != 0 {
				key.Kind, key.CustomerID = adapter.CustomerKey, customerID
			}
			added, text, err := credentials.AddKey(ctx, db, key, username)
			return added, text, changed(err)
		},
		AddAdmin: func(ctx context.Context, username, password string) (int64, error) {
			if err := credentials.CheckPassword(password); err != nil {
				return 0, refusalOf(err)
			}
			id, err := credentials.AddAdmin(ctx, db, username, password, false)
			return int64(id), refusalOf(err)
		},

		RemoveConsumer: func(ctx context.Context, key string) (int64, error) {
			tokens, err := credentials.RemoveConsumer(ctx, db, key)
			return tokens, changed(err)
		},
		RevokeToken: func(ctx context.Context, token string) error { return changed(credentials.RevokeToken(ctx, db, token)) },
		RevokeKey:   func(ctx context.Context, id int64) error { return changed(credentials.RevokeKey(ctx, db, id)) },
		DisableAdmin: func(ctx context.Context, username string) (int64, error) {
			disabled, err := credentials.DisableAdmin(ctx, db, username)
			return int64(disabled.ID), changed(err)
		},
		EnableAdmin: func(ctx context.Context, username string) (int64, error) {
			id, err := credentials.EnableAdmin(ctx, db, username)
			return int64(id), changed(err)
		},
	}
}

// refusalOf returns the error of a change as the console shows it: as a Refusal, unless the store
// has failed.
func refusalOf(err error) error {
	if err == nil {
		return nil
	}
	if failure, ok := errors.AsType[*adapter.Error](err); ok && !adapter.IsRefusal(failure) {
		return err
	}
	return webconsole.Refusal(err.Error())
}

// differences returns the differences that shadow reads of this process and the last sweep have
// found.
func (p *consoleParts) differences(ctx context.Context) (*webconsole.DifferenceReport, error) {
	report := &webconsole.DifferenceReport{}
	rows := map[[2]string]*webconsole.FieldDifference{}
	row := func(call, field string) *webconsole.FieldDifference {
		key := [2]string{call, field}
		if rows[key] == nil {
			rows[key] = &webconsole.FieldDifference{Call: call, Field: field}
		}
		return rows[key]
	}
	if s := p.rules.current().watchers.counted; s != nil {
		report.ShadowSince = s.Since()
		for _, call := range s.Counts() {
			for field, n := range call.Fields {
				row(call.Call, field).Shadow = n
			}
		}
		for _, sample := range s.Samples() {
			report.Samples = append(report.Samples, webconsole.Difference{
				Source: "shadow", Time: sample.Time, Call: sample.Call, Field: sample.Field, Consumer: sample.Consumer,
				Target: sample.Target, Record: sample.Record, Legacy: sample.Legacy, Candidate: sample.Candidate,
			})
		}
	}
	sweep, err := program.Noted[plan.Sweep](ctx, p.db, plan.SweepEvidence)
	if err != nil {
		return nil, err
	}
	fields, err := program.Noted[[]plan.SweptField](ctx, p.db, plan.SweptFieldsEvidence)
	if err != nil {
		return nil, err
	}
	if sweep != nil {
		report.Swept = sweep.Ended
	}
	if fields != nil {
		for _, field := range *fields {
			row(field.Call, field.Field).Sweep = int64(field.Answers)
			for _, e := range field.Examples {
				report.Samples = append(report.Samples, webconsole.Difference{
					Source: "sweep", Time: report.Swept, Call: field.Call, Field: field.Field, Consumer: e.As,
					Target: e.Request, Record: e.Record, Legacy: e.Legacy, Candidate: e.Candidate,
				})
			}
		}
	}
	for _, r := range rows {
		report.Fields = append(report.Fields, *r)
	}
	return report, nil
}
