// Package input checks the bodies of writes by the rules of package contract, and converts
// the values that clients sent into those that a store holds.
//
// # Principles
//
//  1. One rule language for all resources: a [contract.Rule] names the check of a field, its
//     limits and its faults. What differs between resources is a value of the rule or of its
//     table, not code here.
//  2. A [Body] collects all faults, in the order of the rules. A fault that replaces the whole
//     reply ends the check, as the original stops there.
//  3. Checks and conversions take any value, in time linear in its size, and never panic.
//  4. The store is asked only for the codes that an option refers to, through a [Codes],
//     and no more once the body has been checked.
//
// # How it is tested
//
// Tables of values from the specification, for each kind of value; fuzz targets for all that
// is parsed. The tests of package mapping send every value through the calls that use it.
//
// # Listquery
//
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
//
// # Phptime
//
// Package phptime parses dates and times as PHP's function strtotime does, which the original
// system applies to the ends of a range in a filter (wire 10.9).
//
// # Principles
//
//  1. A text is a sequence of tokens, such as a date, a time, a time zone or "+1 day". The
//     longest token wins. Each kind may occur once, except relative ones.
//  2. The time zone is UTC unless the text names another one. What the text leaves open
//     comes from the current time.
//  3. Input may come from anybody: long texts, and texts of many tokens, are refused before
//     they cost time.
//
// Not supported are names of places as time zones, weeks by number, weekdays of a month such as
// "first monday of", Roman numerals for months, and numbers as words.
//
// # How it is tested
//
// A table holds what PHP 8.2 makes of some hundred texts. A fuzz target checks that no text
// causes a panic.
package input
