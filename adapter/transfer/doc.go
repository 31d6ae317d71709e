// Package transfer copies a shop from a database of Magento 1 into a store. Package follow, above
// this one, keeps the store equal to a shop that changes: it imports by the same steps.
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
//  4. Only records that came from the old shop are removed, and never those whose resource
//     clients write here. If more are gone than is likely, none are removed until the owner
//     says that it is right.
//
// # How it is tested
//
// Imports are tested with the commands of package app, on real databases on both sides, and as part
// of every follower: after any changes the store is as if the old shop had been imported into an
// empty one.
package transfer
