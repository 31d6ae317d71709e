package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Options are the settings of a [System].
type Options struct {
	// URL is the base URL of the legacy store: the part before /api/rest, without a slash at
	// its end, a query or a fragment.
	URL *url.URL
	// BasePath is the prefix of request paths that is removed before forwarding: "" or a
	// path such as /shop, without a slash at its end.
	BasePath string
	// KeepHost forwards the client's Host header, so that the client's signature remains
	// valid, instead of the host of URL.
	KeepHost bool
	// Timeout limits the time for connecting, and the time for the headers of a reply after
	// the request has been sent.
	Timeout time.Duration
	// MaxIdle is the maximum number of idle connections.
	MaxIdle int
	// Guard calls f unless the legacy store is currently avoided, for example by an open
	// breaker. It returns the error of f, the error of ctx, or one of kind Unavailable. It
	// must not return before f has.
	Guard func(ctx context.Context, resource, operation string, f func(context.Context) error) error
}

// A System is a client of the legacy store. It is safe for concurrent use.
type System struct {
	Options
	transport *http.Transport
	quiet     *log.Logger
	// agent is the User-Agent of requests that no client has sent, or whose reply is shared
	// between clients. Some firewalls reject requests without one.
	agent string
}

const (
	// idleTimeout is how long an idle connection stays open. It is shorter than the 5 s
	// after which Apache closes one by default: a write on a connection that is being closed
	// fails, and it is unknown whether it took effect.
	idleTimeout = 4 * time.Second
	// maxReplyHeaders is the maximum size of the headers of a reply in bytes.
	maxReplyHeaders = 1 << 20
	// continueTimeout is the maximum wait for the reply to "Expect: 100-continue".
	continueTimeout = time.Second
)

// New returns a client of the legacy store.
func New(o Options) *System {
	dialer := &net.Dialer{Timeout: o.Timeout}
	return &System{o, &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		ExpectContinueTimeout:  continueTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    o.MaxIdle,
		MaxResponseHeaderBytes: maxReplyHeaders,
		DisableCompression:     true, // otherwise the transport would ask for compression and remove it
		// HTTP/2 would change the letter case of headers.
		Protocols: http1(),
	}, log.New(io.Discard, "", 0), buildinfo.UserAgent("portico")}
}

func http1() *http.Protocols {
	only := new(http.Protocols)
	only.SetHTTP1(true)
	return only
}

// Close closes the idle connections.
func (s *System) Close() { s.transport.CloseIdleConnections() }

// A Call holds the caller's knowledge about a request in addition to the request itself.
type Call struct {
	Address contract.Address
	// Scheme is http or https, as the client used it.
	Scheme string
	// Trusted: the peer is a proxy whose X-Forwarded headers are trusted.
	Trusted bool
	// Sign, unless nil, returns the Authorization header for the request that is forwarded
	// with the given scheme, host and target.
	Sign func(scheme, host, target string) (authorization string, err error)
	// shared: the reply is shared between clients, so the legacy store gets nothing that
	// identifies this client.
	shared bool
}

// resource and operation name the call for metrics and errors.
func (c *Call) resource() string {
	if c.Address.Route == nil {
		return Outside
	}
	return c.Address.Route.Resource
}

func (c *Call) operation() string {
	if c.Address.ReadOnly {
		return OperationRead
	}
	return OperationWrite
}

// The operations passed to Options.Guard.
const (
	OperationRead  = "legacy_read"
	OperationWrite = "legacy_write"
)

// ErrRequestBody is wrapped by the error for a request whose body could not be read
// completely, because the client disconnected or is too slow.
var ErrRequestBody = errors.New("the body of the request broke off")

// A Broken error is the error for a reply that has begun but is incomplete.
type Broken struct {
	Cause error
	// Gone: the client did not read it to its end.
	Gone bool
}

