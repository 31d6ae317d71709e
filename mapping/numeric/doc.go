// Package numeric parses and formats numbers according to the contract.
//
// # Principles
//
//  1. One grammar of numeric text for the whole contract: white space, a sign, digits with an
//     optional point, an exponent. No hexadecimal, no underscores, no words for infinity.
//  2. Every function accepts any text and any float, takes time linear in the length of its
//     input, and never panics.
//  3. An integer that fits 64 bits is never converted to a float.
//
// # How it is tested
//
// Table tests use the examples of the specification (wire 2, 6.2, 7 and 10, stock_orders 2.3 and
// 2.4). A fuzz target checks that the parsers agree with each other and that formatted numbers
// can be parsed again.
package numeric
