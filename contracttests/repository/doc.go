// Package repository checks rules that hold for every file of the repository, in tests only: imports
// point downward, files and names follow the rules of the house, exported names have comments, no
// test is skipped in CI, and the workflows fit the programs that they run.
//
// # Principles
//
//  1. A rule that no test checks is no rule.
//  2. Each check has a test that shows that it finds every kind of fault.
//
// # How it is tested
//
// See the second principle.
package repository
