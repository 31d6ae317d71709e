// Package outboxes stores the outbox, the client writes that the legacy store has not received yet,
// and the owner of the writes of each resource: Portico or the legacy store.
//
// # Principles
//
//  1. An entry is stored in the transaction of the write that it repeats ([Writer]).
//  2. An entry has a version, so that a delivery does not complete an entry that a client has changed
//     since.
//  3. All processes agree on the owner of the writes before it changes ([Owners]).
//
// # How it is tested
//
// In package sqlstore with writes and imports, and in package mirror with deliveries.
package outboxes
