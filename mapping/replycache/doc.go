// Package replycache decides which replies to Guests are cached, what identifies a request, and
// which replies a write invalidates. Package cache stores them.
//
// # Principles
//
//  1. Only replies to Guests' reads of products are cached: they are most of the traffic of a
//     shop, and the same for all Guests.
//  2. Requests have two keys. The fingerprint covers everything in a request that its reply may
//     depend on, and is computed before the request is parsed. The key of the reply is the same
//     for all spellings of a request.
//  3. A table lists, for each resource that calls write, the lists and replies that a write
//     invalidates (invalidation.go). The adapter that it wraps does so inside the write's
//     transaction, so that no handler has to.
//  4. A reply also expires when one of its prices changes with time.
//  5. All lists have one tag, which every write of a product changes. A finer tag, such as one per
//     category, would have to change with every write that can put a product into a list or take it
//     out: the write of any attribute that is filtered or sorted by, of an assignment, of the
//     category tree, of a default in a store view, and a write in the backend of which only the id
//     of the product is known. The tags of the list before and after the write would have to be
//     known inside the write's transaction, which no adapter promises. So it cannot be proven that
//     no list is left out, and one tag is kept: a write costs each list one fill.
//  6. Replies are shared by processes of all builds that have the same [Format].
//
// # How it is tested
//
// Tests here decode every kind of reply, and write each resource with each method. Tests of package
// mapping compare a service that caches replies with an uncached one, after every kind of write.
package replycache
