// Package conformance checks the program against the contract, in tests only: the contract suite and
// the recorded exchanges of the original pass on every engine and in both dialects, and the suite
// notices each of some hundred faults.
//
// # Principles
//
//  1. The program runs as a process with the demo store, as users run it.
//  2. A mutant breaks one thing in a proxy before the program. A suite that does not notice it lacks
//     a case.
//
// # How it is tested
//
// The table of mutants checks the suite, the suite checks the program.
package conformance
