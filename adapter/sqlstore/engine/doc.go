// Package engine opens an SQL database, runs statements and transactions, and holds the differences
// between SQLite, PostgreSQL, and MySQL or MariaDB. It also defines the tables of the records.
//
// # Principles
//
//  1. Each difference is a field of [Engine], and each engine is one file (sqlite.go, postgres.go,
//     mysql.go). No other code asks which engine it is.
//  2. A DSN chooses the engine ([Of]). Errors and logs never repeat a DSN, which may hold a
//     password.
//  3. Errors of the drivers are classified in one place for each engine. Every error that leaves
//     the store is an error of package adapter ([DB.WrapError]).
//  4. Parameters are question marks on every engine. Values are always bound as arguments. Values
//     of attributes become arguments, and columns become values, in values.go.
//  5. Each pool has one cache of prepared statements, up to a limit (statements.go). Nothing is
//     evicted: unusual statements must not displace the common ones.
//  6. Transactions that concurrent ones have stopped are repeated. Readers cannot write.
//     Authentication never waits for long lists.
//  7. The tables follow the schemas of package adapter: one table for each resource, with columns
//     named as the attributes ([Layout]). Attributes that the configuration adds have rows in value
//     tables (added.go); no statement refers to those tables unless there are such attributes.
//  8. The migrations of SQLite document the columns; the other engines have the same tables with
//     types of their own.
//  9. Package sql asks a connection for optional methods, and a wrapper without one of them would
//     change how statements run. A wrapper of connections therefore embeds [Conn].
//
// # How it is tested
//
// With errors as the drivers return them, with real errors and deadlocks of real servers, and with
// locks for which two processes compete. Package sqlstore compares the tables of all engines with
// the schemas and with each other, runs the conformance suite, and runs statements through wrappers
// that record or block them.
package engine
