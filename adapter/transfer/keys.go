package transfer

import "github.com/portico-commerce/portico/adapter"

// A keySet is a set of keys that are not negative. Keys that are close together take few
// bits each.
type keySet map[adapter.Key]*[keysPerPage / 64]uint64

// keysPerPage is the number of keys in one entry of a keySet.
const keysPerPage = 4096

func (s keySet) add(key adapter.Key) {
	page := s[key/keysPerPage]
	if page == nil {
		page = new([keysPerPage / 64]uint64)
		s[key/keysPerPage] = page
	}
	page[key%keysPerPage/64] |= 1 << (key % 64)
}

func (s keySet) has(key adapter.Key) bool {
	if key < 0 {
		return false
	}
	page := s[key/keysPerPage]
	return page != nil && page[key%keysPerPage/64]&(1<<(key%64)) != 0
}

// A resourceKeys holds a set of keys for each resource.
type resourceKeys map[adapter.Resource]keySet

func (k resourceKeys) add(r adapter.Resource, key adapter.Key) {
	if k[r] == nil {
		k[r] = keySet{}
	}
	k[r].add(key)
}

func (k resourceKeys) has(r adapter.Resource, key adapter.Key) bool { return k[r].has(key) }
