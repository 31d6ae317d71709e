package memstore

import (
	"cmp"
	"iter"
	"slices"
)

// A version stands for the write that makes a new state. A write may change data that it
// has made itself, and copies all other data before it changes it.
type version struct{ _ byte } // not of size 0, so that each version has an address of its own

// A sorted holds values by ascending key, in chunks. A copy of a sorted shares its chunks
// with the original, and a change of the copy copies only the list of the chunks and the
// affected chunk. Copies must be changed by different versions.
type sorted[K cmp.Ordered, V any] struct {
	chunks []*chunk[K, V] // none is empty
	made   *version       // version that made the list of the chunks
}

// A chunk holds a few neighbors, by ascending key.
type chunk[K cmp.Ordered, V any] struct {
	keys   []K
	values []V
	made   *version
}

// maxChunk is the greatest number of values in a chunk. A change copies one chunk and the
// list of all chunks, which together is least for some 256 values in a chunk if there are
// 100,000.
const maxChunk = 256

// search returns the chunk that has key, or in which it belongs, and its place there.
func (s *sorted[K, V]) search(key K) (at, place int, found bool) {
	if len(s.chunks) == 0 {
		return 0, 0, false
	}
	at, found = slices.BinarySearchFunc(s.chunks, key, func(c *chunk[K, V], key K) int { return cmp.Compare(c.keys[0], key) })
	if !found && at > 0 {
		at--
	}
	place, found = slices.BinarySearch(s.chunks[at].keys, key)
	return at, place, found
}

// get returns the value of a key.
func (s *sorted[K, V]) get(key K) (value V, ok bool) {
	at, place, ok := s.search(key)
	if ok {
		value = s.chunks[at].values[place]
	}
	return value, ok
}

// all returns all values, by key.
func (s *sorted[K, V]) all() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, c := range s.chunks {
			for _, value := range c.values {
				if !yield(value) {
					return
				}
			}
		}
	}
}

// from returns the keys from a given one on, in ascending order, with their values.
func (s *sorted[K, V]) from(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		at, place, _ := s.search(key)
		for ; at < len(s.chunks); at, place = at+1, 0 {
			for ; place < len(s.chunks[at].keys); place++ {
				if !yield(s.chunks[at].keys[place], s.chunks[at].values[place]) {
					return
				}
			}
		}
	}
}

// set stores the value of key, and replaces the former one.
func (s *sorted[K, V]) set(v *version, key K, value V) {
	at, place, found := s.search(key)
	if len(s.chunks) == 0 {
		s.chunks, s.made = []*chunk[K, V]{{made: v}}, v
	}
	c := s.writable(v, at)
	if found {
		c.values[place] = value
		return
	}
	c.keys, c.values = slices.Insert(c.keys, place, key), slices.Insert(c.values, place, value)
	if len(c.keys) <= maxChunk {
		return
	}
	half := len(c.keys) / 2
	if place == maxChunk { // keys usually ascend: leave the chunk full
		half = maxChunk
	}
	s.chunks = slices.Insert(s.chunks, at+1, &chunk[K, V]{slices.Clone(c.keys[half:]), slices.Clone(c.values[half:]), v})
	c.keys, c.values = slices.Clip(c.keys[:half]), slices.Clip(c.values[:half])
}

// remove removes a key and its value, if they are there.
func (s *sorted[K, V]) remove(v *version, key K) {
	at, place, found := s.search(key)
	if !found {
		return
	}
	c := s.writable(v, at)
	c.keys, c.values = slices.Delete(c.keys, place, place+1), slices.Delete(c.values, place, place+1)
	if len(c.keys) == 0 {
		s.chunks = slices.Delete(s.chunks, at, at+1)
	}
}

// writable returns a chunk that the version may change. It may then also change the list
// of the chunks.
func (s *sorted[K, V]) writable(v *version, at int) *chunk[K, V] {
	if s.made != v {
		s.chunks, s.made = slices.Clone(s.chunks), v
	}
	if c := s.chunks[at]; c.made != v {
		s.chunks[at] = &chunk[K, V]{slices.Clone(c.keys), slices.Clone(c.values), v}
	}
	return s.chunks[at]
}
