// Package migration TODO.
//
// # Legacy
//
// Package legacy is the folder of the packages for the legacy store during a migration: passthrough
// forwards requests to it, recording and mask record the requests of clients, shadow, compare and sweep
// compare the answers of both systems, mirror repeats writes at the legacy store, and migration plans
// the steps.
//
// # Principles
//
//  1. The packages of this folder have the logic; the commands and the wiring are in cmd/portico/app.
//  2. Package legacy itself has no code. Its tests run the whole program with a legacy store: the
//     promises of a single package are tested in that package.
//
// # How it is tested
//
// The tests start the program as processes in front of legacy stores, with faults in between, and
// compare the records of both sides in the end.
package migration
