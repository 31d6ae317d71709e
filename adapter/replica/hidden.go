package replica

import (
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxHidden bounds how many roots of one resource are remembered. With more of them,
	// pages of lists may be shorter than their limit.
	maxHidden = 1000
	// hiddenFor is how long a root is remembered before it is looked up again.
	hiddenFor = time.Minute
)

// hiddenRoots remembers roots of the local replica that must not be visible, because the
// backend no longer has them or they have no mapping. Lists exclude them from the query, so
// that pages have their full length and counts are right.
type hiddenRoots struct {
	mu          sync.Mutex
	hiddenUntil map[adapter.Resource]map[adapter.Key]time.Time
	creates     createState
}

// A createState counts the creates that began and those that ended.
type createState struct{ begun, ended int }

func (h *hiddenRoots) createState() createState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.creates
}

// beginCreate announces a create, which lasts until done is called.
func (h *hiddenRoots) beginCreate() (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.creates.begun++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.creates.ended++
	}
}

// hide remembers a root. Unless certain is set, it does so only if no create was in
// progress since the given state: the root may be the one that is about to get its mapping.
func (h *hiddenRoots) hide(r adapter.Resource, key adapter.Key, since createState, certain bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	idle := since.begun == since.ended && h.creates == since
	if !certain && !idle || len(h.hiddenUntil[r]) >= maxHidden {
		return
	}
	if h.hiddenUntil == nil {
		h.hiddenUntil = map[adapter.Resource]map[adapter.Key]time.Time{}
	}
	if h.hiddenUntil[r] == nil {
		h.hiddenUntil[r] = map[adapter.Key]time.Time{}
	}
	h.hiddenUntil[r][key] = time.Now().Add(hiddenFor)
}

// unhide makes lists include roots again, because the backend has them after all.
func (h *hiddenRoots) unhide(r adapter.Resource, keys ...adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		delete(h.hiddenUntil[r], key)
	}
}

// keys returns the roots of a resource that are remembered.
func (h *hiddenRoots) keys(r adapter.Resource) (keys []adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, until := range h.hiddenUntil[r] {
		if time.Now().After(until) {
			delete(h.hiddenUntil[r], key)
		} else {
			keys = append(keys, key)
		}
	}
	return keys
}

// excluding returns a query without the records of some roots.
func (plan *resourcePlan) excluding(q adapter.Query, excluded []adapter.Key) adapter.Query {
	if len(excluded) == 0 {
		return q
	}
	attribute := plan.schema.Key
	if !plan.isRoot() {
		attribute = plan.rootAttribute
	}
	q.Where = append(q.Where[:len(q.Where):len(q.Where)], keyCondition(attribute, adapter.NotIn, excluded...))
	return q
}

// keyCondition returns a condition on an attribute that holds keys.
func keyCondition(attribute string, op adapter.Op, keys ...adapter.Key) adapter.Condition {
	operands := make([]string, len(keys))
	for i, key := range keys {
		operands[i] = strconv.FormatInt(int64(key), 10)
	}
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}
