package replica

import (
	"github.com/portico-commerce/portico/adapter"
	"log/slog"
	"sync"
	"sync/atomic"
)

// maxWarnings bounds the number of messages that a Logger remembers.
const maxWarnings = 10_000

// A logger logs each warning only once. It is safe for concurrent use.
type logger struct {
	*slog.Logger
	logged sync.Map
	count  atomic.Int64
}

// WarnOnce logs a message about a record, with more attributes for the log alone, unless it has logged it
// before. id is the backend id, or the legacy id where that is unknown; "" for a message about all records.
func (l *logger) WarnOnce(message string, r adapter.Resource, id string, more ...any) {
	if l.count.Load() >= maxWarnings {
		return
	}
	if _, logged := l.logged.LoadOrStore(message+string(r)+" "+id, true); !logged {
		l.count.Add(1)
		attributes := []any{"resource", r}
		if id != "" {
			attributes = append(attributes, "record", id)
		}
		l.Warn(message, append(attributes, more...)...)
	}
}
