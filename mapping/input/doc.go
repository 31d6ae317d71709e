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
package input
