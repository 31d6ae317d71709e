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

// Options are the settings of the API.
type Options struct {
	Log     *slog.Logger
	Metrics *Metrics
	// WriteTimeout is the server's limit for a whole reply, 0 for none. Work that would
	// exceed it is stopped early enough to write an error reply.
	WriteTimeout time.Duration
	// OpenMedia opens an image file by its name, which may be any text, and returns its
	// media type. The error for a file that does not exist is fs.ErrNotExist.
	OpenMedia func(ctx context.Context, name string) (file *os.File, mediaType string, err error)
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto headers are trusted.
	TrustedProxies []netip.Prefix
	// BasePath is the path of the shop, such as /shop, without a slash at its end; "" for a
	// shop at the root. With a base path, wrap the handler with [Below].
	BasePath string
	// Rules say which requests go to Legacy, which may be nil if none do.
	Rules  passthrough.Rules
	Legacy *passthrough.System
	// Consent serves the OAuth pages outside the interface; nil serves none.
	Consent *consent.Site
	// ReplyBytes limits the memory of all large replies that are being sent, SpoolBytes the
	// size of the temporary files below SpoolDir that hold the others. 0 means no limit;
	// SpoolDir "" means the system's folder for temporary files.
	ReplyBytes, SpoolBytes int64
	SpoolDir               string
	// Connections, unless nil, are the Connections of the server that runs the handler.
	Connections *Connections
	// GuestRate limits the calls per second of Guests from one network on average, 0 for no
	// limit; GuestBurst limits how many may come at once. A network is an IPv4 address or
	// the /64 of an IPv6 address.
	GuestRate  float64
	GuestBurst int
}

// api answers all requests of the contract's listener.
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
	// maxPooledBuffer is the maximum size in bytes of a reply buffer that is returned to the
	// pool: enough for a hundred products (the longest page) with texts of usual length.
	maxPooledBuffer = 256 << 10
	// errorReplyTime is the time that is reserved for writing an error reply.
	errorReplyTime = time.Second
)

// New returns the handler of the contract's listener. It fails if SpoolDir is not writable
// or a metric cannot be registered.
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
	if len(a.Rules) > 0 { // forwarded replies can break off outside the contract's calls
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

// serve answers a request, counts it and logs it.
func (a *api) serve(c *gin.Context) {
	start := time.Now()
	a.Metrics.inFlight.Inc()
	defer a.Metrics.inFlight.Dec()
	id := requestID(c.Request)
	c.Header("X-Request-Id", id)

	buffer := a.buffers.Get().(*[]byte)
	response, err := a.respond(c, (*buffer)[:0])
	if response.CacheOutcome == "" && cap(response.Body) > cap(*buffer) && cap(response.Body) <= maxPooledBuffer {
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
	exchange.SetResult(c.Request.Context(), response.Role, response.Legacy)
	if err != nil {
		// The reply was sent without a length: only closing the connection early tells the
		// client that the body is incomplete.
		panic(http.ErrAbortHandler)
	}
}

// log logs an answered request. It builds the record itself, because a Logger looks up the
// calling line each time, which costs as much as three attributes.
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
	_ = a.Log.Handler().Handle(ctx, record) // there is nobody to report the error to
}

// respond lets the service answer a request and writes the reply. The error is that of a
// body that could not be completed.
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
		return a.forward(c, buf)
	}
	if !mapping.IsAPIRequest(c.Request) {
		return a.serveOutside(c, buf), nil
	}
	ctx, scheme := c.Request.Context(), a.Scheme(c.Request)
	response, ok := a.service.ServeCached(c.Request, scheme, buf)
	if !ok {
		var cancel context.CancelFunc
		ctx, cancel = a.withDeadline(ctx)
		defer cancel()
		response = a.service.Serve(ctx, c.Request, scheme, buf)
	}
	return a.send(ctx, c, scheme, response, buf)
}

// limitGuest rejects a call of a Guest whose network exceeds the limit.
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

// serveOutside answers a request that is not a call of the interface.
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

// withDeadline returns a context that ends when only the time for an error reply is left.
func (a *api) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.WriteTimeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.WriteTimeout-min(a.WriteTimeout/10, errorReplyTime))
}

// Scheme returns the scheme that the client used to reach the outermost server.
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

// requestID returns the id that a client or proxy gave the request, if it is safe to repeat
// in the reply and the log, or a new one.
func requestID(r *http.Request) string {
	const most = 64
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > most || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.") != "" {
		return newID()
	}
	return id
}

// newID returns a unique id. It is not secret.
func newID() string {
	var random [16]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64())
	var room [2 * len(random)]byte
	return string(hex.AppendEncode(room[:0], random[:]))
}
