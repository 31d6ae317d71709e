// Package listquery parses the list modifiers of a request (page, limit, order, dir, filter
// and attrs) into an [adapter.Query] and a selection of fields, or into the contract's fault
// (wire 10).
//
// # Principles
//
//  1. Loosely formatted input becomes canonical here: adapters get plain numbers, complete
//     times and known attributes, and parse nothing.
//  2. Faults are detected in the contract's order: page, limit, order, then the filter entries
//     in the order sent; attrs last.
//  3. Inputs that crash the original have faults of their own, whose rows in the fault table
//     define the reply in each dialect.
//
// # How it is tested
//
// Dates are compared with a real MariaDB: generated texts, by every operator. Table tests cover
// every operator, number format and limit; a fuzz target parses whole query
// strings and checks that the results can be applied. The cases of stock items in the contract
// suite cover every fault and every form of attrs.
package listquery
