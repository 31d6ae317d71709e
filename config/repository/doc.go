// Package repository TODO.
//
// # Repository
//
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
//
// # Deployment
//
// Package deployment checks the files that ship with the program, in tests only: guides, reference
// tables, example settings, Compose, the Helm chart, dashboards and alerting rules.
//
// # Principles
//
//  1. Everything that a user copies works: every command of the guides runs, and every file is
//     loaded by the program that reads it.
//  2. Everything that follows from the settings is generated from them, and the test's comment has
//     the command.
//
// # How it is tested
//
// With the real programs: Portico, Docker Compose's schema, Helm, Prometheus and promtool.
package repository
