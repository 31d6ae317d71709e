// Package otlp sends the spans of package tracing to a collector, with the SDK of
// OpenTelemetry, as protobuf over HTTP (OTLP).
//
// The exporter over HTTP that comes with OpenTelemetry contains all of gRPC, which would make
// the program larger by megabytes, so the package has a client of its own.
package otlp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// Options are the settings of a [Provider].
type Options struct {
	// Endpoint is the URL to which spans are posted.
	Endpoint string
	// Header is sent with each request to Endpoint. It may hold credentials.
	Header http.Header
	// Sample is the share of the traces without a parent that are recorded, 0 to 1. A trace
	// with a parent is recorded if the parent is.
	Sample float64
	Log    *slog.Logger
}

// Limits of the spans that wait to be sent: at most queued spans, whose attributes have at
// most valueLength characters each.
const (
	queued       = 4096
	batch        = 512
	valueLength  = 2048
	attributes   = 32
	batchTimeout = 2 * time.Second
	// exportTimeout limits the time to send a batch, attempts to repeat it included.
	exportTimeout = 10 * time.Second
)

// A Provider records spans and sends them to a collector. It drops the spans that do not fit
// into the queue, so that no request waits for the collector.
type Provider struct{ sdk *sdktrace.TracerProvider }

// New returns a provider. It sends nothing before there are spans. The variables
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment describe the process.
func New(ctx context.Context, o Options) (*Provider, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "portico"), attribute.String("service.version", buildinfo.Read().Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	inner, err := otlptrace.New(ctx, newClient(o.Endpoint, o.Header))
	if err != nil {
		return nil, err
	}
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: valueLength, AttributeCountLimit: attributes,
		}),
		sdktrace.WithBatcher(&exporter{inner: inner, log: o.Log},
			sdktrace.WithMaxQueueSize(queued), sdktrace.WithMaxExportBatchSize(batch),
			sdktrace.WithBatchTimeout(batchTimeout), sdktrace.WithExportTimeout(exportTimeout)),
	)}, nil
}

// Tracer returns the tracer that starts the spans of requests.
func (p *Provider) Tracer() trace.Tracer { return p.sdk.Tracer(tracing.Scope) }

// Close sends the spans that wait, until ctx ends, and ends the provider.
func (p *Provider) Close(ctx context.Context) error {
	err := p.sdk.Shutdown(ctx)
	if err != nil && ctx.Err() != nil {
		return errors.New("the last traces could not be sent in time")
	}
	return err
}

// logInterval is the shortest time between two log lines about spans that were not sent.
const logInterval = time.Minute

// An exporter sends spans, and logs the spans that it could not send. It reports no errors to
// the SDK, which would print them.
type exporter struct {
	inner sdktrace.SpanExporter
	log   *slog.Logger

	mu     sync.Mutex
	lost   int // since the last line
	logged time.Time
}

// ExportSpans sends spans.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.inner.ExportSpans(ctx, spans); err != nil {
		e.logLost(ctx, len(spans), err)
	}
	return nil
}

// logLost logs that spans were not sent, at most once in each logInterval.
func (e *exporter) logLost(ctx context.Context, spans int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += spans
	if now := time.Now(); e.logged.IsZero() || now.Sub(e.logged) >= logInterval {
		e.log.WarnContext(ctx, "traces were not sent", "spans", e.lost, "error", err)
		e.lost, e.logged = 0, now
	}
}

// Shutdown ends the exporter.
func (e *exporter) Shutdown(ctx context.Context) error { return e.inner.Shutdown(ctx) }
