package replica

import (
	"log/slog"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// maxWarnings bounds how many messages a logOnce remembers.
const maxWarnings = 10_000

// A logOnce logs each warning only once.
type logOnce struct {
	mu     sync.Mutex
	logged map[string]bool
}

// warn logs a message about a record unless it has logged it before. id is the backend id,
// or the legacy id where that is unknown.
func (o *logOnce) warn(log *slog.Logger, message string, r adapter.Resource, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := message + string(r) + " " + id
	if o.logged[key] || len(o.logged) >= maxWarnings {
		return
	}
	if o.logged == nil {
		o.logged = map[string]bool{}
	}
	o.logged[key] = true
	log.Warn(message, "resource", r, "record", id)
}
