// Package outbox describes writes of clients that another system is to repeat: while a shop
// moves, Portico decides them, and the old shop gets them too.
//
// # Principles
//
//  1. An [Entry] says which attributes of which record have changed, not to what: whoever
//     delivers it sends the values that the record then has. So entries of one record merge,
//     and delivering one again does no harm.
//  2. An entry is stored in the transaction of the write. Nothing that a client was told is
//     lost.
//  3. Of each attribute an entry holds the state on which the two systems last agreed. If the
//     other system has neither that nor what is here, both have changed the attribute: a
//     [Conflict]. Of a quantity in stock both changes count; of anything else, that of the
//     client.
//  4. Entries of one product or of one customer, its parts included, are delivered in the
//     order in which the records were first changed.
//
// # How it is tested
//
// The states of values are tested here, entries in packages rules and sqlstore, and their
// delivery in package mirror.
package outbox
