package mapping

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// maxPositions and maxTotals bound what is remembered at a time: of each walk
	// the next page is enough, and a list has one total however it is sorted.
	maxPositions = 16 << 10
	maxTotals    = 4 << 10
	// maxMark is the longest value of a mark that is remembered, in bytes. Sorted
	// by longer texts, a list is walked by its offsets.
	maxMarkBytes = 256
	// memoryAge bounds how long other processes' writes, of which this one is not
	// told, may shift a page: about as long as a client takes to look at a few.
	listCacheTTL = time.Minute
	// countTimeout bounds a count, which several callers may wait for and which
	// none of them may cancel for the others: enough for the longest lists, and no
	// more, as those who wait may have gone.
	countTimeout = 30 * time.Second
)

// A memory holds how many records lists have and where in them pages begin, so
// that a page deep in a list costs what the first one does. Nothing in it is
// needed: whatever it has lost is asked for again.
//
// Each write starts a new generation of the resources it may show in, and what
// was learnt in one generation is of no use in another.
type listCache struct {
	now    func() time.Time
	counts singleflight.Group // under way

	mu               sync.Mutex
	generations      map[adapter.Resource]uint64
	globalGeneration uint64 // generations of all resources
	totals           *simplelru.LRU[listKey, cachedValue[int64]]
	positions        *simplelru.LRU[positionKey, cachedValue[*adapter.Mark]]
}

// A remembered value holds until its resource gets another generation, and no
// longer than memoryAge since the list was last seen from its beginning.
type cachedValue[V any] struct {
	value      V
	generation uint64
	since      time.Time
}

// A positionKey names the place behind the first offset records of a list.
type positionKey struct {
	list   listKey
	offset int64
}

func newListCache(now func() time.Time) (*listCache, error) {
	m := &listCache{now: now, generations: map[adapter.Resource]uint64{}}
	var err error
	if m.totals, err = simplelru.NewLRU[listKey, cachedValue[int64]](maxTotals, nil); err != nil {
		return nil, err
	}
	m.positions, err = simplelru.NewLRU[positionKey, cachedValue[*adapter.Mark]](maxPositions, nil)
	return m, err
}

// changed starts a new generation of the resources, or of all when there are
// none.
func (m *listCache) invalidate(resources []adapter.Resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(resources) == 0 {
		m.globalGeneration++
	}
	for _, r := range resources {
		m.generations[r]++
	}
}

// generation returns the generation of r. It must be held.
func (m *listCache) generation(r adapter.Resource) uint64 {
	return m.globalGeneration + m.generations[r]
}

// A view is a list as one call sees it: what was learnt in the generation in
// which the call began.
type listView struct {
	*listCache
	resource               adapter.Resource
	generation             uint64
	listKey, conditionsKey listKey // with its order, and without
}

// view returns the list that p selects of the records of r, whatever the page.
func (m *listCache) view(r adapter.Resource, p *adapter.ListParams) *listView {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &listView{m, r, m.generation(r), listKeyOf(r, p, true), listKeyOf(r, p, false)}
}

// A sharedGeneration, in the context of a call, is a generation of the records
// that other processes' writes end too.
type sharedGenerationKey struct{}

// share keeps what v learns to calls that are of the same generation elsewhere as
// the one with ctx, if that has any: a reply that others will be shown must not
// depend on what this process alone has not heard of.
func (v *listView) scopeToSharedGeneration(ctx context.Context) {
	generation, ok := ctx.Value(sharedGenerationKey{}).([16]byte)
	if !ok || generation == [16]byte{} {
		return
	}
	for _, key := range []*listKey{&v.listKey, &v.conditionsKey} {
		*key = sha256.Sum256(append(key[:], generation[:]...))
	}
}

// total returns the number of records of the list, if that is remembered.
func (v *listView) total() (n int64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := lookup(v, v.totals, v.conditionsKey)
	return e.value, ok
}

// position returns where the list goes on behind its first offset records, and
// since when that is known.
func (v *listView) position(offset int64) (mark *adapter.Mark, since time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := lookup(v, v.positions, positionKey{v.listKey, offset})
	return e.value, e.since, ok
}

func (v *listView) setTotal(n int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	store(v, v.totals, v.conditionsKey, n, since)
}

// setPosition remembers that the list goes on behind mark after its first offset
// records.
func (v *listView) setPosition(offset int64, mark *adapter.Mark, since time.Time) {
	if k := mark.Value.Kind(); k == adapter.Texts || k == adapter.Records || len(mark.Value.Text()) > maxMarkBytes {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	store(v, v.positions, positionKey{v.listKey, offset}, mark, since)
}

// recall returns what v may still know under key.
func lookup[K comparable, V any](v *listView, from *simplelru.LRU[K, cachedValue[V]], key K) (e cachedValue[V], ok bool) {
	e, ok = from.Get(key)
	return e, ok && e.generation == v.generation && v.now().Sub(e.since) < listCacheTTL
}

// remember puts value under key unless a write has overtaken v.
func store[K comparable, V any](v *listView, into *simplelru.LRU[K, cachedValue[V]], key K, value V, since time.Time) {
	if v.generation == v.listCache.generation(v.resource) {
		into.Add(key, cachedValue[V]{value, v.generation, since})
	}
}
