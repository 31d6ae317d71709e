// Package codec turns request bodies into trees of [Node] and trees into reply
// bodies, and finds out from the headers which format is meant (wire 5 to 8).
//
// # Principles
//
//  1. A [Node] keeps what the contract's rules depend on and no more: the order
//     of the members, and whether a number was sent as number or as text.
//  2. Decoding is strict. What [Decode] accepts is one well-formed document of
//     its format, whole; all else is [ErrSyntax] or [ErrAlphabet]. The parsers
//     of the libraries do the parsing; what they let pass is checked here.
//  3. Every input is hostile. Depth, number of values and growth of entities
//     are bounded, and the time is linear in the size of the input, which the
//     caller bounds. Nothing is ever fetched.
//  4. Rendering cannot fail: [Append] writes a well-formed document for every
//     tree, in the one form the contract lays down to the byte, and [Encoder]
//     the same bytes piece by piece.
//  5. No knowledge of resources, roles or dialects.
//
// # How it is tested
//
// Table tests go through the rows of the specification. Golden files under
// testdata hold one tree in all three formats. Every parser has a fuzz target,
// whose properties are that nothing panics and that what was decoded can be
// rendered and decoded again. Bomb tests hold the bounds of principle 3.
package codec
