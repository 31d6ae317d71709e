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
package database
