package reststore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/itchyny/gojq"

	"github.com/portico-commerce/portico/adapter"
)

// A client sends requests. It is safe for concurrent use.
type client struct {
	resty      *resty.Client
	transport  *http.Transport
	base       string // the URL without a slash at its end
	connection *connection
	slots      chan struct{} // holds one for each request in flight
	budget     budget
	metrics    *metrics
	log        *slog.Logger
}

// maxRedirects bounds how often a read follows redirects, within the backend's host.
const maxRedirects = 3

func newClient(o *Options, m *mapping, requestMetrics *metrics) (*client, error) {
	base, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the backend is none")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("the URL of the backend must be as https://shop.example")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("the URL of the backend has a user, a query or a fragment: the user and the secret have settings of their own")
	}
	tlsConfig, err := o.TLS.config()
	if err != nil {
		return nil, err
	}
	c := &client{
		base:       strings.TrimRight(base.String(), "/"),
		connection: &m.connection,
		slots:      make(chan struct{}, m.connection.limits.inFlight),
		budget:     budget{perRequest: m.connection.retry.budget, tokens: maxBudget},
		metrics:    requestMetrics,
		log:        o.Logger,
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:        tlsConfig,
			TLSHandshakeTimeout:    5 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxConnsPerHost:        m.connection.limits.inFlight,
			MaxIdleConns:           m.connection.limits.inFlight,
			MaxIdleConnsPerHost:    m.connection.limits.inFlight,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
	// Retries are our own: those of resty know neither a budget nor which requests may
	// be sent twice. It does not parse replies either, which have bounds here.
	c.resty = resty.New().
		SetTransport(c.transport).
		SetDoNotParseResponse(true).
		SetDisableWarn(true).
		SetLogger(discardLogger{}).
		SetHeader("User-Agent", "Portico").
		SetHeader("Accept", "application/json").
		SetRedirectPolicy(resty.RedirectPolicyFunc(redirectWithinHost))
	c.resty.GetClient().Jar = nil // a session of one call is none of another's
	for _, h := range m.connection.headers {
		c.resty.SetHeader(h.name, h.value)
	}
	return c, nil
}

