// Package follow keeps a store in sync with the legacy store that it was imported from, while
// clients and administrators still change the latter.
//
// # Principles
//
//  1. The binary log of the legacy store's database, or polling, supplies only the keys of changed
//     records. The follower then reads their present state, so that repeated, late and unnecessary
//     messages do no harm. A continuous comparison of all records finds the changes without a
//     message.
//  2. One process follows: it holds a lease that each transaction checks. The other processes apply
//     the writes that pass through them ([Writes]). All of them read and store under the import
//     lock, one at a time, so that no older state replaces a newer one.
//  3. Records are stored by package importer, as an import stores them. A record that cannot be
//     stored is parked, as in a dead-letter queue, and retried (parked.go).
//  4. If there is a backend, a follower reports a record as stored only once the backend has it.
//     Records that the backend refuses are parked; while the backend is unavailable, the follower
//     retries.
//
// # How it is tested
//
// With real databases on both sides: each kind of change arrives, and after random changes,
// interruptions and faults the store is as if the legacy store had been imported into an empty one.
// Faults are servers that are killed or paused, clocks that step, a log that is rotated, purged or
// has lost events, and records that cannot be stored; many rounds run at night. The tests of
// package app run followers that are killed or hand over the lease, and measure lag, speed and
// memory.
package follow
