package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// newTraces returns what records traces as cfg says, or nil if nothing is traced.
func newTraces(ctx context.Context, p *program.Program, cfg *config.Config, log *slog.Logger) (*otlp.Provider, error) {
	t := cfg.Tracing
	if t.Endpoint == "" {
		return nil, nil
	}
	return otlp.New(ctx, otlp.Options{Endpoint: t.SpansURL(), Header: t.Headers, Sample: t.Sample, Log: log})
}

// lastTraces limits the time to send the last traces of a program that could not start.
const lastTraces = time.Second

// closeTraces closes a provider, which may be nil. Package app closes the one of a server
// within its time for shutting down, and then this does nothing.
func closeTraces(traces *otlp.Provider) error {
	if traces == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	return traces.Close(ctx)
}