// Error describes the cause of the broken reply.
func (b *Broken) Error() string {
	if b.Gone {
		return fmt.Sprintf("passthrough: the client has gone: %v", b.Cause)
	}
	return fmt.Sprintf("passthrough: the reply of the legacy store broke off: %v", b.Cause)
}

// Unwrap returns the cause.
func (b *Broken) Unwrap() error { return b.Cause }

// Serve forwards r, for which [CanForward] must be true, and writes the reply to w. ctx is
// the context of r or one derived from it. If the reply has begun, the error is a [*Broken].
// Otherwise nothing has been written to w, and the error wraps ErrRequestBody, or is the
// error of Sign or of Options.Guard.
func (s *System) Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, call Call) (err error) {
	to := s.address(r)
	authorization := ""
	if call.Sign != nil {
		if authorization, err = call.Sign(to.Scheme, to.Host, to.RequestURI()); err != nil {
			return err
		}
	}
	traced, span := call.startSpan(ctx, s.URL.Hostname(), r.Method)
	in := withoutUpgrade(r.WithContext(traced))
	body := &requestBody{ReadCloser: in.Body}
	in.Body = body
	out := &clientWriter{ResponseWriter: w, header: http.Header{}}
	roundTrip := &roundTrip{System: s, call: &call, body: body}
	proxy := httputil.ReverseProxy{
		Transport:    roundTrip,
		ErrorLog:     s.quiet, // Serve returns these errors
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) { err = failed },
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = to
			p.Out.Trailer = p.In.Trailer // filled after the body has been read
			if !s.KeepHost {
				p.Out.Host = to.Host
			}
			if authorization != "" {
				p.Out.Header.Set("Authorization", authorization)
			}
			removeUnsafe(p.Out.Header, call.Trusted)
			setForwarded(p.Out.Header, p.In, &call)
			setTrace(p.Out.Context(), p.Out.Header, &call)
		},
	}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // documented value
			panic(p)
		}
		switch {
		case err != nil:
		case out.failed != nil:
			err = &Broken{out.failed, true}
		case roundTrip.broken() != nil:
			err = &Broken{roundTrip.broken(), errors.Is(ctx.Err(), context.Canceled)}
		}
		endSpan(span, err, out.status)
	}()
	proxy.ServeHTTP(out, in)
	return err
}

// CanForward reports whether r can be forwarded. CONNECT and targets without a path cannot.
func CanForward(r *http.Request) bool {
	return r.Method != http.MethodConnect && (strings.HasPrefix(r.RequestURI, "/") || r.URL.Host != "")
}

// address returns the URL to which r is forwarded, with the path below the base path and
// the query exactly as they were sent.
func (s *System) address(r *http.Request) *url.URL {
	path, query, asked := strings.Cut(originForm(r.RequestURI), "?")
	if path = strings.TrimPrefix(path, s.BasePath); path == "" {
		path = "/"
	}
	to := &url.URL{Scheme: s.URL.Scheme, Host: s.URL.Host, RawQuery: query, ForceQuery: asked && query == ""}
	if to.Opaque = s.URL.EscapedPath() + path; strings.HasPrefix(to.Opaque, "//") {
		// An opaque part with this prefix would be sent as an absolute URL. As a path it
		// is sent unchanged as well, except for characters that a path cannot contain.
		to.Path, to.RawPath, to.Opaque = r.URL.Path, path, ""
	}
	return to
}

// originForm returns the target of a request that can be forwarded, without scheme and
// host.
func originForm(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	_, rest, _ := strings.Cut(target, "://")
	at := strings.IndexAny(rest, "/?")
	switch {
	case at < 0:
		return "/"
	case rest[at] == '?':
		return "/" + rest[at:]
	default:
		return rest[at:]
	}
}

// withoutUpgrade returns r without the request for another protocol.
func withoutUpgrade(r *http.Request) *http.Request {
	if len(r.Header["Upgrade"]) > 0 {
		r.Header = r.Header.Clone()
		r.Header.Del("Upgrade")
	}
	return r
}
