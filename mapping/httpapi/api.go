package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/consent"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/openapi"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Options are the settings of the API.
type Options struct {
	// Log gets a line for each request, with its id, and lines about failures with the same
	// id. Loggers of other packages add the id if their handlers are of [NewLogHandler].
	Log     *slog.Logger
	Metrics *Metrics
	// Tracer, unless nil, starts a span for each request.
	Tracer trace.Tracer
	// WriteTimeout is the server's limit for a whole reply, 0 for none. Work that would
	// exceed it is stopped early enough to write an error reply.
	WriteTimeout time.Duration
	// OpenMedia opens an image file by its name, which may be any text. The error for a file
	// that does not exist is fs.ErrNotExist.
	OpenMedia func(ctx context.Context, name string) (*adapter.MediaFile, error)
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto headers are trusted, and their OffloaderHeaders.
	TrustedProxies []netip.Prefix
	// OffloaderHeaders are the spellings of the header by which a proxy says that a request came over
	// https, as [OffloaderHeaders] returns them.
	OffloaderHeaders []string
	// PublicHTTPS says that clients reach the service over https, whatever a proxy reports. The legacy store
	// is told so.
	PublicHTTPS bool
	// MediaFolders are the paths of the folders that have images, below the base path; nil stands for
	// [resource.MediaFolder] alone.
	MediaFolders []string
	// BasePath is the path of the shop, such as /shop, without a slash at its end; "" for a
	// shop at the root. With a base path, wrap the handler with [Below].
	BasePath string
	// Rules route requests to Legacy, which may be nil if they route none there.
	Rules  proxy.Rules
	Legacy *proxy.System
	// FollowWrite, unless nil, is called with each write that Legacy has executed, before the
	// client gets the reply: it makes the changes of the write visible to reads that Portico
	// answers, or gives up. It is called even while Rules let Legacy answer all reads: another
	// process may answer some already.
	FollowWrite func(ctx context.Context, write mapping.GateWrite)
	// BeginWrite, unless nil, is called before each call that writes. It returns the system that
	// executes the write, given the rule of Rules for it, and waits during a handover. The API
	// calls end when the write has ended.
	BeginWrite func(ctx context.Context, resource string, rule proxy.Rule) (to proxy.Target, end func(), err error)
	// Consent serves the OAuth pages outside the interface; nil serves none.
	Consent *consent.Site
	// Landing is the page for browsers that open the address of the shop; nil serves none.
	Landing *openapi.LandingPage
	// ReplyBytes limits the memory of all large replies that are being sent, SpoolBytes the
	// size of the temporary files below SpoolDir that hold the others. 0 means no limit;
	// SpoolDir "" means the system's folder for temporary files.
	ReplyBytes, SpoolBytes int64
	SpoolDir               string
	// Connections, unless nil, are the Connections of the server that runs the handler.
	Connections *Connections
	// Refused, unless nil, is called with each request whose credentials were refused, after the
	// reply. It must not block, and must not keep the request.
	Refused func(RefusedRequest)
	// Draining, unless nil, reports whether clients are asked to close their connections.
	Draining func() bool
	// GuestRate limits the calls per second of Guests from one network on average, 0 for no
	// limit; GuestBurst limits how many may come at once. A network is an IPv4 address or
	// the /64 of an IPv6 address.
	GuestRate float64
	// SharedCounts, unless nil, adds up the calls of Guests over processes.
	SharedCounts limits.SharedRates
	GuestBurst   int
}

// A RefusedRequest is a request whose credentials were refused.
type RefusedRequest struct {
	Request *http.Request
	Client  string // network address
	Call    string // as in the log
	Problem string // name of the OAuth problem, as in the log
}

// An API answers all requests of the contract's listener. It is safe for concurrent use once
// it is mounted.
type API struct {
	service *mapping.Service
	Options
	placeholder []byte
	states      sync.Pool
	replies     *limits.Budget // bytes in memory
	spool       spool
	guests      *limits.Limiter[netip.Prefix]
	isShared    func() bool // whether the engine has middleware that is not Portico's
	requestLog  *requestLog // to Log
	unheard     *sync.Once  // reports the first forwarding header that is ignored
}

