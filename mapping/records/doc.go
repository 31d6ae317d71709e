// Package records reads the records of a backend for lists of any length.
//
// # Principles
//
//  1. A list takes the memory of one batch of records, however long it is ([Rows]). Each batch
//     begins after the last record of the one before, so that writes in between shift nothing.
//  2. A page deep in a list costs no more than the first: the lengths of lists and the positions
//     at which pages begin are cached ([ListCache]). Every entry can be computed again. Writes
//     invalidate entries by resource, and entries expire after a minute.
//  3. A list that a database cannot answer from an index has to wait for one of a few slots, and
//     has a short timeout ([FilterLimiter]).
//  4. This package knows records and queries, but neither calls nor replies.
//
// Files: source.go and nostore.go open the stores, filterlimiter.go limits expensive conditions,
// listcache.go and listkey.go cache, pages.go finds a page and rows.go reads a list.
//
// # How it is tested
//
// Tests here cover the keys and the size of the cache. Tests of package mapping page through
// lists at random beside adapter.Apply, while records change.
package records
