// Package idmap maps legacy ids to backend ids: [Map] stores the mapping, [Cache] translates
// ids, and [Importer] adds pairs that operators know.
//
// # Principles
//
//  1. Only a mapping ties a legacy id to a backend id. Nothing else identifies a record, such
//     as equal SKUs.
//  2. A legacy id has at most one backend id, and a backend id at most one legacy id, within
//     a resource. Neither is used again for another record, so that answers can be cached.
//  3. The mapping of a root also holds the data that package replica needs to compare and to
//     recover: the version and the content of the last document, and the write intent. They
//     are stored together with the ids, so that no crash can separate them.
//
// # How it is tested
//
// The tests of the cache count lookups in an ID map in memory; the tests of imports use
// SQLite. Package sqlstore, which stores ID maps, tests its implementation on every database
// engine.
package idmap
