package proxy

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/contract"
)

// startSpan starts the span of a request to the legacy store, until its reply has been sent to
// the client.
func (c *Call) startSpan(ctx context.Context, host, method string) (context.Context, tracing.Span) {
	if !tracing.Recording(ctx) {
		return ctx, tracing.Span{}
	}
	route := ""
	if c.Address.Route != nil {
		route = contract.Base + c.Address.Route.Path
	}
	label := contract.MethodLabel(method)
	ctx, span := tracing.Start(ctx, tracing.Client, label, route)
	span.SetString("http.request.method", label)
	span.SetString("url.template", route)
	span.SetString("server.address", host)
	span.SetString("portico.upstream", "legacy")
	return ctx, span
}

// setTrace makes the request belong to the span that ctx holds. Without one the legacy store
// gets the headers that the client has sent.
func setTrace(ctx context.Context, header http.Header, call *Call) {
	tracing.Inject(ctx, header)
	if call.shared {
		header.Del(tracing.StateHeader) // which the client has written
	}
}

// endSpan ends the span of a request.
func endSpan(span tracing.Span, err error, status int) {
	if span.Recording() {
		if status != 0 {
			span.SetInt("http.response.status_code", status)
		}
		if failure := failureOf(err, status); failure != "" {
			span.Fail(failure)
		}
	}
	span.End()
}

// failureOf returns in one word the reason why a request failed, or "" if it did not. A client
// that has gone is no failure of the legacy store.
func failureOf(err error, status int) string {
	var broken *Broken
	switch {
	case errors.As(err, &broken) && broken.Gone, errors.Is(err, ErrRequestBody):
		return ""
	case broken != nil:
		return "incomplete_reply"
	case err != nil:
		return adapter.KindOf(err).String()
	case status >= http.StatusInternalServerError:
		return strconv.Itoa(status)
	default:
		return ""
	}
}
