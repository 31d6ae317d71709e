// Package outboxes stores the outbox: what an old shop still has to be told of clients' writes, and
// which of the two systems has the writes of each resource.
//
// # Principles
//
//  1. An entry is stored in the transaction of the write that it repeats ([Writer]).
//  2. An entry has a version, so that nobody completes what a client has changed since.
//  3. All processes agree on the owner of the writes before it changes ([Owners]).
//
// # How it is tested
//
// In package sqlstore with writes and imports, and in package mirror with deliveries.
package outboxes
