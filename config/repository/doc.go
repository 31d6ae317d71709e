// Package repository checks the files of the repository, in tests only: the source code, and all
// files that ship with the program.
//
// The source code follows the rules of the project: imports point downward, files, packages and
// names follow limits and conventions, exported names have comments, and no test is skipped in CI.
// The files that ship with the program work: guides, reference tables, example settings, the Compose
// file, the Helm chart, dashboards and alerting rules.
//
// # Principles
//
//  1. Every rule of the project that a program can check is checked here.
//  2. Each check of the source code has a test that shows that it finds every kind of fault.
//  3. Everything that a user copies works: every command of the guides runs, and every file is
//     loaded by the program that reads it.
//  4. Text that follows from the settings is generated from them. The comment of its test has the
//     command that generates it.
//
// # How it is tested
//
// By the second principle, and with the real programs: Portico, the JSON Schema of Compose files,
// Helm, Prometheus and promtool.
package repository
