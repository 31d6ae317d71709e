// Package program TODO.
//
// # Conformance
//
// Package conformance checks the program against the contract, in tests only: the contract suite and
// the recorded exchanges of the original pass on every engine and in both dialects, and the suite
// notices each of some hundred faults.
//
// # Principles
//
//  1. The program runs as a process with the demo store, as users run it.
//  2. A mutant breaks one thing in a proxy before the program. A suite that does not notice it lacks
//     a case.
//
// # How it is tested
//
// The table of mutants checks the suite, the suite checks the program.
//
// # Operation
//
// Package operation tests the operators' view of the program, in tests only: its commands, the stores
// that they fill, how it starts, reloads and ends, its ports, certificates, log, metrics and traces, and
// the limits and caches that they configure.
//
// # Principles
//
//  1. The program is a process, and its settings, output and ports are all that a test touches.
//  2. Output for operators holds no input of clients: no word of a request in a label, no value of a
//     record in a trace.
//
// # How it is tested
//
// With a receiver of traces, and servers in the role of a legacy store, in the test.
//
// # Endurance
//
// Package endurance tests the whole program under faults and load, in tests only: servers that break,
// kills, attacks, concurrent and random clients, and replicas that must not serve stale replies.
//
// # Principles
//
//  1. The program is a process, as are Redis and the databases, so that a test can kill each of them.
//  2. The observations of clients decide: no acknowledged write is lost, and no read is stale.
//
// # How it is tested
//
// The checkers are tested in package consistency.
//
// # Galera
//
// Package galera tests the whole program on a Galera cluster, in tests only: replicas that write at several
// nodes, and nodes that fail under load.
//
// # Principles
//
//  1. The cluster and HAProxy before it are real (package galeratest), and clients speak HTTP.
//  2. The observations of clients decide: no acknowledged write is lost, and calls fail for
//     seconds at most.
//
// # How it is tested
//
// The tests run in the stage galera of .ci/nightly, as a cluster takes half a minute to start.
//
// # Consistency
//
// Package consistency checks the values that concurrent clients have seen in single registers
// that they write and read, such as the quantity of a stock item or the name of a product.
//
// Clients record each call in a [Log], with the moments at which it began and ended. [Check]
// then reports whether every read is right: whether the calls can be put in an order in which
// each read returns the value of the last write before it, and in which calls that did not
// overlap keep their order (linearizability). As every write of a register has a value of its
// own, this takes no search: all calls of one value are adjacent in such an order, so that there
// is none if, and only if, two values must each come before the other (Gibbons and Korach,
// "Testing Shared Memories", 1997).
//
// [CheckBatches] does so for batches that write several values each, by the values that they
// leave behind.
//
// # How it is tested
//
// By histories with and without faults, and by comparison with a search through all orders
// of small random histories.
package program
