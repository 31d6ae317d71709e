// Package memstore is an adapter that holds a whole shop in memory: the demo of the
// boundary between the contract and the systems that hold the records. Read it to learn
// what an adapter has to do. It has no database that could hide anything, and package rules
// does for it what every write of a shop entails.
//
// It serves demos and tests as well: filling it takes milliseconds, and going back to a
// [Snapshot] microseconds. It keeps nothing when the program ends. Credentials and nonces are
// no records; it has none.
//
// # How to read it
//
//   - state.go: what is stored, and how it is found. sorted.go is the map underneath.
//   - read.go and view.go: List and Get, and what a record shows at a store view.
//   - tx.go, images.go and imports.go: what package rules asks of a database, [rules.Tx].
//   - load.go: how an adapter is filled, from a data set or with records of another system.
//   - memstore.go: the adapter itself, and how reads and writes meet.
//
// # Principles
//
//  1. All records are one immutable state. A read takes the present state and needs no
//     lock, so that it sees all of a write or nothing of it.
//  2. Writes run one after the other, so that they are serializable. A write makes a new
//     version of the state, which shares with the old one all that it does not change. When
//     it has succeeded, one assignment makes this the present state; when it has failed,
//     nothing is left of it.
//  3. A snapshot is a pointer to a state.
//  4. Values are stored where their scope has them, as a shop does: in the record, or beside
//     it, by store view or by level. Reads put together what a level shows. Nothing derived
//     is stored but indexes.
//  5. A list puts together all records that an index and the page do not exclude, and
//     leaves the query to [adapter.Apply]. That takes a few hundred milliseconds for a
//     hundred thousand products with a condition on their names; a database that can do
//     better should.
//
// # How it is tested
//
// By the conformance suite of package adaptertest, also with added attributes. Further
// tests cover what the suite cannot see: snapshots, loading, what a failed write leaves, and
// that versions of a map do not affect each other. Benchmarks measure reads, writes and
// snapshots of a shop with 100,000 products.
package memstore
