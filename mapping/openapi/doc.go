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
//
// # Reference
//
// Package reference renders the reference pages of the interface: its calls with their roles,
// parameters, fields, errors and an example, and the differences of its dialects.
//
// # Principles
//
//  1. The parts are made from the OpenAPI document and from the table of differences, so that
//     pages describe the served interface.
//  2. They are parts of pages: the server of the pages has the frame and the style sheet.
//     They need no script and no style of their own.
//
// # How it is tested
//
// Every call and every field of the documents is on the page, every link has its target, and
// texts from a store are escaped. Package app has the pages of a whole program, and a browser
// looks at them.
//
// # Landing
//
// Package landing serves the page for people who open the address of the contract in a browser.
// It describes the service and, in a demo, shows examples to try.
//
// # Principles
//
//  1. Only browsers get the page: [Page.Wanted] is true for GET and HEAD requests of "/", and of
//     the topics of a demo, whose Accept header prefers HTML, as every browser's does. All other
//     clients are answered as if there were no page.
//  2. Strangers learn the name of the shop and the dialect, but no version.
//  3. The page has no script, and asks no other host for anything.
//
// # How it is tested
//
// Requests as clients send them, and a fuzz target for Accept; in cmd/portico/app, a whole
// server with and without a legacy store, and a browser.
package openapi
