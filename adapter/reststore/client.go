package reststore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/itchyny/gojq"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/semaphore"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// A client sends requests to the backend. It is safe for concurrent use.
type client struct {
	resty      *resty.Client
	transport  *http.Transport
	base       string // the base URL without a trailing slash
	baseURL    *url.URL
	host       string // the name of the backend's server
	connection *connection
	inFlight   *semaphore.Weighted
	budget     *budget
	metrics    *metrics
	log        *slog.Logger
	sent       func(trialRequest) // called for every attempt; may be nil
}

// maxRedirects limits how many redirects a read follows within the backend's host.
const maxRedirects = 3

func newClient(o *Options, m *mapping, requestMetrics *metrics) (*client, error) {
	base, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the backend cannot be parsed")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("the URL of the backend must be an http or https URL such as https://shop.example")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("the URL of the backend must not have a user, a query or a fragment: use rest.user and rest.secret for credentials")
	}
	c := &client{
		baseURL:    base,
		base:       strings.TrimRight(base.String(), "/"),
		host:       base.Hostname(),
		connection: &m.Connection,
		inFlight:   semaphore.NewWeighted(int64(m.Connection.Limits.InFlight)),
		budget:     New(m.Connection.Retry.Budget),
		metrics:    requestMetrics,
		log:        o.Logger,
		sent:       o.sent,
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:        o.TLS,
			TLSHandshakeTimeout:    5 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxConnsPerHost:        m.Connection.Limits.InFlight,
			MaxIdleConns:           m.Connection.Limits.InFlight,
			MaxIdleConnsPerHost:    m.Connection.Limits.InFlight,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
	// Resty's retries are not used, because they know no budget, and neither is its limit on
	// responses, because it reads 512 bytes at a time: lists of 100 products take 3 % more
	// time.
	c.resty = resty.New().
		SetTransport(c.transport).
		SetDoNotParseResponse(true).
		SetDisableWarn(true).
		SetLogger(discardLogger{}).
		SetHeaders(map[string]string{"User-Agent": buildinfo.UserAgent("portico"), "Accept": "application/json"}).
		SetRedirectPolicy(resty.RedirectPolicyFunc(redirectWithinHost)).
		SetHeaders(m.Connection.Headers).
		SetCookieJar(nil) // calls must not share session cookies
	if fixed := m.Connection.Auth.fixed; fixed != nil {
		c.resty.SetHeader(fixed.Name, fixed.Value)
	}
	return c, nil
}

