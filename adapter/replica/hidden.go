package replica

import (
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxHidden bounds how many roots of a resource are remembered. Pages of lists may
	// be short where there are more.
	maxHidden = 1000
	// hiddenFor is how long they are, before they are looked for again.
	hiddenFor = time.Minute
)

// hidden remembers roots that the side has and that are not to be seen, because the
// backend has them no longer or they have no entry. Lists leave them out from the
// start, so that pages are as long as they should be and counts are right.
type hiddenRoots struct {
	mu       sync.Mutex
	until    map[adapter.Resource]map[adapter.Key]time.Time
	creating int // records that are being created
	finished int // how often one came to its end
}

// A generation tells whether a record was being created since.
type createState struct {
	finished int
	idle     bool
}

func (h *hiddenRoots) createState() createState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return createState{h.finished, h.creating == 0}
}

// create says that a record is being created, until done is called.
func (h *hiddenRoots) beginCreate() (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.creating++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.creating--
		h.finished++
	}
}

// hide remembers a root. One without an entry is remembered only if none was being
// created since: it may be that one, which is about to get it.
func (h *hiddenRoots) hide(r adapter.Resource, key adapter.Key, since createState, surely bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !surely && (!since.idle || h.creating > 0 || h.finished != since.finished) || len(h.until[r]) >= maxHidden {
		return
	}
	if h.until == nil {
		h.until = map[adapter.Resource]map[adapter.Key]time.Time{}
	}
	if h.until[r] == nil {
		h.until[r] = map[adapter.Key]time.Time{}
	}
	h.until[r][key] = time.Now().Add(hiddenFor)
}

// show forgets roots, which are there.
func (h *hiddenRoots) unhide(r adapter.Resource, keys ...adapter.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.until[r]) == 0 {
		return
	}
	for _, key := range keys {
		delete(h.until[r], key)
	}
}

// keys returns the roots that are remembered.
func (h *hiddenRoots) keys(r adapter.Resource) []adapter.Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.until[r]) == 0 {
		return nil
	}
	now := time.Now()
	keys := make([]adapter.Key, 0, len(h.until[r]))
	for key, until := range h.until[r] {
		if now.After(until) {
			delete(h.until[r], key)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// without returns a query that leaves out the records of some roots.
func (plan *resourcePlan) excluding(q adapter.Query, out []adapter.Key) adapter.Query {
	if len(out) == 0 {
		return q
	}
	operands := make([]string, len(out))
	for i, key := range out {
		operands[i] = strconv.FormatInt(int64(key), 10)
	}
	attribute := plan.schema.Key
	if !plan.isRoot() {
		attribute = plan.RootAttribute
	}
	q.Where = append(q.Where[:len(q.Where):len(q.Where)], adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: adapter.NotIn, Operands: operands}}})
	return q
}
