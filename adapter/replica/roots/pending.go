package roots

import (
	"maps"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
)

// Pending remembers roots for later work. It remembers maxPending of a resource at most.
type Pending struct {
	mu   sync.Mutex
	keys map[adapter.Resource]map[adapter.Key]bool
}

const maxPending = 10_000

// Add remembers a root.
func (p *Pending) Add(r adapter.Resource, key adapter.Key) {
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
func (p *Pending) Take(r adapter.Resource) []adapter.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Sorted(maps.Keys(p.keys[r]))
	delete(p.keys, r)
	return keys
}