// follow lets reads follow a redirect within the host they were sent to. What else
// redirects is an error: the credentials are not for other hosts, and a write would be
// sent a second time.
func redirectWithinHost(next *http.Request, before []*http.Request) error {
	first := before[0]
	if first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// silent keeps resty from logging: what it logs may hold secrets.
type discardLogger struct{}

func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Warnf(string, ...any)  {}
func (discardLogger) Debugf(string, ...any) {}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("the file of trusted certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate and its key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// A reply is an answer of success.
type response struct {
	request *preparedRequest
	status  int
	header  http.Header
	body    []byte
}

// A message is a request that is ready to be sent.
type preparedRequest struct {
	call             call
	op               string // for errors: the call, method and path as the mapping has it
	returnsDocuments bool   // the reply is documents
	method           string
	url              string
	header           []header
	body             []byte // JSON; nil for none
	file             *file
	id               string // of the request, the same when it is sent again
}

// A file is a part of a multipart body.
type file struct{ field, name, mediaType, content string }

// message works out a request from an input.
func (c *client) prepare(ctx context.Context, k call, r *request, input any, variables ...any) (*preparedRequest, error) {
	m := &preparedRequest{call: k, op: k.op() + ": " + r.method + " " + r.path.text, returnsDocuments: r.returnsDocuments, method: r.method, header: r.headers, id: rand.Text()}
	path, err := r.path.path(ctx, input, variables...)
	if err != nil {
		return nil, err
	}
	query, err := queryOf(ctx, r.query, input, variables...)
	if err != nil {
		return nil, err
	}
	m.url = c.base + path + query
	if r.body != nil {
		v, err := r.body.eval(ctx, input, variables...)
		if err != nil {
			return nil, err
		}
		if m.body, err = gojq.Marshal(v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// queryOf returns the query of a URL, "" when it is empty.
func queryOf(ctx context.Context, parameters []parameter, input any, variables ...any) (string, error) {
	var b strings.Builder
	for _, p := range parameters {
		v, err := p.value.eval(ctx, input, variables...)
		if err != nil {
			return "", err
		}
		list, ok := v.([]any)
		if !ok && v != nil {
			list = []any{v}
		}
		for _, v := range list {
			text, ok := numberText(v)
			if flag, is := v.(bool); is {
				text, ok = fmt.Sprint(flag), true
			}
			if !ok {
				return "", fmt.Errorf("%s: the parameter %s is neither a text, a number nor a list of these", p.value.at, p.name)
			}
			b.WriteByte("?&"[min(b.Len(), 1)])
			b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(text))
		}
	}
	return b.String(), nil
}

// send works out a request, sends it, and reads again where that is allowed.
func (c *client) send(ctx context.Context, k call, r *request, input any, variables []any) (*response, error) {
	m, err := c.prepare(ctx, k, r, input, variables...)
	if err != nil {
		return nil, errorOf(ctx, adapter.Internal, k.op(), err)
	}
	return c.sendWithRetry(ctx, m)
}

// once sends a message one time.
func (c *client) sendOnce(ctx context.Context, m *preparedRequest, credentials header) (*response, error) {
	limit := c.connection.limits.timeout
	limitedCtx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
	case <-limitedCtx.Done():
		return nil, c.transportError(ctx, limitedCtx, m, fmt.Errorf("%d requests were in flight all the time", cap(c.slots)))
	}
	c.metrics.inFlight.Inc()
	defer func() { <-c.slots; c.metrics.inFlight.Dec() }()

	start, outcome := time.Now(), "canceled"
	defer func() {
		duration := time.Since(start)
		c.metrics.observe(m.call, outcome, duration)
		c.log.DebugContext(ctx, "a request to the backend", "request", m.op, "request_id", m.id, "outcome", outcome, "duration", duration)
	}()
	r, err := c.roundTrip(limitedCtx, m, credentials)
	if err != nil {
		err = c.transportError(ctx, limitedCtx, m, err)
	}
	switch {
	case err == nil:
		outcome = "ok"
	case ctx.Err() == nil:
		outcome = adapter.KindOf(err).String()
	}
	return r, err
}

var errTimeout = errors.New("no answer in time")

// failure returns the error of a request that was not answered. The URL is left out,
// which may hold what was looked for.
func (c *client) transportError(ctx, limitedCtx context.Context, m *preparedRequest, err error) error {
	var known *adapter.Error
	if errors.As(err, &known) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limitedCtx.Err() != nil {
		err = fmt.Errorf("%w, %s", errTimeout, c.connection.limits.timeout)
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: m.op, Err: err}
}

// exchange sends a message and reads the reply. Its errors are those of the transport,
// or of package adapter.
func (c *client) roundTrip(ctx context.Context, m *preparedRequest, credentials header) (*response, error) {
	r := c.resty.R().SetContext(ctx).SetHeader("X-Request-Id", m.id)
	if credentials.name != "" {
		r.SetHeader(credentials.name, credentials.value)
	}
	for _, h := range m.header {
		r.SetHeader(h.name, h.value)
	}
	if m.body != nil {
		r.SetHeader("Content-Type", "application/json").SetBody(m.body)
	}
	if f := m.file; f != nil {
		r.SetMultipartField(f.field, f.name, f.mediaType, strings.NewReader(f.content))
	}
	answer, err := r.Execute(m.method, m.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.RawBody().Close() }()
	body, err := readAll(answer.RawBody(), answer.RawResponse.ContentLength, c.connection.limits.responseBytes)
	if errors.Is(err, errTooLarge) {
		return nil, c.malformedResponse(m, answer.Header(), fmt.Errorf("%w, %d", err, c.connection.limits.responseBytes))
	}
	if err != nil {
		return nil, err
	}
	return c.interpret(ctx, m, answer.StatusCode(), answer.Header(), body)
}

var errTooLarge = errors.New("it is larger than response_bytes")

// readAll reads a body of at most limit bytes. What is longer ends its connection.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	if length > 0 {
		b.Grow(int(length) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = errTooLarge
	}
	return b.Bytes(), err
}

// jsonType reports whether a media type says JSON, or nothing.
func jsonType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json") || t == "text/json")
}
