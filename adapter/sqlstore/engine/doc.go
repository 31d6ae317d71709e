// Package engine holds the differences between the SQL databases: SQLite, PostgreSQL, and MySQL or
// MariaDB.
//
// # Principles
//
//  1. Each difference is a field of [Engine], and each engine is one file (sqlite.go, postgres.go,
//     mysql.go). No other code asks which engine it is.
//  2. A DSN chooses the engine ([Of]). Errors and logs never repeat a DSN, which may hold a password.
//  3. Errors of the drivers are classified in one place for each engine.
//  4. Values of attributes become arguments of statements, and columns become values, in values.go.
//  5. The migrations of SQLite document the columns; the other engines have the same tables with
//     types of their own.
//
// # How it is tested
//
// With real errors of real servers, and with locks for which two processes compete. Package sqlstore
// tests that the tables of all engines agree.
//
// # Database
//
// Package database opens a database and runs statements: pools of connections, prepared statements,
// and transactions that are repeated if concurrent ones have stopped them.
//
// # Principles
//
//  1. Parameters are question marks on every engine. Values are always bound as arguments.
//  2. Each pool has one cache of statements ([Statements]), up to a limit. Nothing is evicted:
//     unusual statements must not displace the common ones.
//  3. Readers cannot write. Authentication never waits for long lists.
//  4. Every error that leaves the store is an error of package adapter ([DB.WrapError]).
//
// # How it is tested
//
// With errors as the drivers return them, and with transactions that deadlock on real servers. The
// conformance suite of package sqlstore runs everything else.
//
// # Sqlconn
//
// Package sqlconn is what wrappers of the connections of package sqlstore have in common. Package
// sql asks a connection for optional methods, so that a wrapper without one of them would change
// how statements run. A wrapper embeds [Conn], and adds to the methods that it is about.
//
// It is tested where it is used: package sqlstore runs statements on all engines through wrappers
// that record or block them.
//
// # Tables
//
// Package tables defines how the records of each resource are stored, and turns records into rows and
// rows into records.
//
// The tables follow the schemas of package adapter: one table for each resource, with columns named as
// the attributes (layout.go). Attributes that the configuration adds have rows in value tables
// (added.go); no statement refers to those tables unless there are such attributes.
//
// It is tested in package sqlstore, which compares every table with its schema.
package engine
