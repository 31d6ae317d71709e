// Package program tests the whole program as users, operators and clients see it. Apart from the
// checkers of histories, it consists of tests.
//
//   - The contract: the contract suite and the recorded exchanges of the original pass on every
//     engine and in all dialects.
//   - Operation: commands and the stores that they fill; start, reload and shutdown; ports,
//     certificates, log, metrics and traces; limits and caches.
//   - Faults and load: servers that fail, kills, attacks, concurrent and random clients, replicas
//     that must not serve stale replies, and clusters of databases and of Redis.
//
// # Principles
//
//  1. The program runs as a process, as do Redis and the databases, so that a test can kill each of
//     them. A test uses only its settings, output and ports.
//  2. The observations of clients decide: no acknowledged write is lost, no read is stale, and while
//     a node fails calls fail for a limited time.
//  3. A mutant breaks one thing, in a proxy in front of the program. A contract suite that does not
//     notice it lacks a case.
//  4. Output for operators contains no input of clients: no part of a request in a label, no value
//     of a record in a trace.
//
// # Histories
//
// Clients record each call on a register, such as the quantity of a stock item, in a [testenv.OperationLog], with the
// times at which it began and ended. [testenv.CheckOperations] reports whether the calls can be put in an order in
// which each read returns the value of the last write before it, and calls that did not overlap keep
// their order (linearizability). Each write has a value of its own, so this takes no search: all
// calls of one value are adjacent in such an order, and no order exists if, and only if, two values
// must each come before the other (Gibbons and Korach, "Testing Shared Memories", 1997).
// [CheckBatches] checks batches that write several values each, by the values that remain.
//
// # How it is tested
//
// The table of about a hundred mutants checks the contract suite. Histories with and without faults
// check [testenv.CheckOperations], and so does a search through all orders of small random histories. Tests that need
// clusters or take minutes run in stages of .ci/nightly.
package program
