// Package transfer copies a shop from a database of Magento 1 into a store, at once or as it
// changes.
//
// # Principles
//
//  1. An import can be repeated and interrupted at any time: it goes on where it has stopped,
//     and a second one changes nothing. Records keep their keys.
//  2. A record that cannot be stored stops nothing. It is counted under a reason that its
//     owner understands, with its id.
//  3. Records are read by ranges of keys. The store notes a digest of what the old shop had
//     in a range once all records of it are stored; a range with the same digest is not read
//     again.
//  4. A follower is only told which records have changed, by the binary log of the old
//     database or by polling, and reads their present state. So it does no harm if it is told
//     twice, late or too much. Whatever nobody has told it is found by a comparison of
//     everything, which goes on all the time. Each transaction checks the lease. Other
//     processes take over what is written through them. All read and store under the lock
//     of imports, in turns, so that no older state replaces a newer one.
//  5. A follower has what it stores at the backend, if there is one, before it says that it has
//     it. What the backend refuses is parked; while it is away, the follower tries again.
//  6. Only records that came from the old shop are removed, and never those whose resource
//     clients write here. If more are gone than is likely, none are removed until the owner
//     says that it is right.
//
// # How it is tested
//
// Followers are tested with real databases on both sides: each kind of change arrives, and after
// random changes, interruptions and faults the store is as if the old shop had been imported into
// an empty one. Faults are servers that are killed or paused, clocks that step, a log that is
// rotated, purged or has lost events, and records that cannot be stored; many rounds run at
// night. Imports, and followers that are killed or take turns, are tested with the commands of
// package app, which also measures lag, speed and memory.
package transfer