// New returns an API that answers with service. It fails if SpoolDir is not writable.
func New(service *mapping.Service, options Options) (*API, error) {
	a := &API{service: service, Options: options, unheard: new(sync.Once)}
	if a.MediaFolders == nil {
		a.MediaFolders = []string{resource.MediaFolder}
	}
	log, below := withIDs(a.Log.Handler())
	a.Log, a.requestLog = log, newRequestLog(below, service.Table().ResourcesOfCalls())
	a.replies = limits.NewBudget("replies", cmp.Or(a.ReplyBytes, math.MaxInt64), 0)
	a.spool = spool{a.SpoolDir, limits.NewBudget("spool", cmp.Or(a.SpoolBytes, math.MaxInt64), 0)}
	if err := a.spool.check(); err != nil {
		return nil, fmt.Errorf("%w\nset lists.spool_dir (PORTICO_LISTS_SPOOL_DIR) to a folder that the program may write to", err)
	}
	budgets := append(service.Budgets(), a.replies, a.spool.bytes)
	if a.Connections != nil {
		budgets = append(budgets, a.Connections.headers, a.Connections.unread)
	}
	a.Metrics.addBudgets(budgets...)
	var err error
	if a.guests, err = newGuestRates(&a.Options); err != nil {
		return nil, err
	}
	a.placeholder, err = newPlaceholder()
	return a, err
}

// With returns a copy of a with another service, which must come from [mapping.Service.With] of a's
// service, and with the Rules, GuestRate, GuestBurst, MediaFolders, Consent and Landing of options. It
// shares everything else with a: the budgets, the metrics and the other options. The
// used rate of each network is reset if the rate or the burst changes. Mount the copy on an engine
// of its own. a remains usable, so that its requests in progress end under its rules.
func (a *API) With(service *mapping.Service, options Options) (*API, error) {
	next := &API{service: service, Options: a.Options, placeholder: a.placeholder, replies: a.replies, spool: a.spool, guests: a.guests, requestLog: a.requestLog, unheard: a.unheard}
	next.Rules, next.GuestRate, next.GuestBurst = options.Rules, options.GuestRate, options.GuestBurst
	next.MediaFolders, next.Consent, next.Landing = options.MediaFolders, options.Consent, options.Landing
	if next.GuestRate == a.GuestRate && next.GuestBurst == a.GuestBurst {
		return next, nil
	}
	var err error
	next.guests, err = newGuestRates(&next.Options)
	return next, err
}

// newGuestRates returns the limiter of the calls of Guests.
func newGuestRates(o *Options) (*limits.Limiter[netip.Prefix], error) {
	rates, err := limits.NewLimiter[netip.Prefix](o.GuestRate, o.GuestBurst, time.Now)
	if err != nil {
		return nil, err
	}
	return rates.Share("guest", o.SharedCounts), nil
}

const (
	// maxPooledBuffer is the maximum size in bytes of a reply buffer that is returned to the
	// pool: enough for a hundred products (the longest page) with texts of usual length.
	maxPooledBuffer = 256 << 10
	// errorReplyTime is the time that is reserved for writing an error reply.
	errorReplyTime = time.Second
)

// Mount makes engine answer all requests that match none of its own routes, and gives it the
// middleware of Portico: limits, request ids, the log, metrics and recovery from panics.
//
// Middleware that engine has already runs before Portico's and sees every request. Middleware that
// it is given later runs between Portico's and the handler: it sees the requests that the limits
// let pass, and its replies are logged and counted. [AddressOf] returns the address of a request to
// both. Neither may change the method or the path of a request once Portico's middleware has seen
// it.
//
// Mount sets the trusted proxies of engine. With a base path, serve the engine with [Below].
// Mount fails if SpoolDir is not writable or a metric cannot be registered. It is [New] and
// [API.Mount] in one.
func Mount(engine *gin.Engine, service *mapping.Service, options Options) error {
	a, err := New(service, options)
	if err != nil {
		return err
	}
	return a.Mount(engine)
}

