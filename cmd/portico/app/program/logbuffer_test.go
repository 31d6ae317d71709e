package program

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/config"
)

// TestBufferedLogger checks when lines are written.
func TestBufferedLogger(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(log *slog.Logger, flush func())
		want int // lines
	}{
		"a line waits": {func(log *slog.Logger, _ func()) { log.Info("a") }, 0},
		"not for long": {func(log *slog.Logger, _ func()) { log.Info("a"); time.Sleep(2 * logDelay) }, 1},
		"a line after a pause": {func(log *slog.Logger, _ func()) {
			time.Sleep(5 * logDelay)
			log.Info("a")
			log.Info("b")
			time.Sleep(logDelay)
		}, 2},
		"flush":                 {func(log *slog.Logger, flush func()) { log.Info("a"); log.Info("b"); flush() }, 2},
		"warning":               {func(log *slog.Logger, _ func()) { log.Info("a"); log.Warn("b") }, 2},
		"error with attributes": {func(log *slog.Logger, _ func()) { log.Info("a"); log.With("c", 1).WithGroup("d").Error("b", "e", 2) }, 2},
		"full": {func(log *slog.Logger, _ func()) {
			log.Info(strings.Repeat("a", logBufferSize))
			log.Info("b")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				log, flush := NewBufferedLogger(&out, &config.Config{}, slog.LevelInfo)
				tt.do(log, flush)
				synctest.Wait()
				if got := strings.Count(out.String(), "\n"); got != tt.want {
					t.Errorf("%d lines are written, want %d:\n%.300s", got, tt.want, out.String())
				}
			})
		})
	}
}

// slowWriter is a writer that reports each text it gets, and then waits to go on.
type slowWriter struct{ got, goOn chan string }

func (w slowWriter) Write(text []byte) (int, error) {
	w.got <- string(text)
	<-w.goOn
	return len(text), nil
}

// TestLinesWhileWriting checks that lines are added while others are written, and written after them.
func TestLinesWhileWriting(t *testing.T) {
	t.Parallel()
	w := slowWriter{make(chan string), make(chan string)}
	b := newLogBuffer(w)
	full := strings.Repeat("a", logBufferSize)
	go func() { _, _ = b.Write([]byte(full)) }()
	if got := <-w.got; got != full {
		t.Fatalf("%d bytes are written, want %d", len(got), len(full))
	}
	_, _ = b.Write([]byte("b")) // would wait for ever behind the write
	go b.flush()
	close(w.goOn)
	if got := <-w.got; got != "b" {
		t.Errorf("%.20q is written after the first lines, want b", got)
	}
}
