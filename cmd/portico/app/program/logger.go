package program

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

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
	return slog.New(httpapi.NewLogHandler(newLogHandler(w, cfg, cfg.LogLevel), nil))
}

// NewBufferedLogger returns a logger with the configured format and a level that may change. Lines
// about a request have its id. Warnings and errors are written immediately, after all earlier
// lines; other lines are written within a tenth of a second, or when flush is called. The program
// must call flush last.
func NewBufferedLogger(w io.Writer, cfg *config.Config, level slog.Leveler) (log *slog.Logger, flush func()) {
	buffer := newLogBuffer(w)
	handler := flushingHandler{newLogHandler(buffer, cfg, level), buffer}
	return slog.New(httpapi.NewLogHandler(handler, &httpapi.LogLines{To: buffer, JSON: isJSON(cfg)})), buffer.flush
}

// newLogHandler returns a handler that writes lines in the configured format.
func newLogHandler(w io.Writer, cfg *config.Config, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if isJSON(cfg) {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

func isJSON(cfg *config.Config) bool { return cfg.LogFormat == "json" }

const (
	// logDelay is the maximum time that a line below the level of warnings waits to be written
	// together with others: a system call for each line takes longer than formatting it.
	logDelay = 100 * time.Millisecond
	// logBufferSize is the size, in bytes, at which the waiting lines are written earlier.
	logBufferSize = 32 << 10
)

// A logBuffer writes lines of a log to a writer, several at a time. It is safe for concurrent use.
type logBuffer struct {
	mu    sync.Mutex
	lines []byte
	timer *time.Timer // writes the lines

	writing sync.Mutex // is taken while mu is held, so that lines keep their order
	to      io.Writer
	written []byte // becomes lines
}

// newLogBuffer returns a buffer whose lines are written to w within logDelay.
func newLogBuffer(w io.Writer) *logBuffer {
	b := &logBuffer{to: w, lines: make([]byte, 0, 2*logBufferSize)}
	b.timer = time.AfterFunc(logDelay, b.flush)
	return b
}

// Write adds a line. It returns no errors of the writer, because they could not be reported.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.lines) == 0 {
		b.timer.Reset(logDelay)
	}
	if b.lines = append(b.lines, line...); len(b.lines) >= logBufferSize {
		b.writeLines()
	} else {
		b.mu.Unlock()
	}
	return len(line), nil
}

// flush writes all lines.
func (b *logBuffer) flush() {
	b.mu.Lock()
	b.writeLines()
}

// writeLines writes the lines; meanwhile others may add more. It releases mu, which the caller holds.
func (b *logBuffer) writeLines() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.lines, b.written = b.written[:0], b.lines
	b.mu.Unlock()
	if len(b.written) > 0 {
		_, _ = b.to.Write(b.written)
	}
}

// A flushingHandler flushes a logBuffer after each warning or error.
type flushingHandler struct {
	slog.Handler
	buffer *logBuffer
}

// Handle passes the record on.
func (h flushingHandler) Handle(ctx context.Context, record slog.Record) error {
	err := h.Handler.Handle(ctx, record)
	if record.Level >= slog.LevelWarn {
		h.buffer.flush()
	}
	return err
}

// WithAttrs returns a handler whose lines also have attributes.
func (h flushingHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return flushingHandler{h.Handler.WithAttrs(attributes), h.buffer}
}

// WithGroup returns a handler whose attributes are in a group.
func (h flushingHandler) WithGroup(name string) slog.Handler {
	return flushingHandler{h.Handler.WithGroup(name), h.buffer}
}
