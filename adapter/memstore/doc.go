// Package memstore is an adapter that holds a whole shop in memory. It demonstrates the
// boundary between the contract and the systems that hold the records: read it to learn how
// to write an adapter. It has no database that could hide anything, and package rules applies
// the consequences of every write.
//
// It serves demos and tests as well: filling it takes milliseconds, and restoring a
// [Snapshot] microseconds. It keeps nothing when the program ends. Credentials and nonces are
// not records; it has none.
//
// # How to read it
//
//   - state.go: the stored data, and how it is found. sorted.go is the map underneath.
//   - read.go and view.go: List and Get, and the values that a record shows at a store view.
//   - tx.go, images.go and imports.go: the database operations that package rules needs,
//     [rules.Tx].
//   - memstore.go: the adapter itself, how reads and writes meet, and how it is filled, from a data
//     set or with records of another system.
//
// # Principles
//
//  1. All records are one immutable state. A read uses the current state without a lock, so
//     that it sees all of a write or nothing of it.
//  2. Writes run one after the other, so that they are serializable. A write makes a new
//     version of the state, which shares all unchanged data with the old one. When it has
//     succeeded, one assignment makes it the current state; when it has failed, it leaves
//     nothing behind.
//  3. A snapshot is a pointer to a state.
//  4. Values are stored at their scope, as in a shop: in the record, or beside it, by scope.
//     Reads put together the values that a scope shows. The only derived data that is stored
//     is indexes.
//  5. A list puts together all records that an index and the page do not exclude, and
//     leaves the query to [adapter.Apply]. That takes a few hundred milliseconds for a
//     hundred thousand products with a condition on their names; a database that can do
//     better should.
//
// # How it is tested
//
// By the conformance suite of package adaptertest, also with added attributes. Further tests
// cover behavior that the suite cannot see: snapshots, loading, the effects of failed writes,
// and that versions of a map do not affect each other. Benchmarks measure reads, writes and
// snapshots of a shop with 100,000 products.
package memstore
