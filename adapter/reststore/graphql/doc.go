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
package graphql
