package pipeline

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Address returns the address of r in the contract. For a request outside the API only the
// fields that describe the method are set.
func (s *Pipeline) Address(r *resource.Request) *contract.Address { return r.AddressIn(s.table) }

// Anonymous reports whether r carries no credentials, so that its caller is a Guest.
func (s *Pipeline) Anonymous(r *http.Request) bool {
	return s.auth.Anonymous(r.Header.Get("Authorization"))
}

// ServeCached answers r, which must be an API request, from the memory tier of the reply
// cache, which may ask Redis whether the reply is current, unless a role limits Guests. It runs no
// step of the pipeline, but returns the same response as [Pipeline.Serve]. It may use buf for the
// body. ok is false if there is no such reply.
func (s *Pipeline) ServeCached(r *resource.Request, buf []byte) (response resource.Response, ok bool) {
	if s.replyCache == nil || !s.auth.GuestsUnlimited() {
		return response, false
	}
	fingerprint, ok := s.replyCache.Fingerprint(r.HTTP, r.Scheme)
	if !ok {
		return response, false
	}
	value, ok := s.replyCache.GetLocal(r.HTTP.Context(), fingerprint)
	if !ok {
		return response, false
	}
	return s.replyCache.Decode(value, "hit", 0, buf)
}

// Serve answers r, which must be an API request. It appends the body to buf, which a
// Stream also uses as its buffer.
func (s *Pipeline) Serve(ctx context.Context, r *resource.Request, buf []byte) resource.Response {
	c := s.newRun(ctx, r)
	defer s.requests.release(c)
	response := s.respond(ctx, c, buf)
	response.Describe(&c.Call)
	return response
}

// newRun returns the call for r before any step.
func (s *Pipeline) newRun(ctx context.Context, r *resource.Request) *Run {
	shadowRead, _ := ctx.Value(shadowReadKey{}).(bool)
	return &Run{
		Call:          resource.Call{Address: *s.Address(r), HTTP: r.HTTP, Scheme: r.Scheme, Limits: s.limits},
		clientAddress: r.Client, shadowRead: shadowRead,
	}
}

type shadowReadKey struct{}

// WithShadowRead returns ctx for a read that the other system of a migration has already
// answered, and that is repeated for comparison only. The original read has used its
// nonce and was counted against its consumer's rate, so the repetition checks neither.
func WithShadowRead(ctx context.Context) context.Context {
	return context.WithValue(ctx, shadowReadKey{}, true)
}

// respond runs c and renders its response. If it panics, the client gets an internal
// error, and the log a stack trace.
func (s *Pipeline) respond(ctx context.Context, c *Run, buf []byte) (response resource.Response) {
	defer func() {
		if p := recover(); p != nil {
			s.LogPanic(ctx, c, p)
			response = s.renderError(ctx, c, ErrPanicked, buf)
		}
	}()
	if err := s.runSteps(ctx, c); err != nil {
		return s.renderError(ctx, c, err, buf)
	}
	if at, ok := s.replyCache.Cacheable(&c.Call); ok {
		if response, ok := s.serveThroughCache(ctx, c, at, buf); ok {
			return response
		}
	}
	reply, err := s.handle(ctx, c)
	if err != nil {
		return s.renderError(ctx, c, err, buf)
	}
	return s.renderReply(ctx, c, reply, buf)
}

// Parts are the parts that a pipeline connects.
type Parts struct {
	Dialect *contract.Dialect
	Table   *contract.Table
	// NotOffered holds the routes whose resource the backend does not offer.
	NotOffered    map[*contract.Route]bool
	Authenticator *auth.Authenticator
	Log           *slog.Logger
	// Handlers holds the handler of each call by its name.
	Handlers map[string]Handler
	// ReplyCache, unless nil, caches replies to Guests.
	ReplyCache *replycache.Guests
}

// New returns the pipeline from which the pipelines of a process are derived: it has their budgets,
// and answers no calls.
func New(settings Settings) (*Pipeline, error) {
	rates, err := newRates(settings)
	return &Pipeline{
		settings: settings, rates: rates, steps: steps(), lists: limits.NewBudgetPair("lists", settings.ListsInFlight),
		requests: requestBudgets{limits.NewBudgetPair("requests", settings.RequestBytes), limits.NewBudget("forms", maxConcurrentForms*auth.MaxForm, formWait)},
	}, err
}

// With returns a pipeline with other parts and settings that shares its budgets with s. filters are the
// limits of lists with expensive conditions. The counts of consumers are reset if the rate or the burst
// changes.
func (s *Pipeline) With(parts Parts, settings Settings, filters resource.FilterSettings) (*Pipeline, error) {
	next := *s
	next.dialect, next.table, next.notOffered, next.auth, next.log = parts.Dialect, parts.Table, parts.NotOffered, parts.Authenticator, parts.Log
	next.handlers, next.replyCache, next.settings = parts.Handlers, parts.ReplyCache, settings
	next.limits = resource.NewLimits(settings.MaxRows)
	if settings.BatchRows > 0 {
		next.limits.Batch = settings.BatchRows
	}
	next.callerFilters, next.guestFilters = resource.NewFilterLimits(filters, false), resource.NewFilterLimits(filters, true)
	if s.settings.ConsumerRate == settings.ConsumerRate && s.settings.ConsumerBurst == settings.ConsumerBurst {
		return &next, nil
	}
	var err error
	next.rates, err = newRates(settings)
	return &next, err
}

// newRates returns the limiter of the calls of consumers.
func newRates(settings Settings) (*limits.Limiter[int64], error) {
	rates, err := limits.NewLimiter[int64](settings.ConsumerRate, settings.ConsumerBurst, settings.Now)
	if err != nil {
		return nil, err
	}
	return rates.Share("consumer", settings.SharedCounts), nil
}

// Table returns the route table, which resolves requests to calls.
func (s *Pipeline) Table() *contract.Table { return s.table }

// Budgets returns the budgets that limit concurrent requests, for metrics.
func (s *Pipeline) Budgets() []*limits.Budget {
	return []*limits.Budget{s.requests.memory.All, s.requests.memory.Guests, s.requests.forms, s.lists.All, s.lists.Guests}
}
