package mapping

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Response is a response ready to be written.
type Response struct {
	Status      int
	ContentType string
	Location    string
	RetryAfter  int // seconds after which a retry may succeed; 0 if unknown
	Body        []byte
	// Stream, unless nil, writes a body of unknown length in place of Body, and returns
	// the number of records it wrote. It must be called exactly once. After an error the
	// body is incomplete, and the connection must be broken so that the client notices;
	// [Service.LogInterruptedList] logs the error.
	Stream func(context.Context, io.Writer) (records int64, err error)

	// CacheOutcome says how the cache answered the call: "hit", "miss", "stale",
	// "coalesced" or "bypass"; it is empty for replies that are not cached. Other
	// responses may share the Body of a cached reply, so it must not be modified. Age is
	// the age of the reply, EntityTag the value of its ETag header or empty.
	CacheOutcome string
	Age          time.Duration
	EntityTag    string

	// These fields describe the call for logs and metrics.
	Call    string
	Role    string
	Format  string
	Problem string // the OAuth problem that refused the call, if any
	// Refusal says in words why the call was refused or has failed, without values of the
	// request; it is empty for cached replies.
	Refusal string
	KeyID   int64 // id of the API key with which the call was authenticated, 0 without one
	Legacy  bool  // whether the legacy system has answered
	// ClientError reports that the client caused a status of 500 or above: it sent a
	// request for which the contract demands that status, or it has gone.
	ClientError bool
}

const htmlType = "text/html; charset=UTF-8"

// IsAPIRequest reports whether the path of r belongs to the API (wire 2).
func IsAPIRequest(r *http.Request) bool {
	if r.URL.RawPath == "" { // EscapedPath would escape nothing in Base
		return strings.HasPrefix(r.URL.Path, contract.Base)
	}
	return strings.HasPrefix(r.URL.EscapedPath(), contract.Base)
}

// A Request is a request as the methods of [Service] take it. It must not be used by two
// goroutines at the same time.
type Request struct {
	HTTP   *http.Request
	Scheme string // http or https, as used by the client
	// Client is the network address of the client, or empty. Authentication uses it to tell
	// clients apart that send the same nonce.
	Client string

	address contract.Address // valid if matched
	matched bool
}

// Address returns what r is addressed to. It looks for the route only once. For a request
// outside the API only the fields that describe the method are set.
func (s *Service) Address(r *Request) *contract.Address {
	if !r.matched {
		r.address, _ = s.table.Address(r.HTTP.Method, r.HTTP.URL.EscapedPath())
		r.matched = true
	}
	return &r.address
}

// Anonymous reports whether r carries no credentials, so that its caller is a Guest.
func (s *Service) Anonymous(r *http.Request) bool {
	return s.auth.Anonymous(r.Header.Get("Authorization"))
}

// ServeCached answers r, which must be an API request, from the memory tier of the reply
// cache. It runs no step of the pipeline, but returns the same response as
// [Service.Serve]. It may use buf for the body. ok is false if there is no such reply.
func (s *Service) ServeCached(r *Request, buf []byte) (response Response, ok bool) {
	if s.replyCache == nil {
		return response, false
	}
	fingerprint, ok := s.replyCache.fingerprint(r.HTTP, r.Scheme)
	if !ok {
		return response, false
	}
	value, ok := s.replyCache.GetLocal(r.HTTP.Context(), fingerprint)
	if !ok {
		return response, false
	}
	return s.cachedResponse(value, "hit", 0, buf)
}

// Serve answers r, which must be an API request. It appends the body to buf, which a
// Stream also uses as its buffer.
func (s *Service) Serve(ctx context.Context, r *Request, buf []byte) Response {
	c := s.newCall(ctx, r)
	defer s.release(c)
	response := s.respond(ctx, c, buf)
	response.describe(c)
	return response
}

