// Package coordination TODO.
//
// # Leases
//
// Package leases elects one of several processes by rows of the table lease.
//
// A lease expires by the clock of the database, and each new holder gets a greater token. A
// process that needs a lease to write compares the token at the end of each transaction, with the
// lease locked ([Write]): a process that was paused while another one acquired the lease stores
// nothing.
//
// It is tested in package sqlstore, with the writes that leases protect.
//
// # Outboxes
//
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
//
// # Importlog
//
// Package importlog stores the systems from which records came, and digests of their values.
//
// A later import can therefore leave out unchanged records. The log also stores how far the changes
// of such a system have been imported, and the dead letters: its records that wait to be tried
// again. One process imports at a time ([Log.Lock]).
//
// It is tested on all engines, with two processes that compete for the lock.
//
// # Idmaps
//
// Package idmaps stores the ID map of a local replica: the mapping of legacy ids to backend ids.
//
// The table backend_record also holds the write intents. All writers lock mappings in the same
// order.
//
// It is tested in package sqlstore, whose Replica is a local replica with such an ID map.
//
// # Importwatch
//
// Package importwatch tells processes that cache records what imports of other processes change,
// and what has changed at a backend ([Log.Changed]).
//
// A process answers with nothing older than a committed import of another process. Each import starts
// a generation, and notes under it what it has changed. While somebody imports, a [Watch] reads the
// generation before the process answers from its cache; otherwise it looks once a second, and an
// importer waits until all have noticed it ([Log.Announce]). The protocol is in changes.go.
//
// It is tested with processes that import and processes that answer from what they have cached, on
// all engines.
package coordination
