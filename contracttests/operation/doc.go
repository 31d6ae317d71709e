// Package operation tests the operators' view of the program, in tests only: its commands, the stores
// that they fill, how it starts, reloads and ends, its ports, certificates, log, metrics and traces, and
// the limits and caches that they configure.
//
// # Principles
//
//  1. The program is a process, and its settings, output and ports are all that a test touches.
//  2. Output for operators holds no input of clients: no word of a request in a label, no value of a
//     record in a trace.
//
// # How it is tested
//
// With a receiver of traces, and servers in the role of a legacy store, in the test.
package operation
