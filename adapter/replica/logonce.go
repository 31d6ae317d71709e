package replica

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
)

// maxWarnings bounds how many messages a logOnce remembers.
const maxWarnings = 10_000

// A logOnce logs each warning only once.
type logOnce struct {
	*slog.Logger
	logged sync.Map
	count  atomic.Int64
}

// warnOnce logs a message about a record unless it has logged it before. id is the backend
// id, or the legacy id where that is unknown.
func (l *logOnce) warnOnce(message string, r adapter.Resource, id string) {
	if l.count.Load() >= maxWarnings {
		return
	}
	if _, logged := l.logged.LoadOrStore(message+string(r)+" "+id, true); !logged {
		l.count.Add(1)
		l.Warn(message, "resource", r, "record", id)
	}
}
