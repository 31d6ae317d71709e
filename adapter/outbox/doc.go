// Package outbox describes client writes that another system is to repeat: while a store is
// being migrated, Portico accepts the writes, and the legacy store gets them too.
//
// # Principles
//
//  1. An [Entry] names a record and its changed attributes, but not their values: the
//     delivery sends the values that the record then has. So entries of one record merge,
//     and delivering one again does no harm.
//  2. An entry is stored in the transaction of the write. No acknowledged write is lost.
//  3. For each attribute an entry holds the state on which the two systems last agreed. If
//     the other system has neither that state nor the state here, both have changed the
//     attribute: a [Conflict]. For a quantity in stock both changes count; for any other
//     attribute, the client's change wins.
//  4. Entries of one product or of one customer, its parts included, are delivered in the
//     order in which the records were first changed.
//
// # How it is tested
//
// The states of values are tested here, entries in packages rules and sqlstore, and their
// delivery in package mirror.
package outbox
