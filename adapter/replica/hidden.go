package replica

import (
	"github.com/portico-commerce/portico/adapter"
	"sync"
	"time"
)

const (
	// maxHidden bounds the number of roots that are remembered. With more of them, pages of
	// lists may be shorter than their limit.
	maxHidden = 1000
	// hiddenFor is how long a root is remembered before it is looked up again.
	hiddenFor = time.Minute
)

// hidden remembers roots of the local replica that must not be visible, because the
// backend no longer has them or they have no mapping. Lists exclude them from the query, so
// that pages have their full length and counts are right.
type hidden struct {
	mu    sync.Mutex
	until map[ref]time.Time
}

// Hide remembers a root, and reports whether it was visible. The caller holds the lock of a
// root without a mapping, as it may be about to get one.
func (h *hidden) Hide(r adapter.Resource, key adapter.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = map[ref]time.Time{}
	}
	_, known := h.until[ref{r, key}]
	if len(h.until) < maxHidden {
		h.until[ref{r, key}] = time.Now().Add(hiddenFor)
	}
	return !known
}

// Unhide makes lists include roots again, because the backend has them after all, and returns
// the roots that lists did not include.
func (h *hidden) Unhide(r adapter.Resource, keys ...adapter.Key) (shown []adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if _, hidden := h.until[ref{r, key}]; hidden {
			delete(h.until, ref{r, key})
			shown = append(shown, key)
		}
	}
	return shown
}

// Keys returns the roots of a resource that are remembered.
func (h *hidden) Keys(r adapter.Resource) (keys []adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for root, until := range h.until {
		switch {
		case time.Now().After(until):
			delete(h.until, root)
		case root.resource == r:
			keys = append(keys, root.key)
		}
	}
	return keys
}
