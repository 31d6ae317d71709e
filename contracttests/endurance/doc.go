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
package endurance
