package program

import (
	"io"
	"log/slog"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// WarningsOnly returns a copy of cfg with which only warnings and errors are logged, for
// commands that print their result.
func WarningsOnly(cfg *config.Config) *config.Config {
	quieter := *cfg
	quieter.LogLevel = max(quieter.LogLevel, slog.LevelWarn)
	return &quieter
}

// NewLogger returns a logger with the configured level and format.
func NewLogger(w io.Writer, cfg *config.Config) *slog.Logger {
	return slog.New(httpapi.NewLogHandler(newLogHandler(w, cfg, cfg.LogLevel)))
}

// NewBufferedLogger returns a logger with the configured format and a level that may change. Lines
// about a request have its id. Warnings and errors are written immediately, after all earlier
// lines; other lines are written within a tenth of a second, or when flush is called. The program
// must call flush last.
func NewBufferedLogger(w io.Writer, cfg *config.Config, level slog.Leveler) (log *slog.Logger, flush func()) {
	buffer := newLogBuffer(w)
	handler := flushingHandler{newLogHandler(buffer, cfg, level), buffer}
	return slog.New(httpapi.NewLogHandler(handler)), buffer.flush
}

// newLogHandler returns a handler that writes lines in the configured format.
func newLogHandler(w io.Writer, cfg *config.Config, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
