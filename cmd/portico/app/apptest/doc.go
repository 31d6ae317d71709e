// Package apptest runs the program portico for tests: its commands, its server as a process, and
// calls to it.
//
// # Principles
//
//  1. A test sees the program as its users do: through arguments, environment, output, exit code and
//     HTTP. Nothing here imports package app, so that tests of any package can use it: their TestMain
//     gives the program to [Main].
//  2. The program is the test binary itself, so that the race detector looks into it, and nothing has
//     to be built first.
//  3. Every process ends with its test, and every file is in a folder of its test.
//
// # How it is tested
//
// By the tests that use it.
//
// # Shops
//
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
package apptest
