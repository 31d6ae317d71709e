package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A roundTrip is one round trip to the legacy store. It is an http.RoundTripper.
type roundTrip struct {
	*System
	call  *Call
	body  *requestBody
	reply *replyBody // nil before the headers of the reply
}

// RoundTrip sends a request and returns the reply after its headers.
func (t *roundTrip) RoundTrip(r *http.Request) (response *http.Response, err error) {
	resource, operation := t.call.resource(), t.call.operation()
	connected := false
	err = t.Guard(r.Context(), resource, operation, func(limited context.Context) error {
		// ctx ends with the body of the reply, limited before that.
		ctx, cancel := context.WithCancelCause(r.Context())
		stop := context.AfterFunc(limited, func() { cancel(context.Cause(limited)) })
		defer stop()
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
		var err error
		response, err = t.transport.RoundTrip(r.WithContext(traced))
		if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
			err = errors.Join(errNoReply, response.Body.Close()) // a reply to an upgrade that was not requested
		}
		if err == nil {
			t.reply = &replyBody{ReadCloser: response.Body, end: cancel}
			response.Body = t.reply
			return nil
		}
		cancel(err)
		if failed := t.body.failed.Load(); failed != nil {
			return fmt.Errorf("passthrough: %w: %w", ErrRequestBody, *failed)
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
		return &adapter.Error{Kind: adapter.Unavailable, Op: operation + " " + resource, Err: loggable(err)}
	})
	switch {
	case err == nil:
		return response, nil
	case !connected: // refused by the guard, or there was no connection in time
		return nil, &NotSentError{err}
	default:
		return nil, err
	}
}

// A NotSentError is the error of a request that has not reached the legacy store, so that it
// cannot have been executed.
type NotSentError struct{ error }

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.error }

// broken returns the reason why the reply ended early, or nil if it is complete.
func (t *roundTrip) broken() error {
	if t.reply == nil {
		return nil
	}
	return t.reply.failed
}

var errNoReply = errors.New("the legacy store did not send a valid HTTP reply")

// loggable returns an error that can be logged. The original error may quote bytes that the
// legacy store sent instead of a reply, which may be confidential.
func loggable(err error) error {
	var (
		network net.Error
		trust   *tls.CertificateVerificationError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &network), errors.As(err, &trust), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &record):
		return errors.New("the legacy store does not speak TLS")
	default:
		return errNoReply
	}
}

// requestBody is the body of a request as the transport reads it.
type requestBody struct {
	io.ReadCloser
	failed atomic.Pointer[error]
}

// Read reads a piece and records the error.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed.Store(&err)
	}
	return n, err
}

// replyBody is the body of a reply.
type replyBody struct {
	io.ReadCloser
	end    context.CancelCauseFunc // cancels the context of the request
	failed error
}

// Read reads a piece and records an error other than io.EOF.
func (b *replyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

// Close ends the request. If the body has not been read completely, the connection is
// closed.
func (b *replyBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}

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
