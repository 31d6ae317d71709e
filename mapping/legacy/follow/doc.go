// Package follow keeps a store equal to the legacy shop that it was imported from, while clients and
// people still change that.
//
// # Principles
//
//  1. The binary log of the old database, or polling, says only which records have changed.
//     The follower then reads their present state, so that repeated, late and unnecessary
//     messages do no harm. A comparison of all records, which never ends, finds the changes
//     of which there was no message.
//  2. One process follows, which has a lease that each transaction checks. Others
//     take over what is written through them ([Writes]). All read and store under the lock
//     of imports, in turns, so that no older state replaces a newer one.
//  3. Records are stored by package importer, as an import stores them. What cannot be stored is
//     parked (parked.go), and tried again.
//  4. A follower has what it stores at the backend, if there is one, before it says that it has
//     it. What the backend refuses is parked; while it is away, the follower tries again.
//
// # How it is tested
//
// With real databases on both sides: each kind of change arrives, and after random changes,
// interruptions and faults the store is as if the old shop had been imported into an empty one.
// Faults are servers that are killed or paused, clocks that step, a log that is rotated, purged or
// has lost events, and records that cannot be stored; many rounds run at night. Followers that are
// killed or take turns are tested with the commands of package app, which also measures lag, speed
// and memory.
package follow
