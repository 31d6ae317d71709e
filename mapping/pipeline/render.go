package pipeline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/resource"
)

func (s *Pipeline) renderReply(ctx context.Context, c *Run, reply *resource.Reply, buf []byte) resource.Response {
	response := resource.Response{Status: reply.Status, Location: reply.Location, ContentType: resource.HTMLType}
	response.Status = cmp.Or(response.Status, http.StatusOK)
	switch {
	case reply.NextBatch != nil:
		slots := s.lists.For(c.IsGuest())
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
		if reply.Release != nil {
			reply.Release()
		}
	}
	return response
}

func (s *Pipeline) renderError(ctx context.Context, c *Run, err error, buf []byte) resource.Response {
	faults, unexpected := s.faultsOf(c, err)
	if unexpected && shouldLog(err) {
		resource.LogFailure(ctx, s.log, c.Name(), "call failed", err)
	}
	last := faults[len(faults)-1]
	clientError := !unexpected || errors.Is(err, context.Canceled)
	refusal := last.Reason()
	if unexpected {
		refusal = failure(err)
	}
	if last.Bare {
		return resource.Response{Status: last.Status(), ContentType: resource.HTMLType, Body: append(buf, last.Message...), ClientError: clientError, Refusal: refusal}
	}
	response := resource.Response{
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
