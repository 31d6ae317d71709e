package importer

import "github.com/portico-commerce/portico/adapter"

// A KeySet is a set of keys that are not negative. Keys that are close together take few
// bits each.
type KeySet map[adapter.Key]*[keysPerPage / 64]uint64

// keysPerPage is the number of keys in one entry of a KeySet.
const keysPerPage = 4096

// Add adds a key.
func (s KeySet) Add(key adapter.Key) {
	page := s[key/keysPerPage]
	if page == nil {
		page = new([keysPerPage / 64]uint64)
		s[key/keysPerPage] = page
	}
	page[key%keysPerPage/64] |= 1 << (key % 64)
}

// Has reports whether s has a key.
func (s KeySet) Has(key adapter.Key) bool {
	if key < 0 {
		return false
	}
	page := s[key/keysPerPage]
	return page != nil && page[key%keysPerPage/64]&(1<<(key%64)) != 0
}

// A resourceKeys holds a set of keys for each resource.
type resourceKeys map[adapter.Resource]KeySet

func (k resourceKeys) add(r adapter.Resource, key adapter.Key) {
	if k[r] == nil {
		k[r] = KeySet{}
	}
	k[r].Add(key)
}

// Has reports whether k has a key of a resource.
func (k resourceKeys) Has(r adapter.Resource, key adapter.Key) bool { return k[r].Has(key) }
