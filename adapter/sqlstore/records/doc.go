// Package records reads the records of all resources.
//
// # Principles
//
//  1. A condition that SQL cannot evaluate is evaluated while the rows are read (find.go). A list is
//     Partial only if the statement cannot produce its order or the prices that its conditions
//     concern.
//  2. A list takes few statements: parts of products are read by one for many products
//     (productparts.go), and the product listing by its own table (listing.go).
//
// # How it is tested
//
// By the conformance suite of package adaptertest, which package sqlstore runs on all engines. The
// tests here check that a cached statement equals the one that would be built without the cache.
package records
