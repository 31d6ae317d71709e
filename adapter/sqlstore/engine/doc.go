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
package engine
