// Package cutover has the commands with which an operator moves resources from an old shop to
// Portico: plan says what comes next, report who calls what, and mirror what the old shop still has
// to be told.
//
// Package migration makes the plan. The commands collect the evidence that it needs, from the
// store, from recorded counts and from running servers, and print it.
//
// # How it is tested
//
// By the tests of package app, which run the commands during a migration.
package cutover
