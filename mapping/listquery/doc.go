// Package listquery turns the list modifiers of a request, page, limit, order,
// dir, filter and attrs, into an [adapter.Query] and a selection of fields, or
// into the contract's fault (wire 10).
//
// # Principles
//
//  1. What the contract reads loosely is made canonical here: an adapter gets
//     plain numbers, full times and known attributes, and parses nothing.
//  2. Faults come in the contract's order: page, limit, order, then the filter
//     entries in the order sent; attrs last.
//  3. Inputs on which the original dies are faults of their own, whose rows in
//     the table of faults say what each dialect answers.
//
// # How it is tested
//
// Table tests over every operator, number form and fault, and a fuzz target
// that feeds whole query strings and checks that what comes out can be applied.
package listquery