// Mount makes engine answer with a, as the function [Mount] says. An API can be mounted once.
func (a *API) Mount(engine *gin.Engine) error {
	a.states.New = func() any { return &state{api: a} }
	if len(a.Rules) > 0 { // forwarded replies can break off outside the contract's calls
		a.Metrics.cut.WithLabelValues(noCall)
		a.Metrics.cut.WithLabelValues(new(contract.Address).Name())
	}
	proxies := make([]string, len(a.TrustedProxies))
	for i, p := range a.TrustedProxies {
		proxies[i] = p.String()
	}
	if err := engine.SetTrustedProxies(proxies); err != nil {
		return err
	}
	own := []gin.HandlerFunc{a.countHeaders, a.closeWhileDraining, a.begin}
	if a.Tracer != nil {
		own = append(own, a.trace)
	}
	own = append(own,
		a.requestID, a.accessLog, a.measure, a.recovery,
		a.match, a.limitGuests,
	)
	engine.Use(own...)
	a.isShared = func() bool { return len(engine.Handlers) > len(own) }
	// Not a route with a wildcard: the trees of gin know only the usual methods, and the
	// contract answers all.
	engine.NoRoute(a.serve)
	return nil
}

// serve answers a request.
func (a *API) serve(c *gin.Context) {
	s := stateOf(c)
	s.request.HTTP = c.Request // with the context that middleware may have given it
	to, end, err := a.beginRequest(c, s)
	if err != nil {
		a.forwardError(c, s, err)
		return
	}
	defer end()
	switch {
	case to == proxy.Legacy:
		err = a.forward(c, s)
	case s.isCall:
		err = a.serveCall(c, s)
	default:
		a.serveOutside(c, s)
	}
	s.broken = err != nil
	if body := s.response.Body; s.response.CacheOutcome == "" && cap(body) > cap(s.buffer) && cap(body) <= maxPooledBuffer {
		s.buffer = body
	}
}

// serveCall lets the service answer a call. It fails only if the reply body could not be completed.
func (a *API) serveCall(c *gin.Context, s *state) error {
	ctx, ok := c.Request.Context(), false
	if s.response, ok = a.service.ServeCached(&s.request, s.buffer[:0]); !ok {
		leaveTrail(c, s)
		var cancel context.CancelFunc
		ctx, cancel = a.withDeadline(c.Request.Context())
		defer cancel()
		s.response = a.service.Serve(ctx, &s.request, s.buffer[:0])
	}
	return a.send(ctx, c, s)
}

// serveOutside answers a request that is not a call of the interface.
func (a *API) serveOutside(c *gin.Context, s *state) {
	leaveTrail(c, s)
	if wanted := handlers.ParseMedia(c.Request, a.MediaFolders); wanted != (handlers.MediaRequest{}) {
		a.serveMedia(c, wanted)
		s.response = resource.Response{Call: mediaCall, Status: c.Writer.Status()}
		return
	}
	if a.Consent != nil {
		if call, ok := a.Consent.Call(c.Request); ok {
			a.serveConsent(c, s, call)
			return
		}
	}
	if a.Landing != nil && a.Landing.Wanted(c.Request) {
		a.serveLanding(c, s)
		return
	}
	a.reply(c, s, plain(http.StatusNotFound, notFound, s.buffer[:0]))
}

// landingCall is the name of requests for the landing page in logs and metrics.
const landingCall = "landing"

// serveLanding answers a browser that opens the address of the shop.
func (a *API) serveLanding(c *gin.Context, s *state) {
	if err := a.Landing.Serve(c.Writer, c.Request, s.request.Scheme); err != nil {
		a.Log.LogAttrs(c.Request.Context(), slog.LevelError, "request not answered", slog.String("call", landingCall), slog.Any("error", err))
		a.reply(c, s, plain(http.StatusInternalServerError, "Internal error\n", s.buffer[:0]))
		return
	}
	s.response = resource.Response{Call: landingCall, Status: c.Writer.Status()}
}

// withDeadline returns a context that ends when only the time for an error reply is left.
func (a *API) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.WriteTimeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.WriteTimeout-min(a.WriteTimeout/10, errorReplyTime))
}