// redirectWithinHost lets GET requests follow redirects within the original host. Other
// redirects are returned as responses: the credentials are not meant for other hosts, and
// following one for a write would send the write twice.
func redirectWithinHost(next *http.Request, before []*http.Request) error {
	first := before[0]
	if first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// discardLogger disables resty's log, which may contain secrets.
type discardLogger struct{}

func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Warnf(string, ...any)  {}
func (discardLogger) Debugf(string, ...any) {}

// A preparedRequest is a request with all expressions evaluated.
type preparedRequest struct {
	*request
	call    call
	op      string // for errors: call, method, and path as written in the mapping
	url     string
	query   url.Values
	headers map[string]string
	body    []byte // JSON; nil if there is none
	// For a GraphQL request, instead of a body: the document with its variables, and the
	// number of its repetitions.
	document    string
	variables   map[string]any
	repetitions int

	file *file
	id   string // X-Request-Id, the same for all attempts
}

// A file is a file part of a multipart body. Its field is a field of the form or, for a
// GraphQL request, a variable.
type file struct{ field, name, mediaType, content string }

// prepare evaluates the expressions of r and returns the request to send.
func (c *client) prepare(ctx context.Context, k call, r *request, input any, variables ...any) (*preparedRequest, error) {
	m := &preparedRequest{request: r, call: k, op: k.op() + ": " + r.name, id: rand.Text()}
	path, err := r.urlPath(ctx, input, variables...)
	if err != nil {
		return nil, err
	}
	if m.query, err = r.evalQuery(ctx, input, variables...); err != nil {
		return nil, err
	}
	if m.headers, err = r.evalHeaders(ctx, input, variables...); err != nil {
		return nil, err
	}
	m.url = c.base + path
	if r.GraphQL != nil {
		return m, m.setDocument(ctx, input, variables...)
	}
	if r.Body != nil {
		v, err := r.Body.eval(ctx, input, variables...)
		if err != nil {
			return nil, err
		}
		if m.body, err = gojq.Marshal(v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// addParameter adds a parameter to the query or, for a GraphQL request, a variable.
func (m *preparedRequest) addParameter(name string, value any) {
	if m.GraphQL != nil {
		m.variables[name] = value
		return
	}
	text, _ := expr.Text(value)
	m.query.Add(name, text)
}

// urlPath returns the path of the request.
func (r *request) urlPath(ctx context.Context, input any, variables ...any) (string, error) {
	if r.GraphQL != nil {
		input, variables = nil, nil // the path of the connection is the same for all requests
	}
	v, err := r.Path.eval(ctx, input, variables...)
	if err != nil {
		return "", err
	}
	path, _ := v.(string)
	if path == "" || strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../") {
		return "", fmt.Errorf("%s: %w", r.Path.at, expr.ErrSegment)
	}
	return path, nil
}

// evalQuery returns the query parameters of the request.
func (r *request) evalQuery(ctx context.Context, input any, variables ...any) (url.Values, error) {
	query := url.Values{}
	for name, e := range r.Query {
		v, err := e.eval(ctx, input, variables...)
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		if !ok && v != nil {
			list = []any{v}
		}
		for _, v := range list {
			text, ok := expr.Text(v)
			if flag, is := v.(bool); is {
				text, ok = strconv.FormatBool(flag), true
			}
			if !ok {
				return nil, fmt.Errorf("%s: the parameter %s must be a string, a number, a boolean or a list of these", e.at, name)
			}
			query.Add(name, text)
		}
	}
	return query, nil
}

// evalHeaders returns the headers of the request.
func (r *request) evalHeaders(ctx context.Context, input any, variables ...any) (map[string]string, error) {
	evaluated := make(map[string]string, len(r.Headers))
	for name, e := range r.Headers {
		v, err := e.eval(ctx, input, variables...)
		if err != nil {
			return nil, err
		}
		text, ok := expr.Text(v)
		if v != nil && (!ok || !httpguts.ValidHeaderFieldValue(text)) {
			return nil, fmt.Errorf("%s: is not a valid value of the header %s", e.at, name)
		}
		if v != nil {
			evaluated[name] = text
		}
	}
	return evaluated, nil
}

// send prepares a request and sends it, retrying reads.
func (c *client) send(ctx context.Context, k call, r *request, input any, variables ...any) (*response, error) {
	m, err := c.prepare(ctx, k, r, input, variables...)
	if err != nil {
		return nil, errorOf(ctx, adapter.Internal, k.op(), err)
	}
	return c.sendWithRetry(ctx, m)
}

// startSpan starts the span of one attempt to send a request. It has the path or the operation
// as the mapping writes it, because the values sent may hold personal data.
func (c *client) startSpan(ctx context.Context, m *preparedRequest) (context.Context, tracing.Span) {
	ctx, span := tracing.Start(ctx, tracing.Client, m.name, "")
	span.SetString("http.request.method", m.Method)
	span.SetString("url.template", m.Path.text)
	span.SetString("server.address", c.host)
	span.SetString("portico.call", m.call.operation)
	span.SetString("portico.resource", m.call.resource)
	span.SetString("portico.backend_request_id", m.id)
	return ctx, span
}

// sendOnce makes one attempt to send a request, within the limits on time and on requests
// in flight.
func (c *client) sendOnce(ctx context.Context, m *preparedRequest, credentials map[string]string) (*response, error) {
	ctx, span := c.startSpan(ctx, m)
	defer span.End()
	limit := c.connection.Limits.Timeout
	limitedCtx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	if err := c.inFlight.Acquire(limitedCtx, 1); err != nil {
		span.Fail("no_slot")
		return nil, c.transportError(ctx, limitedCtx, m, err)
	}
	c.metrics.inFlight.Inc()
	defer func() { c.inFlight.Release(1); c.metrics.inFlight.Dec() }()

	start, outcome := time.Now(), "canceled"
	defer func() {
		duration := time.Since(start)
		c.metrics.requests.WithLabelValues(m.call.resource, m.call.operation, outcome).Inc()
		c.metrics.duration.WithLabelValues(m.call.resource, m.call.operation).Observe(duration.Seconds())
		c.log.DebugContext(ctx, "backend request", "request", m.op, "backend_request_id", m.id, "outcome", outcome, "duration", duration)
		if outcome != "ok" {
			span.Fail(outcome)
		}
	}()
	r, err := c.roundTrip(limitedCtx, m, credentials, span)
	if err != nil {
		err = c.transportError(ctx, limitedCtx, m, err)
	}
	if c.sent != nil {
		c.sent(m.asSent(r, err))
	}
	switch {
	case err == nil:
		outcome = "ok"
	case ctx.Err() == nil:
		outcome = adapter.KindOf(err).String()
	}
	return r, err
}

var errTimeout = errors.New("no response in time")

// transportError returns the error of a request without a response. It omits the URL,
// whose query may contain personal data.
func (c *client) transportError(ctx, limitedCtx context.Context, m *preparedRequest, err error) error {
	if _, known := errors.AsType[*adapter.Error](err); known {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limitedCtx.Err() != nil {
		err = fmt.Errorf("%w, %s", errTimeout, c.connection.Limits.Timeout)
	}
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		err = inURL.Err
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: m.op, Err: err}
}

// setBody sets the body of a request that is sent.
func (m *preparedRequest) setBody(r *resty.Request) error {
	body := m.body
	if m.GraphQL != nil {
		var err error
		if body, err = gojq.Marshal(map[string]any{"query": m.document, "variables": m.variables}); err != nil {
			return err
		}
	}
	switch f := m.file; {
	case f != nil && m.GraphQL != nil:
		r.SetMultipartFields(f.graphqlFields(body)...)
	case f != nil:
		r.SetMultipartField(f.field, f.name, f.mediaType, strings.NewReader(f.content))
	case body != nil:
		r.SetHeader("Content-Type", "application/json").SetBody(body)
	}
	return nil
}

// roundTrip sends a request and interprets the response. Its errors are transport errors
// or adapter errors.
func (c *client) roundTrip(ctx context.Context, m *preparedRequest, credentials map[string]string, span tracing.Span) (*response, error) {
	r := c.resty.R().SetContext(ctx).SetHeader("X-Request-Id", m.id).SetHeaders(credentials).SetHeaders(m.headers).SetQueryParamsFromValues(m.query)
	if err := m.setBody(r); err != nil {
		return nil, err
	}
	tracing.Inject(ctx, r.Header)
	raw, err := r.Execute(m.Method, m.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.RawBody().Close() }()
	span.SetInt("http.response.status_code", raw.StatusCode())
	resp := &response{request: m, status: raw.StatusCode(), header: raw.Header()}
	limit := int64(c.connection.Limits.ResponseBytes)
	var body bytes.Buffer
	body.Grow(int(min(max(raw.RawResponse.ContentLength, 0), limit)) + bytes.MinRead)
	_, err = body.ReadFrom(http.MaxBytesReader(nil, raw.RawBody(), limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, malformed(resp, fmt.Errorf("the body is larger than response_bytes, %d", limit))
	}
	if err != nil {
		return nil, err
	}
	resp.body = body.Bytes()
	return resp, c.interpretResponse(ctx, resp)
}
