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
	return NewLeveledLogger(w, cfg, cfg.LogLevel)
}

// NewLeveledLogger returns a logger with the configured format and a level that may change.
// Lines about a request have its id.
func NewLeveledLogger(w io.Writer, cfg *config.Config, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if cfg.LogFormat == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(httpapi.NewLogHandler(handler))
}
