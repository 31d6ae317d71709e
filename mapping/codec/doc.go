// Package codec decodes request bodies into trees of [Node], renders trees as reply bodies, and
// negotiates formats by the request headers (wire 5 to 8).
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
//     entities are never fetched.
//  4. Rendering cannot fail: [Append] writes a well-formed document for every tree, exactly in
//     the form that the contract defines, and [Encoder] writes the same bytes piece by piece.
//  5. The package knows nothing about resources, roles or dialects.
//
// # How it is tested
//
// Table tests follow the rows of the specification. Golden files in testdata contain one tree
// in all three formats. Every parser has a fuzz target, which checks that nothing panics and
// that decoded trees can be rendered and decoded again. Bomb tests check the limits of
// principle 3.
//
// # Numeric
//
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
package codec
