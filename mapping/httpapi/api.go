package httpapi

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/budget"
	"github.com/portico-commerce/portico/mapping/consent"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/passthrough"
	"github.com/portico-commerce/portico/mapping/ratelimit"
)

// Options are what the API needs besides its service.
type Options struct {
	Log     *slog.Logger
	Metrics *Metrics
	// WriteTimeout is that of the server: the time for a whole answer, 0 for any.
	// Work that would outlast it is stopped while a refusal can still be written.
	WriteTimeout time.Duration
	// OpenMedia opens the file of an image by its name, which may be any text, and
	// tells its media type. The error for what does not exist is fs.ErrNotExist.
	OpenMedia func(ctx context.Context, name string) (file *os.File, mediaType string, err error)
	// TrustedProxies may say in X-Forwarded-For and X-Forwarded-Proto who calls
	// and how.
	TrustedProxies []netip.Prefix
	// BasePath is what stands before the paths of the shop, such as /shop, without a
	// slash at its end; "" for a shop at the root. The handler is for [Below].
	BasePath string
	// Rules say which requests Legacy answers, which may be nil without any.
	Rules  passthrough.Rules
	Legacy *passthrough.System
	// Consent serves what OAuth has outside the interface; nil serves none of it.
	Consent *consent.Site
	// ReplyBytes bounds the memory of all replies that are being sent, but for short
	// ones, and SpoolBytes the temporary files below SpoolDir that take what is beyond.
	// 0 is no bound; SpoolDir "" is the system's folder.
	ReplyBytes, SpoolBytes int64
	SpoolDir               string
	// Connections, unless nil, are those of the server that the handler is for.
	Connections *Connections
	// GuestRate is how many calls per second Guests of one network may send in the
	// long run, 0 for any number, and GuestBurst how many at once. A network is an
	// IPv4 address, or the /64 of an IPv6 address.
	GuestRate  float64
	GuestBurst int
}

// api answers every request of the contract's listener.
type api struct {
	service *mapping.Service
	Options
	placeholder []byte
	buffers     sync.Pool
	replies     *budget.Budget // bytes in memory
	spool       spool
	guests      *ratelimit.Limiter[netip.Prefix]
}

const (
	// keptBuffer is the largest reply buffer kept for reuse, in bytes: enough for a
	// hundred products, the longest page there is, with texts of a usual length.
	keptBuffer = 256 << 10
	// longestRefusal is the time that is kept back for writing a refusal.
	longestRefusal = time.Second
)

// New returns the handler of the contract's listener.
func New(service *mapping.Service, options Options) (http.Handler, error) {
	a := &api{service: service, Options: options}
	a.replies = budget.New("replies", cmp.Or(a.ReplyBytes, math.MaxInt64), 0)
	a.spool = spool{a.SpoolDir, budget.New("spool", cmp.Or(a.SpoolBytes, math.MaxInt64), 0)}
	if err := a.spool.check(); err != nil {
		return nil, fmt.Errorf("%w\nset lists.spool_dir (PORTICO_LISTS_SPOOL_DIR) to a folder that the program may write to", err)
	}
	budgets := append(service.Budgets(), a.replies, a.spool.bytes)
	if a.Connections != nil {
		budgets = append(budgets, a.Connections.headers)
	}
	if err := a.Metrics.addBudgets(budgets...); err != nil {
		return nil, err
	}
	var err error
	if a.guests, err = ratelimit.New[netip.Prefix](a.GuestRate, a.GuestBurst, time.Now); err != nil {
		return nil, err
	}
	if a.placeholder, err = newPlaceholder(); err != nil {
		return nil, err
	}
	a.buffers.New = func() any { return new([]byte) }
	if len(a.Rules) > 0 { // replies that may be cut although they are of no call
		a.Metrics.cut.WithLabelValues(noCall)
		a.Metrics.cut.WithLabelValues(new(contract.Address).Name())
	}

	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	proxies := make([]string, len(options.TrustedProxies))
	for i, p := range options.TrustedProxies {
		proxies[i] = p.String()
	}
	if err := engine.SetTrustedProxies(proxies); err != nil {
		return nil, err
	}
	engine.NoRoute(a.serve)
	return engine, nil
}

// serve answers one request, and records what it was.
func (a *api) serve(c *gin.Context) {
	start := time.Now()
	a.Metrics.inFlight.Inc()
	defer a.Metrics.inFlight.Dec()
	id := requestID(c.Request)
	c.Header("X-Request-Id", id)

	buffer := a.buffers.Get().(*[]byte)
	response, err := a.respond(c, (*buffer)[:0])
	if response.CacheOutcome == "" && cap(response.Body) > cap(*buffer) && cap(response.Body) <= keptBuffer {
		*buffer = response.Body
	}
	a.buffers.Put(buffer)

	end := time.Now()
	took := end.Sub(start)
	a.Metrics.observe(&response, err != nil, took)
	a.log(c, id, &response, err != nil, end, took)
	if response.Role == mapping.UnknownRole {
		response.Role = ""
	}
	exchange.Tell(c.Request.Context(), response.Role, response.Legacy)
	if err != nil {
		// The client has been told of no length: only a connection that breaks
		// tells that the body is not whole.
		panic(http.ErrAbortHandler)
	}
}

