// Package expr TODO.
//
// # Graphql
//
// Package graphql prepares the documents of GraphQL requests and checks responses to them.
// It knows no schema: only the backend knows whether it has the fields of a document.
//
// # Principles
//
//  1. A document has one operation, a query or a mutation, and gets the fragments that it
//     uses, also indirectly. Faults that can be found without a schema are found when it is
//     parsed, each with its line.
//  2. A response with errors has no data, even if it has some: a null in it may stand for a
//     value that could not be read.
//
// # How it is tested
//
// By tables of documents and responses, and by fuzz targets for both. Package reststore
// tests it against servers that execute GraphQL.
//
// # Jq
//
// Package jq has the functions that expressions of mapping files can call in addition to
// jq's own, reads the numbers in documents and in the results of expressions, evaluates
// expressions that need no interpreter, and finds the keys of the objects that an expression
// constructs.
//
// # Principles
//
//  1. Numbers are converted exactly, without floating point, and are bounded in length and
//     exponent.
//  2. Errors contain no values, which may be personal data.
//
// # How it is tested
//
// Through expressions, by the tests of package reststore; shortcuts against the interpreter.
//
// # Rawjson
//
// Package rawjson extracts values from JSON texts without decoding the rest: the documents
// in a response, and the ids and cursors in them.
//
// # Principles
//
//  1. A text is hostile. All of it must be valid JSON, of bounded depth where it is decoded.
//  2. Values are slices of the text. Only requested values are decoded.
//  3. Errors name paths, not values, which may be personal data.
//
// # How it is tested
//
// Through the responses of backends that are healthy, faulty or hostile, by the tests of
// package reststore.
package expr
