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
package deployment
