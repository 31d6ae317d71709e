// Package apptest runs the program portico for tests: its commands, its server as a process, calls
// to it, and the systems around it. Among these are legacy stores, a backend that holds customers,
// proxies with faults, and Redis.
//
// # Principles
//
//  1. A test sees the program as its users do: through arguments, environment, output, exit code,
//     HTTP and databases. Nothing here imports package app, so that tests of any package can use it:
//     their TestMain gives the program to [Main].
//  2. The program is the test binary itself, so that the race detector covers it, and nothing has to
//     be built first.
//  3. A legacy store is served by Portico's own program, with an adapter that reads and writes the
//     tables of the legacy store. That is a second program, [ShopsProgram], which TestMain offers
//     with [OpenShops].
//  4. Every process ends with its test, and every file is in a folder of its test.
//
// # How it is tested
//
// By the tests that use it. One of them replays the recorded exchanges of the original to a legacy
// store.
package apptest
