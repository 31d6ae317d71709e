package passthrough

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

	"github.com/portico-commerce/portico/mapping/contract"
)

// Options are the settings of a [System].
type Options struct {
	// URL is the base URL: what stands before /api/rest there, without a slash at its
	// end, a query or a fragment.
	URL *url.URL
	// BasePath begins the paths of the requests, and is not sent on: "" or a path such
	// as /shop, without a slash at its end.
	BasePath string
	// KeepHost sends the Host header that the client sent, so that its signature
	// still verifies, and not that of URL.
	KeepHost bool
	// Timeout is the time for connecting, and for the headers of a reply once the
	// request is sent.
	Timeout time.Duration
	// MaxIdle is how many idle connections are kept.
	MaxIdle int
	// Guard calls f unless the old system is to be left alone. The error is that of f,
	// that of ctx, or one of kind Unavailable. f has returned when Guard does.
	Guard func(ctx context.Context, resource, operation string, f func(context.Context) error) error
}

// A System is the old system. It is safe for concurrent use.
type System struct {
	Options
	transport *http.Transport
	quiet     *log.Logger
}

const (
	// keptIdle is how long an idle connection is kept. It is shorter than the 5 s
	// after which Apache closes one by default: a write that meets a connection being
	// closed fails, because nobody knows whether it was done.
	keptIdle = 4 * time.Second
	// maxReplyHeaders bounds the headers of a reply, in bytes.
	maxReplyHeaders = 1 << 20
	// approval is how long a request that asks first (Expect) waits for its answer.
	approval = time.Second
)

// New returns the old system at a URL.
func New(o Options) *System {
	dialer := &net.Dialer{Timeout: o.Timeout}
	return &System{o, &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		ExpectContinueTimeout:  approval,
		IdleConnTimeout:        keptIdle,
		MaxIdleConnsPerHost:    o.MaxIdle,
		MaxResponseHeaderBytes: maxReplyHeaders,
		DisableCompression:     true, // which would ask for it, and take it off
		// Over HTTP/2 headers would arrive in another spelling.
		Protocols: http1(),
	}, log.New(io.Discard, "", 0)}
}

func http1() *http.Protocols {
	only := new(http.Protocols)
	only.SetHTTP1(true)
	return only
}

// Close closes the connections that no request uses.
func (s *System) Close() { s.transport.CloseIdleConnections() }

// A Call is what is known of a request besides what it says.
type Call struct {
	Address contract.Address
	// Scheme is http or https, as the client used it.
	Scheme string
	// Trusted: the peer is believed what it says of the client.
	Trusted bool
	// Sign, unless nil, returns the Authorization header for the request as it is sent
	// to a scheme, host and target.
	Sign func(scheme, host, target string) (authorization string, err error)
	// shared: the reply is for other clients too, so the old system gets nothing that
	// tells this client from them.
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

// The operations that Guard is told.
const (
	OperationRead  = "legacy_read"
	OperationWrite = "legacy_write"
)

// ErrRequestBody is wrapped by the error for a request whose body could not be read
// to its end: the client is gone, or too slow.
var ErrRequestBody = errors.New("the body of the request broke off")

// A Broken error tells of a reply that has begun and is not whole.
type Broken struct {
	Cause error
	// Gone: it is the client who has not taken it.
	Gone bool
}

// Error says what broke the reply.
func (b *Broken) Error() string {
	if b.Gone {
		return fmt.Sprintf("passthrough: the client has gone: %v", b.Cause)
	}
	return fmt.Sprintf("passthrough: the reply of the old system broke off: %v", b.Cause)
}

// Unwrap returns the cause.
func (b *Broken) Unwrap() error { return b.Cause }

// Serve sends r, which [Carries], on and writes the reply to w. ctx is that of r, or shorter. Errors:
// a [*Broken] when the reply has begun; otherwise nothing has been written to w, and
// the error wraps ErrRequestBody, or is that of Sign, or as Options.Guard says.
func (s *System) Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, call Call) (err error) {
	to := s.address(r)
	authorization := ""
	if call.Sign != nil {
		if authorization, err = call.Sign(to.Scheme, to.Host, to.RequestURI()); err != nil {
			return err
		}
	}
	in := withoutUpgrade(r.WithContext(ctx))
	body := &requestBody{ReadCloser: in.Body}
	in.Body = body
	out := &reply{ResponseWriter: w, header: http.Header{}}
	trip := &trip{System: s, call: &call, body: body}
	proxy := httputil.ReverseProxy{
		Transport:    trip,
		ErrorLog:     s.quiet, // what it would tell is returned
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) { err = failed },
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = to
			p.Out.Trailer = p.In.Trailer // filled when the body has been read
			if !s.KeepHost {
				p.Out.Host = to.Host
			}
			if authorization != "" {
				p.Out.Header.Set("Authorization", authorization)
			}
			removeUnsafe(p.Out.Header, call.Trusted)
			setForwarded(p.Out.Header, p.In, &call)
		},
	}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as it is documented
			panic(p)
		}
		switch {
		case err != nil:
		case out.failed != nil:
			err = &Broken{out.failed, true}
		case trip.broken() != nil:
			err = &Broken{trip.broken(), errors.Is(ctx.Err(), context.Canceled)}
		}
	}()
	proxy.ServeHTTP(out, in)
	return err
}

// Carries reports whether r can be passed on: what asks for a tunnel, or for something
// that has no path, cannot.
func Carries(r *http.Request) bool {
	return r.Method != http.MethodConnect && (strings.HasPrefix(r.RequestURI, "/") || r.URL.Host != "")
}

// address returns where r is sent, with its path below the base path and its query
// exactly as they came.
func (s *System) address(r *http.Request) *url.URL {
	path, query, asked := strings.Cut(originForm(r.RequestURI), "?")
	if path = strings.TrimPrefix(path, s.BasePath); path == "" {
		path = "/"
	}
	to := &url.URL{Scheme: s.URL.Scheme, Host: s.URL.Host, RawQuery: query, ForceQuery: asked && query == ""}
	if to.Opaque = s.URL.EscapedPath() + path; strings.HasPrefix(to.Opaque, "//") {
		// An opaque part that begins like this is sent as an absolute URL. As a path it
		// is sent as it came too, but for characters that no path may have.
		to.Path, to.RawPath, to.Opaque = r.URL.Path, path, ""
	}
	return to
}

// originForm returns the target of a request that can be carried, without scheme and
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

// withoutUpgrade returns r without the wish for another protocol.
func withoutUpgrade(r *http.Request) *http.Request {
	if len(r.Header["Upgrade"]) > 0 {
		r.Header = r.Header.Clone()
		r.Header.Del("Upgrade")
	}
	return r
}
