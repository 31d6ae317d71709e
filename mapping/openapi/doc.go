// Package openapi describes the interface as an OpenAPI 3.1 document, for generators of
// clients and for tools that check requests and answers.
//
// # Principles
//
//  1. The document is made from the tables of package contract, which the interface is served
//     from, and from the schemas of package adapter. Facts that no table has, such as the type
//     of a computed field, are written here once (computed.go), and the recordings verify
//     them.
//  2. A document belongs to a dialect and to a store: its own attributes are in it, and fields
//     that it withholds from every role are not.
//  3. Schemas are closed and have names. A record of several roles is one schema, in which no
//     field is required; extensions list the readers of a field and the views that show it.
//  4. Facts that OpenAPI cannot express are in extensions that begin with x-, and the
//     description of the document names them.
//  5. The same options give the same bytes.
//
// # How it is tested
//
// An independent library finds no fault in the documents, and at night another one finds none
// either. Every recorded exchange of the contract suite is checked: each request that the
// contract accepts and each answer, in JSON and in XML, conforms to the document of its
// dialect, apart from a table of deviations with their reasons. Renaming any field of a schema
// makes a recorded answer fail.
package openapi
