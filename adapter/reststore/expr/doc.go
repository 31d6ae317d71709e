// Package expr is the language side of mapping files: the documents of GraphQL requests, the jq
// expressions that convert values, and exact reading of the JSON in responses. It knows neither a
// backend nor a schema; package reststore sends the requests.
//
// # Principles
//
//  1. A GraphQL document has one operation, a query or a mutation, and gets the fragments that it
//     uses, also indirectly. Faults that can be found without a schema are found when it is parsed,
//     each with its line.
//  2. A GraphQL response with errors has no data, even if it has some: a null in it may stand for a
//     value that could not be read.
//  3. Expressions can call [Functions] in addition to jq's own. A [Shortcut] evaluates an
//     expression that needs no interpreter, and must give the interpreter's result.
//  4. Numbers are converted exactly, without floating point, and are bounded in length and
//     exponent.
//  5. JSON in a response is hostile. All of it must be valid, and of bounded depth where it is
//     decoded. Values are slices of the text, and only requested values are decoded.
//  6. Errors contain paths, not values, which may be personal data.
//
// # How it is tested
//
// Tables and fuzz targets cover documents and responses; shortcuts are compared with the
// interpreter. The tests of package reststore do the rest, with backends that are healthy, faulty
// or hostile, and with servers that execute GraphQL.
package expr
