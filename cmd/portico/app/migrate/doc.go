// Package migrate TODO.
//
// # Comparison
//
// Package comparison has the command "portico compare": it sends the same requests to the old
// shop and to Portico, and reports where their answers differ.
//
// A comparer asks both systems and adds up what differs. It gets its requests from recorded
// exchanges (replay.go) or reads everything that there is (sweep.go). The rules of comparing are
// those of package compare.
//
// # How it is tested
//
// By the tests of package app, which compare running systems. The tests here check single rules.
//
// # Cutover
//
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
package migrate
