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
package comparison
