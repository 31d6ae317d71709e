// Package numeric reads and writes numbers as the contract does.
//
// # Principles
//
//  1. One grammar of numeric text for the whole contract: white space, a sign,
//     digits with a point on either side or none, an exponent. No hexadecimal,
//     no underscores, no words for infinity.
//  2. Total functions: any text and any float has an answer, in time linear in
//     its length, and nothing panics.
//  3. A whole number that fits 64 bits never passes through a float.
//
// # How it is tested
//
// Table tests take their rows from the examples of the specification (wire 2,
// 6.2, 7 and 10, stock_orders 2.3 and 2.4). A fuzz target checks that the readers agree
// with each other and that what is written can be read back.
package numeric
