// Package input parses and checks the input of clients. It checks the bodies of writes by the rules
// of package contract, and converts the values that clients sent into values that a store holds. It
// parses the list modifiers of a request (page, limit, order, dir, filter and attrs) into an
// [adapter.Query] and a selection of fields, or into the contract's fault (wire 10).
//
// # Principles
//
//  1. One rule language for all resources: a [contract.Rule] names the check of a field, its limits
//     and its faults. Differences between resources are values of the rule or of its table, not
//     code here.
//  2. Faults are detected in the contract's order. A [Body] collects all faults, in the order of
//     the rules. A fault that replaces the whole reply ends the check, as the original stops there.
//     For a list the order is page, limit, order, then the filter entries in the order sent, and
//     attrs last. Inputs that crash the original have faults of their own, whose rows in the fault
//     table define the reply in each dialect.
//  3. Loosely formatted input becomes canonical here: adapters get plain numbers, complete times
//     and known attributes, and parse nothing.
//  4. Checks and conversions take any value and never panic. Their time is linear in the size of
//     the value; long texts, and texts of many tokens, are refused early where parsing costs more.
//  5. The store is asked only for the codes that an option refers to, through a [Codes], and no
//     more once the body has been checked.
//  6. [ParsePHPTime] parses the ends of a range of dates as PHP's function strtotime does, since
//     the original applies it (wire 10.9). A text is a sequence of tokens, of which the longest
//     wins, and each kind may occur once, except relative ones. The time zone is UTC unless the
//     text names another one, and the current time supplies the parts that the text omits. Not
//     supported are names of places as time zones, weeks by number, weekdays of a month such as
//     "first monday of", Roman numerals for months, and numbers as words.
//
// # How it is tested
//
// Tables of values from the specification, for each kind of value, operator, number format and
// limit; fuzz targets for everything that is parsed, including whole query strings. Generated dates
// are compared with a real MariaDB, by every operator, and some hundred texts with the results of
// PHP 8.2 (testdata/php.tsv). The tests of package mapping send every value through the calls that
// use it, and the contract suite covers every fault and every form of attrs.
package input
