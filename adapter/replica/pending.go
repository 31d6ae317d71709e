package replica

import (
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"slices"
	"sync"
)

// pending remembers roots for later work. It remembers maxPending of a resource at most.
type pending struct {
	mu   sync.Mutex
	keys map[adapter.Resource]map[adapter.Key]bool
}

const maxPending = 10_000

// Add remembers a root.
func (p *pending) Add(r adapter.Resource, key adapter.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[adapter.Resource]map[adapter.Key]bool{}
	}
	if p.keys[r] == nil {
		p.keys[r] = map[adapter.Key]bool{}
	}
	if len(p.keys[r]) < maxPending {
		p.keys[r][key] = true
	}
}

// Take returns the roots of a resource, sorted, and forgets them.
func (p *pending) Take(r adapter.Resource) []adapter.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Sorted(maps.Keys(p.keys[r]))
	delete(p.keys, r)
	return keys
}
