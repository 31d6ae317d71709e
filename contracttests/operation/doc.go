// Package operation tests what operators see of the program, in tests only: its commands, the stores
// that they fill, how it starts, reloads and ends, its ports, certificates, log, metrics and traces, and
// what it limits and caches on their behalf.
//
// # Principles
//
//  1. The program is a process, and its settings, output and ports are all that a test touches.
//  2. What operators read holds no input of clients: no word of a request in a label, no value of a
//     record in a trace.
//
// # How it is tested
//
// With a receiver of traces, and servers in the role of a legacy system, in the test.
package operation
