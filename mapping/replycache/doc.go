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
//  3. A table of the resources that calls write says which lists and replies a write invalidates
//     (invalidation.go). The adapter that it wraps does so inside the write's transaction, so
//     that no handler has to.
//  4. A reply also expires when one of its prices changes with time.
//
// # How it is tested
//
// Tests here decode every kind of reply, and write each resource with each method. Tests of
// package mapping compare a service that caches replies with one that does not, after every kind
// of write.
package replycache
