// Package jq has the functions that expressions of mapping files can call in addition to
// jq's own, reads the numbers in documents and in the results of expressions, evaluates
// expressions that need no interpreter, and finds the keys of the objects that an expression
// constructs.
//
// # Principles
//
//  1. Numbers are converted exactly, without floating point, and are bounded in length and
//     exponent.
//  2. Errors contain no values, which may be personal data.
//
// # How it is tested
//
// Through expressions, by the tests of package reststore; shortcuts against the interpreter.
package jq
