package resource

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/portico-commerce/portico/adapter"
	"golang.org/x/sync/singleflight"
)

const (
	// maxPositions and maxTotals limit the number of cached entries. A client that pages
	// through a list needs only the position of the next page, and a list has one total
	// in any order.
	maxPositions = 16 << 10
	maxTotals    = 4 << 10
	// maxMarkBytes is the size of the largest cached mark value. A list that is sorted by
	// longer texts is paged by offset.
	maxMarkBytes = 256
	// listCacheTTL limits how long writes of other processes, which this one does not
	// see, may shift a page. It is about as long as a client takes to look at a few
	// pages.
	listCacheTTL = time.Minute
	// countTimeout limits a count. Several callers may wait for the same one, so none of
	// them can cancel it; and all of them may have gone.
	countTimeout = 30 * time.Second
)

// A ListCache caches the lengths of lists and the positions at which their pages begin,
// so that a page deep in a list costs no more than the first. Every entry can be computed
// again.
//
// Each write starts a new generation of the resources it affects. Entries of an older
// generation are not used.
type ListCache struct {
	now    func() time.Time
	counts singleflight.Group // counts in progress

	mu               sync.Mutex
	generations      map[adapter.Resource]uint64
	globalGeneration uint64 // part of the generation of every resource
	totals           *simplelru.LRU[listKey, cachedValue[int64]]
	positions        *simplelru.LRU[positionKey, cachedValue[*adapter.Cursor]]
	// The latest position of each stretch of a list but the first, by the number of the stretch in place of an offset.
	stretches *simplelru.LRU[positionKey, cachedValue[position]]
}

// A position is the mark after the first offset records of a list.
type position struct {
	offset int64
	mark   *adapter.Cursor
}

// stretch is the length of a stretch in records. maxStretches limits the cached stretches, and how many are searched
// for a position before a page.
const (
	stretch      = 2000
	maxStretches = 4 << 10
)

// A cachedValue is valid for one generation of its resource, and for at most listCacheTTL
// since the list was last read from its beginning.
type cachedValue[V any] struct {
	value      V
	generation uint64
	since      time.Time
}

// A positionKey names the position after the first offset records of a list.
type positionKey struct {
	list   listKey
	offset int64
}

// NewListCache returns an empty cache. now returns the current time.
func NewListCache(now func() time.Time) (*ListCache, error) {
	m := &ListCache{now: now, generations: map[adapter.Resource]uint64{}}
	var err error
	if m.totals, err = simplelru.NewLRU[listKey, cachedValue[int64]](maxTotals, nil); err != nil {
		return nil, err
	}
	if m.positions, err = simplelru.NewLRU[positionKey, cachedValue[*adapter.Cursor]](maxPositions, nil); err != nil {
		return nil, err
	}
	m.stretches, err = simplelru.NewLRU[positionKey, cachedValue[position]](maxStretches, nil)
	return m, err
}

// Invalidate starts a new generation of the given resources, or of all if there are none.
func (m *ListCache) Invalidate(resources []adapter.Resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(resources) == 0 {
		m.globalGeneration++
	}
	for _, r := range resources {
		m.generations[r]++
	}
}

// InStockLists stands, in a call of [ListCache.Invalidate], for the lists that leave out sold-out
// products.
const InStockLists adapter.Resource = "in_stock_lists"

// generation returns the generation of the lists that depend on the given resources. The caller must
// hold m.mu.
func (m *ListCache) generation(resources []adapter.Resource) uint64 {
	sum := m.globalGeneration
	for _, r := range resources {
		sum += m.generations[r]
	}
	return sum
}

// A listView is the cache of one list as one call sees it: only entries of the generation
// in which the call began.
type listView struct {
	*ListCache
	resources              []adapter.Resource // on which the list depends
	generation             uint64
	listKey, conditionsKey listKey // with and without the order
}

// view returns the view of the list that p selects of the records of r, whatever the
// page.
func (m *ListCache) view(r adapter.Resource, p *adapter.ListParams) *listView {
	m.mu.Lock()
	defer m.mu.Unlock()
	on := []adapter.Resource{r}
	if slices.ContainsFunc(p.Filters, func(f adapter.Filter) bool { return f.Name == adapter.InStock }) {
		on = append(on, InStockLists)
	}
	return &listView{m, on, m.generation(on), listKeyOf(r, p, true), listKeyOf(r, p, false)}
}

// sharedGenerationKey is the context key of the generation of the cached reply that the
// call fills. Writes of other processes change that generation, too.
type sharedGenerationKey struct{}

// WithSharedGeneration returns ctx for a call that fills a cached reply of a generation.
func WithSharedGeneration(ctx context.Context, generation [16]byte) context.Context {
	return context.WithValue(ctx, sharedGenerationKey{}, generation)
}

// scopeToSharedGeneration makes v share entries only with calls of the same shared
// generation, if ctx has one. A reply that goes into the shared cache must not depend on
// entries that are stale because this process has not yet seen another's write.
func (v *listView) scopeToSharedGeneration(ctx context.Context) {
	generation, ok := ctx.Value(sharedGenerationKey{}).([16]byte)
	if !ok || generation == [16]byte{} {
		return
	}
	for _, key := range []*listKey{&v.listKey, &v.conditionsKey} {
		*key = sha256.Sum256(append(key[:], generation[:]...))
	}
}

// total returns the number of records of the list, if it is cached.
func (v *listView) total() (n int64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := lookup(v, v.totals, v.conditionsKey)
	return e.value, ok
}

// position returns the mark after the first offset records of the list, and the time
// since when it is known.
func (v *listView) position(offset int64) (mark *adapter.Cursor, since time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := lookup(v, v.positions, positionKey{v.listKey, offset})
	return e.value, e.since, ok
}

// before returns a known position near offset, at or before it, and the time since when it is known. From there a
// store has fewer records to skip than from the beginning of the list.
func (v *listView) before(offset int64) (near position, since time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := offset / stretch
	for n := last; n > max(0, last-maxStretches); n-- {
		if e, ok := lookup(v, v.stretches, positionKey{v.listKey, n}); ok && e.value.offset <= offset {
			return e.value, e.since, true
		}
	}
	return position{}, time.Time{}, false
}

func (v *listView) setTotal(n int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	store(v, v.totals, v.conditionsKey, n, since)
}

// setPosition caches the mark after the first offset records of the list.
func (v *listView) setPosition(offset int64, mark *adapter.Cursor, since time.Time) {
	if k := mark.Value.Kind(); k == adapter.Texts || k == adapter.Records || len(mark.Value.Text()) > maxMarkBytes {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	store(v, v.positions, positionKey{v.listKey, offset}, mark, since)
	if offset >= stretch {
		store(v, v.stretches, positionKey{v.listKey, offset / stretch}, position{offset, mark}, since)
	}
}

// lookup returns the entry for key if it is still valid for v.
func lookup[K comparable, V any](v *listView, from *simplelru.LRU[K, cachedValue[V]], key K) (e cachedValue[V], ok bool) {
	e, ok = from.Get(key)
	return e, ok && e.generation == v.generation && v.now().Sub(e.since) < listCacheTTL
}

// store caches value for key unless a write has started a new generation since v began.
func store[K comparable, V any](v *listView, into *simplelru.LRU[K, cachedValue[V]], key K, value V, since time.Time) {
	if v.generation == v.ListCache.generation(v.resources) {
		into.Add(key, cachedValue[V]{value, v.generation, since})
	}
}
