// Package legacy is the folder of what serves the old system during a migration: passthrough forwards
// requests to it, recording and mask write down what clients ask, shadow, compare and sweep compare the
// answers of both systems, mirror repeats writes at the old system, and migration plans the steps.
//
// # Principles
//
//  1. The packages of this folder have the logic; the commands and the wiring are in cmd/portico/app.
//  2. Package legacy itself has no code. Its tests run the whole program with an old system: what each
//     package promises alone is tested in that package.
//
// # How it is tested
//
// The tests start the program as processes in front of old shops, with faults in between, and compare
// in the end what both sides hold.
package legacy
