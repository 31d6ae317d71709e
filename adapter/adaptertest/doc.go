// Package adaptertest is the conformance suite of adapters. It checks the behavior that every store
// must have, whatever its backend. It also has a [Store] that holds one client and its tokens in
// memory, for tests of OAuth, and [CompileSchema] for tests of JSON Schemas.
//
// # Principles
//
//  1. adapter.Apply is the reference: the suite sends every form of list query to the store and to
//     Apply over the store's own records, and compares the results.
//  2. Operands are taken from the records, so the suite would work on any data set. Stores must
//     hold the demo store.
//  3. An adapter declares the resources it does not support, with a reason, which the suite logs.
//     Supporting a declared resource is a failure. No test is skipped: the suite first probes the
//     kinds of writes that a store supports, and logs the answer.
//  4. The list tests use each operator with each operand on each attribute. There are so many that
//     a [Harness] may choose a sample.
//  5. Every error must be of a kind that the method may return.
//
// # How it is tested
//
// The adapters in this repository test the suite: it is correct if they agree with Apply. The tests
// of package auth use the [Store].
package adaptertest
