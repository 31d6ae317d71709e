// Package shops has old shops for tests of the program: their databases, stores that commands fill
// from them, their REST interface, processes in front of them, and a backend that holds customers.
//
// # Principles
//
//  1. An old shop answers by Portico's own program, on an adapter that works on the old shop's tables.
//     That is a program of its own, [Program], which TestMain offers, since this package does not
//     import the program.
//  2. Tests see stores and old shops as their owners do: through commands, requests and databases.
//
// # How it is tested
//
// By the tests that use it, of which one replays to an old shop what the original answered.
package shops
