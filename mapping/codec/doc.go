// Package codec decodes request bodies into trees of [Node], renders trees as reply bodies,
// negotiates formats by the request headers (wire 5 to 8), and parses and formats the numbers of
// the contract.
//
// # Principles
//
//  1. A [Node] preserves exactly the properties that the contract's rules depend on: the order
//     of members, and whether a number was sent as a number or as text.
//  2. Decoding is strict. [Decode] accepts one complete well-formed document; everything else
//     is [ErrSyntax] or [ErrAlphabet]. Libraries do the parsing; this package makes the checks
//     that they lack.
//  3. All input is untrusted. Depth, number of values and expansion of entities are limited,
//     and the time is linear in the size of the input, which the caller limits. External
//     entities are never fetched. No function panics.
//  4. Rendering cannot fail: [Append] writes a well-formed document for every tree, exactly in
//     the form that the contract defines, and [Encoder] writes the same bytes piece by piece.
//  5. The whole contract has one grammar of numbers in text: white space, a sign, digits with an
//     optional point, an exponent. It has no hexadecimal digits, underscores or words for infinity.
//     An integer that fits 64 bits is never converted to a float.
//  6. The package knows nothing about resources, roles or dialects.
//
// # How it is tested
//
// Table tests follow the rows of the specification (wire 2 and 5 to 10, stock_orders 2.3 and 2.4).
// Golden files in testdata contain one tree in all three formats. Every parser has a fuzz target,
// which checks that nothing panics, that decoded trees can be rendered and decoded again, and that
// the parsers of numbers agree with each other. Bomb tests check the limits of principle 3.
package codec