// newCall returns the call for r before any step.
func (s *Service) newCall(ctx context.Context, r *Request) *Call {
	shadowRead, _ := ctx.Value(shadowReadKey{}).(bool)
	return &Call{Address: *s.Address(r), request: r.HTTP, scheme: r.Scheme, clientAddress: r.Client, shadowRead: shadowRead}
}

type shadowReadKey struct{}

// WithShadowRead returns ctx for a read that the other system of a migration has already
// answered, and that is repeated for comparison only. The original read has used its
// nonce and was counted against its consumer's rate, so the repetition checks neither.
func WithShadowRead(ctx context.Context) context.Context {
	return context.WithValue(ctx, shadowReadKey{}, true)
}

// describe sets the fields that describe c.
func (r *Response) describe(c *Call) {
	r.Call = c.Name()
	r.Role = c.Principal.Role.String()
	r.Format = c.Format.String()
	r.KeyID = c.Principal.KeyID
}

// respond runs c and renders its response. If it panics, the client gets an internal
// error, and the log a stack trace.
func (s *Service) respond(ctx context.Context, c *Call, buf []byte) (response Response) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			response = s.renderError(ctx, c, ErrPanicked, buf)
		}
	}()
	if err := s.runSteps(ctx, c); err != nil {
		return s.renderError(ctx, c, err, buf)
	}
	if at, ok := s.replyCache.cacheable(c); ok {
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

// logPanic logs a panic with its stack trace.
func (s *Service) logPanic(ctx context.Context, c *Call, p any) {
	s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("call", c.Name()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

func (s *Service) renderReply(ctx context.Context, c *Call, reply *Reply, buf []byte) Response {
	response := Response{Status: reply.Status, Location: reply.Location, ContentType: htmlType}
	if response.Status == 0 {
		response.Status = http.StatusOK
	}
	switch {
	case reply.NextBatch != nil:
		slots := s.listBudget(c)
		if err := slots.Take(ctx, 1); err != nil {
			return s.renderError(ctx, c, err, buf)
		}
		response.ContentType = c.Format.ContentType()
		response.Stream = func(ctx context.Context, w io.Writer) (int64, error) {
			defer slots.Return(1)
			return s.stream(ctx, c, reply, buf, w)
		}
	case reply.Body != nil:
		response.ContentType = c.Format.ContentType()
		_, span := tracing.Start(ctx, tracing.Internal, "render", c.Format.String())
		response.Body = codec.Append(buf, c.Format, s.dialect.Root, reply.Body, reply.Numbered)
		span.SetInt("portico.bytes", len(response.Body)-len(buf))
		span.End()
		if reply.release != nil {
			reply.release()
		}
	}
	return response
}

func (s *Service) renderError(ctx context.Context, c *Call, err error, buf []byte) Response {
	faults, unexpected := s.faultsOf(c, err)
	if unexpected && shouldLog(err) {
		s.logFailure(ctx, c.Name(), "call failed", err)
	}
	last := faults[len(faults)-1]
	clientError := !unexpected || errors.Is(err, context.Canceled)
	refusal := last.Reason()
	if unexpected {
		refusal = failure(err)
	}
	if last.Bare {
		return Response{Status: last.Status(), ContentType: htmlType, Body: append(buf, last.Message...), ClientError: clientError, Refusal: refusal}
	}
	response := Response{
		Status:      last.Status(),
		ContentType: c.Format.ContentType(),
		Body:        codec.Append(buf, c.Format, s.dialect.Root, envelope(faults), false),
		ClientError: clientError,
		Refusal:     refusal,
	}
	switch last.Code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		response.RetryAfter = max(1, RetryAfter(err))
	case http.StatusUnauthorized:
		response.Problem = problemName(last.Message)
	}
	return response
}

// failure describes an error that the client has not caused, without its text, which may
// hold values of records.
func failure(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "the client has gone"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, ErrPanicked):
		return "panic"
	default:
		return adapter.KindOf(err).String()
	}
}

// problemName returns the name in the text of an OAuth problem, for use as a label.
func problemName(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "oauth_problem="), "&")
	return name
}
