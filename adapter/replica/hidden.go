package replica

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxHidden bounds how many roots are remembered. With more of them, pages of lists may be
	// shorter than their limit.
	maxHidden = 1000
	// hiddenFor is how long a root is remembered before it is looked up again.
	hiddenFor = time.Minute
)

// hiddenRoots remembers roots of the local replica that must not be visible, because the
// backend no longer has them or they have no mapping. Lists exclude them from the query, so
// that pages have their full length and counts are right.
type hiddenRoots struct {
	mu    sync.Mutex
	until map[recordRef]time.Time
}

// hide remembers a root. The caller holds the lock of one without a mapping, as it may be
// about to get one.
func (h *hiddenRoots) hide(r adapter.Resource, key adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.until) < maxHidden {
		h.until[recordRef{r, key}] = time.Now().Add(hiddenFor)
	}
}

// unhide makes lists include roots again, because the backend has them after all.
func (h *hiddenRoots) unhide(r adapter.Resource, keys ...adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		delete(h.until, recordRef{r, key})
	}
}

// keys returns the roots of a resource that are remembered.
func (h *hiddenRoots) keys(r adapter.Resource) (keys []adapter.Key) {
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

// excluding returns a query without the records of some roots.
func (plan *resourcePlan) excluding(q adapter.Query, excluded []adapter.Key) adapter.Query {
	if len(excluded) == 0 {
		return q
	}
	q.Where = append(slices.Clip(q.Where), keyCondition(plan.rootKey, adapter.NotIn, excluded...))
	return q
}

// keyCondition returns a condition on an attribute that holds keys.
func keyCondition(attribute string, op adapter.Op, keys ...adapter.Key) adapter.Condition {
	operands := convert(keys, func(key adapter.Key) string { return strconv.FormatInt(int64(key), 10) })
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}
