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
package apptest