// log logs a request that was answered. It makes the record itself: a Logger would
// look for the line that calls it, every time, which costs as much as three of the
// attributes.
func (a *api) log(c *gin.Context, id string, response *mapping.Response, cut bool, end time.Time, took time.Duration) {
	ctx := c.Request.Context()
	if !a.Log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(end, slog.LevelInfo, "request", 0)
	var room [12]slog.Attr
	attributes := append(room[:0],
		slog.String("id", id),
		slog.String("call", response.Call),
		slog.String("method", contract.MethodLabel(c.Request.Method)),
		slog.Int("status", response.Status),
		slog.String("role", response.Role),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Duration("took", took),
		slog.String("client", c.ClientIP()),
	)
	if response.Problem != "" {
		attributes = append(attributes, slog.String("problem", response.Problem))
	}
	if response.CacheOutcome != "" {
		attributes = append(attributes, slog.String("cache", response.CacheOutcome))
	}
	if response.Legacy {
		attributes = append(attributes, slog.String("side", "legacy"))
	}
	if cut {
		attributes = append(attributes, slog.Bool("cut", true))
	}
	record.AddAttrs(attributes...)
	_ = a.Log.Handler().Handle(ctx, record) // whoever reads the log is not there to be told
}

// respond lets the service answer and writes what it said. An error is that of
// a body that could not be finished.
func (a *api) respond(c *gin.Context, buf []byte) (mapping.Response, error) {
	if a.isOutside(c.Request) {
		return a.notFound(c, buf), nil
	}
	if refusal, limited := a.limitGuest(c, buf); limited {
		a.write(c, &refusal)
		return refusal, nil
	}
	if !a.service.Anonymous(c.Request) {
		c.Request = c.Request.WithContext(mapping.WithClientAddress(c.Request.Context(), c.ClientIP()))
	}
	if len(a.Rules) > 0 && a.goesToLegacy(c.Request) {
		return a.pass(c, buf)
	}
	if !mapping.IsAPIRequest(c.Request) {
		return a.serveOutside(c, buf), nil
	}
	ctx, scheme := c.Request.Context(), a.Scheme(c.Request)
	response, ok := a.service.ServeCached(c.Request, scheme, buf)
	if !ok {
		var cancel context.CancelFunc
		ctx, cancel = a.inTime(ctx)
		defer cancel()
		response = a.service.Serve(ctx, c.Request, scheme, buf)
	}
	return a.send(ctx, c, scheme, response, buf)
}

// limitGuest refuses a call of a Guest whose network sends too many.
func (a *api) limitGuest(c *gin.Context, buf []byte) (refusal mapping.Response, limited bool) {
	if !a.guests.Active() || !mapping.IsAPIRequest(c.Request) || !a.service.Anonymous(c.Request) {
		return refusal, false
	}
	wait, ok := a.guests.Take(ratelimit.Network(c.ClientIP()))
	if ok {
		return refusal, false
	}
	return a.service.ErrorResponse(c.Request.Context(), c.Request, a.Scheme(c.Request), &mapping.RateLimitError{RetryAfter: wait}, buf), true
}

// serveOutside answers what is no call of the interface.
func (a *api) serveOutside(c *gin.Context, buf []byte) mapping.Response {
	if wanted := mapping.ParseMedia(c.Request); wanted != (mapping.MediaRequest{}) {
		return a.serveMedia(c, wanted)
	}
	if a.Consent != nil {
		if call, ok := a.Consent.Call(c.Request); ok {
			return a.serveConsent(c, call, buf)
		}
	}
	return a.notFound(c, buf)
}

func (a *api) notFound(c *gin.Context, buf []byte) mapping.Response {
	response := plain(http.StatusNotFound, "Not found\n", buf)
	a.write(c, &response)
	return response
}

// inTime returns a context that ends when there is no time left but for a
// refusal.
func (a *api) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.WriteTimeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.WriteTimeout-min(a.WriteTimeout/10, longestRefusal))
}

// Scheme returns how the client spoke to the outermost server it reached.
func (o *Options) Scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if proto := r.Header.Get("X-Forwarded-Proto"); proto != "" && o.trusted(r.RemoteAddr) && strings.EqualFold(proto, "https") {
		return "https"
	}
	return "http"
}

func (o *Options) trusted(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, p := range o.TrustedProxies {
		if p.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// requestID returns the id a client or proxy gave the request, if it is one that
// is safe to repeat, or a new one.
func requestID(r *http.Request) string {
	const most = 64
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > most || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.") != "" {
		return newID()
	}
	return id
}

// newID returns an id that no other request has. It is no secret.
func newID() string {
	var random [16]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64())
	var room [2 * len(random)]byte
	return string(hex.AppendEncode(room[:0], random[:]))
}
