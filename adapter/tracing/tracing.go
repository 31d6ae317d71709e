// Package tracing records the spans of a trace with the API of OpenTelemetry: the parts of the
// work on a request, and the calls for which it waits.
//
// The server starts the first span of a request with [StartServer]. All other packages call
// [Start], which records a span only below one that is recorded: without tracing, for requests
// that are not sampled, and for work that belongs to no request it does nothing and allocates
// nothing. So no other package needs to know whether tracing is on. [Statements] records the statements of a database.
//
// Spans hold names of calls, resources, tables and operations, counts and statuses. They never
// hold values that clients send in queries, bodies and headers, or stored values: errors are
// recorded by their kind, because their texts may quote values.
package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name under which all spans are recorded.
const Scope = "github.com/portico-commerce/portico"

// A Kind is the role of a span in a request between programs.
type Kind = trace.SpanKind

// The kinds of the spans that [Start] starts.
const (
	Internal = trace.SpanKindInternal // work of Portico's own
	Client   = trace.SpanKindClient   // a request to another program
)

// A Span is the record of a part of the work on a request. The zero Span records nothing.
type Span struct{ span trace.Span }

// StartServer starts the span of a request that a server has received, below the span that the
// headers traceparent and tracestate of the request name, or as the first of a new trace. The
// context holds the span, also if it is not sampled.
func StartServer(ctx context.Context, tracer trace.Tracer, header http.Header, name string) (context.Context, Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, Span{span}
}

// Start starts a span that is named after an operation and, unless it is empty, the object of
// the operation. The caller must end the span.
func Start(ctx context.Context, kind Kind, operation, object string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	name := operation
	if object != "" {
		name += " " + object
	}
	ctx, span := parent.TracerProvider().Tracer(Scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Recording reports whether [Start] would record a span below the span of ctx.
func Recording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Recording reports whether anything is recorded, so that attributes are worth computing.
func (s Span) Recording() bool { return s.span != nil && s.span.IsRecording() }

// SetName replaces the name.
func (s Span) SetName(name string) {
	if s.Recording() {
		s.span.SetName(name)
	}
}

// SetString sets an attribute, unless its value is empty.
func (s Span) SetString(key, value string) {
	if value != "" && s.Recording() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt sets an attribute to a number.
func (s Span) SetInt(key string, value int) {
	if s.Recording() {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Fail marks the span as failed. kind is one of few words for the failure, such as the kind of
// an error; it must not quote the error.
func (s Span) Fail(kind string) {
	if s.Recording() {
		s.span.SetAttributes(attribute.String("error.type", kind))
		s.span.SetStatus(codes.Error, kind)
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// ID returns the id of the trace that ctx belongs to, 32 hexadecimal digits, or "" without
// tracing. The trace may not be sampled.
func ID(ctx context.Context) string {
	if id := trace.SpanContextFromContext(ctx).TraceID(); id.IsValid() {
		return id.String()
	}
	return ""
}

// Sampled reports whether the trace that ctx belongs to is recorded, so that [ID] can be looked
// up.
func Sampled(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }

// Inject replaces the headers traceparent and tracestate of a request to send by the headers of
// the span that ctx holds. Without a span it leaves them unchanged.
func Inject(ctx context.Context, header http.Header) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	header.Del(StateHeader) // of another trace if its traceparent was invalid
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// StateHeader is the header that carries the notes of callers' tracing systems.
const StateHeader = "Tracestate"
