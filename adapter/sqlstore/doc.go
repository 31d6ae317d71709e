// Package sqlstore is the reference adapter: it keeps the whole shop, and the
// credentials that open it, in an SQL database; SQLite for now.
//
// # Principles
//
//  1. The tables are the schemas of package adapter: one table for each
//     resource, columns named as the attributes (layout.go). What the columns
//     mean beyond that is said in the migrations.
//  2. Text is compared and sorted through columns that hold adapter.Fold of it,
//     so every engine agrees with adapter.Apply. What SQL cannot do exactly as
//     Apply does is left out of the statement, and the list is Partial.
//  3. Statements are built with bound arguments only and kept prepared by their
//     text, up to a limit.
//  4. One connection writes, in transactions that take the write lock at once;
//     the others only read. So what a write decides on cannot change under it.
//  5. Where engines differ is in one file for each engine (sqlite.go).
//  6. Secrets are sealed under the configured key and stand in no error.
//
// # How it is tested
//
// On real database files: the conformance suite of package adaptertest, a
// comparison of every table with its schema, and tests of what the suite cannot
// see: reopening, migrations, loading, credentials, nonces, kinds of errors.
// Benchmarks hold Get against a bare prepared statement, and time Load and Reset.
package sqlstore
