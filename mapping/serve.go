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

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Response is an answer ready to be written.
type Response struct {
	Status      int
	ContentType string
	Location    string
	RetryAfter  int // whole seconds after which a repeated call may succeed; 0: nobody knows
	Body        []byte
	// Stream, unless nil, writes a body whose length is not known in place of Body, and
	// returns how many records it wrote. It must be called once. After an error the body
	// is not whole, and the client must not take it for that; [Service.ReportCut] logs
	// the error.
	Stream func(context.Context, io.Writer) (records int64, err error)

	// Kept says how a reply of those that are kept came about: "hit", "miss",
	// "stale", "coalesced" or "bypass"; it is empty for others. The Body of such a
	// one may be others' too, and must not be changed. Age is how old the reply is,
	// EntityTag, if not empty, the value of its ETag.
	CacheOutcome string
	Age          time.Duration
	EntityTag    string

	// What the answer was, for logs and metrics.
	Call    string
	Role    string
	Format  string
	Problem string // the OAuth problem, if that refused the call
	Legacy  bool   // whether the old system has answered
	// ClientError: what the client sent, or that it has gone, is the cause of a status of
	// 500 or above, which the contract demands for some requests.
	ClientError bool
}

const htmlType = "text/html; charset=UTF-8"

// Owns reports whether r is for this service; all other paths do not belong to
// the interface (wire 2).
func IsAPIRequest(r *http.Request) bool { return strings.HasPrefix(r.URL.EscapedPath(), contract.Base) }

// Anonymous reports whether r carries no credentials, so that its caller is a Guest.
func (s *Service) Anonymous(r *http.Request) bool {
	return s.auth.Anonymous(r.Header.Get("Authorization"))
}

// Repeat answers r, which must be owned, with a reply that is at hand, if there is
// one: without a step of the pipeline, and as [Service.Serve] would. buf is room for
// the body. scheme is http or https as the client used it.
func (s *Service) ServeCached(r *http.Request, scheme string, buf []byte) (response Response, ok bool) {
	if s.replyCache == nil {
		return response, false
	}
	request, ok := s.replyCache.fingerprint(r, scheme)
	if !ok {
		return response, false
	}
	value, ok := s.replyCache.Near(request)
	if !ok {
		return response, false
	}
	return s.cachedResponse(value, "hit", 0, buf)
}

// Serve answers r, which must be owned, and appends the body to buf, which is also
// the buffer of a Stream. scheme is as in [Service.Repeat].
func (s *Service) Serve(ctx context.Context, r *http.Request, scheme string, buf []byte) Response {
	c := s.newCall(ctx, r, scheme)
	defer s.release(c)
	response := s.respond(ctx, c, buf)
	response.describe(c)
	return response
}

// newCall returns the call that r is, before any step.
func (s *Service) newCall(ctx context.Context, r *http.Request, scheme string) *Call {
	address, _ := s.table.Address(r.Method, r.URL.EscapedPath())
	shadowRead, _ := ctx.Value(shadowReadKey{}).(bool)
	client, _ := ctx.Value(clientAddressKey{}).(string)
	return &Call{Address: address, request: r, scheme: scheme, clientAddress: client, shadowRead: shadowRead}
}

type clientAddressKey struct{}

// WithClient returns ctx for a request that comes from a network address.
func WithClientAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, clientAddressKey{}, address)
}

type shadowReadKey struct{}

// AskedAgain returns ctx for a read that the other side of a migration has answered,
// and that is asked again only to be compared: its nonce has been used by itself,
// and its consumer's rate has been charged.
func WithShadowRead(ctx context.Context) context.Context {
	return context.WithValue(ctx, shadowReadKey{}, true)
}

// describe notes what c was.
func (r *Response) describe(c *Call) {
	r.Call = c.Name()
	r.Role = c.Principal.Role.String()
	r.Format = c.Format.String()
}

// respond runs c and renders its answer. A panic is a mistake of ours that one
// client sees as an internal error, and the log with its stack.
func (s *Service) respond(ctx context.Context, c *Call, buf []byte) (response Response) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			response = s.renderError(ctx, c, errPanicked, buf)
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

// logPanic logs a panic with the stack of where it happened.
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
		response.Body = codec.Append(buf, c.Format, s.dialect.Root, reply.Body, reply.Numbered)
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
	if last.Bare {
		return Response{Status: last.Status(), ContentType: htmlType, Body: append(buf, last.Message...), ClientError: clientError}
	}
	response := Response{
		Status:      last.Status(),
		ContentType: c.Format.ContentType(),
		Body:        codec.Append(buf, c.Format, s.dialect.Root, envelope(faults), false),
		ClientError: clientError,
	}
	switch last.Code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		response.RetryAfter = max(1, RetryAfter(err))
	case http.StatusUnauthorized:
		response.Problem = problemName(last.Message)
	}
	return response
}

// problemName cuts an OAuth problem's text down to its name, fit for a label.
func problemName(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "oauth_problem="), "&")
	return name
}
