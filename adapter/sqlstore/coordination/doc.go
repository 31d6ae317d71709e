// Package coordination stores the state that processes of one database share: leases, the ID map,
// the outbox, and the log of imports.
//
// # Principles
//
//  1. [Leases] elect one of several processes by rows of the table lease. A lease expires by the
//     clock of the database, and each new holder gets a greater token. A process that needs a lease
//     to write compares the token at the end of each transaction, with the lease locked
//     ([WriteLease]): a process that was paused while another one acquired the lease stores
//     nothing.
//  2. [IDMap] maps legacy ids to backend ids. Its table backend_record also holds the write
//     intents. All writers lock mappings in the same order.
//  3. [Outboxes] hold the client writes that the legacy store has not received yet. An entry is
//     stored in the transaction of the write that it repeats ([OutboxWriter]). It has a version, so
//     that a delivery does not complete an entry that a client has changed since.
//  4. Portico or the legacy store owns the writes of each resource. All processes agree on the
//     owner before it changes ([OwnerTable]).
//  5. [ImportLog] stores the systems that records came from, how far the changes of each have been
//     imported, digests of values, by which a later import leaves out unchanged records, and dead
//     letters: records that wait to be tried again ([Parked]). One process imports at a time
//     ([ImportLog.Lock]).
//  6. A process never answers from its cache with older data than a committed import of another
//     process. Each import starts a generation, and notes its changes under it. During an import, a
//     [Watcher] reads the generation before the process answers from its cache; otherwise it reads
//     it once a second, and an importer waits until all processes have noticed the import
//     ([ImportWatch.Announce]). Changes at a backend are announced by [ImportWatch.Changed]. The
//     protocol is in changes.go.
//  7. [Evidence] holds the last results of sweeps and imports for the other processes, and
//     [Statistics] decides when an import renews the statistics of a server.
//
// # How it is tested
//
// On all engines: processes compete for the lock of imports, and some import while others answer
// from their caches. Package sqlstore tests leases with the writes that they protect, the outbox
// with writes and imports, and the ID map with a local replica. Package mirror tests deliveries.
package coordination
