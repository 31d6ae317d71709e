// Package imports stores records of another system, or of a data set, as they are, in any
// database that package rules describes, and reads them in the same form.
//
// # Principles
//
//  1. [Import] compares a batch with what is stored, checks what refers to what, and stores
//     only what differs, by a number of statements that does not grow with the batch.
//     [Load] does the same with a data set.
//  2. A batch is converted and checked before the transaction begins (fit.go). In it, records
//     of one resource go through the same steps together: stored.go reads what is there,
//     compare.go says what differs and queries nothing, check.go refuses, store.go writes.
//  3. What clients have changed here and the other system does not know yet stays (pending.go).
//  4. A dry run is a run in a transaction whose writes do nothing (drytx.go).
//
// # How it is tested
//
// Packages sqlstore and memstore use it, and run the conformance suite of package adaptertest
// on it.
package imports
