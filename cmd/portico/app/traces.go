package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// newTraces returns the trace provider that cfg configures, or nil if nothing is traced.
func newTraces(ctx context.Context, p *program.Program, cfg *config.Config, log *slog.Logger) (*otlp.Provider, error) {
	t := cfg.Tracing
	if t.Endpoint == "" {
		return nil, nil
	}
	return otlp.New(ctx, otlp.Options{Endpoint: t.SpansURL(), Header: t.Headers, Sample: t.Sample, Log: log})
}

// lastTraces limits the time to send the last traces of a program that could not start.
const lastTraces = time.Second

// closeTraces closes a provider, which may be nil. A server closes its provider within the shutdown
// timeout; closeTraces then has no effect.
func closeTraces(traces *otlp.Provider) error {
	if traces == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	return traces.Close(ctx)
}
