// Package imports stores records of another system, or of a data set, unchanged in any database
// that package rules describes, and reads them in the same form.
//
// # Principles
//
//  1. [Import] compares a batch with the stored records, checks the references between
//     records, and stores only the differences, with a number of statements that does not
//     grow with the batch. [Load] does the same with a data set.
//  2. A batch is converted and checked before the transaction begins (fit.go). In the
//     transaction, records of one resource go through the same steps together: stored.go
//     reads the stored state, compare.go computes the differences without queries, check.go
//     refuses invalid records, store.go writes.
//  3. Values that clients have changed here and the other system does not know yet stay
//     (pending.go).
//  4. A dry run is a run in a transaction whose writes do nothing (drytx.go).
//
// # How it is tested
//
// Packages sqlstore and memstore use it, and run the conformance suite of package adaptertest
// on it.
package imports
