package httpapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
)

// Options are what the API needs besides its service.
type Options struct {
	Log     *slog.Logger
	Metrics *Metrics
	// TrustedProxies may say in X-Forwarded-For and X-Forwarded-Proto who calls
	// and how.
	TrustedProxies []netip.Prefix
}

// api answers every request of the contract's listener.
type api struct {
	service *mapping.Service
	Options
	buffers sync.Pool
}

const (
	// keptBuffer is the largest reply buffer kept for reuse, in bytes.
	keptBuffer = 64 << 10
	// longestMethod bounds what a log line repeats of a method, which may be
	// any word of any length.
	longestMethod = 16
)

// New returns the handler of the contract's listener.
func New(service *mapping.Service, options Options) (http.Handler, error) {
	a := &api{service: service, Options: options}
	a.buffers.New = func() any { return new([]byte) }

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
	response := a.respond(c, (*buffer)[:0])
	size := len(response.Body)
	if cap(response.Body) > cap(*buffer) && cap(response.Body) <= keptBuffer {
		*buffer = response.Body
	}
	a.buffers.Put(buffer)

	took := time.Since(start)
	a.Metrics.observe(&response, took)
	a.Log.LogAttrs(c.Request.Context(), slog.LevelInfo, "request",
		slog.String("id", id),
		slog.String("call", response.Call),
		slog.String("method", c.Request.Method[:min(len(c.Request.Method), longestMethod)]),
		slog.Int("status", response.Status),
		slog.String("role", response.Role),
		slog.String("problem", response.Problem),
		slog.Int("bytes", size),
		slog.Duration("took", took),
		slog.String("client", c.ClientIP()))
}

// respond lets the service answer and writes what it said.
func (a *api) respond(c *gin.Context, buf []byte) mapping.Response {
	response := mapping.Response{Status: http.StatusNotFound, ContentType: "text/plain; charset=utf-8", Body: append(buf, "Not found\n"...), Call: "none"}
	if mapping.Owns(c.Request) {
		response = a.service.Serve(c.Request.Context(), c.Request, a.scheme(c.Request), buf)
	}
	header := c.Writer.Header()
	header.Set("Content-Type", response.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(response.Body)))
	header.Set("Cache-Control", "no-store")
	if response.Location != "" {
		header.Set("Location", response.Location)
	}
	c.Writer.WriteHeader(response.Status)
	c.Writer.WriteHeaderNow()
	// A client that has gone cannot be told so; its status is counted all the same.
	_, _ = c.Writer.Write(response.Body)
	return response
}

// scheme returns how the client spoke to the outermost server it reached.
func (a *api) scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if proto := r.Header.Get("X-Forwarded-Proto"); proto != "" && a.trusted(r.RemoteAddr) && strings.EqualFold(proto, "https") {
		return "https"
	}
	return "http"
}

func (a *api) trusted(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, p := range a.TrustedProxies {
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
		return rand.Text()
	}
	return id
}
