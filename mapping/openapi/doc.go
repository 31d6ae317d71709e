// Package openapi describes the interface: as an OpenAPI 3.1 document for generators of clients and
// for tools that check requests and replies ([Build]), as reference pages ([RenderReference]), and
// with a page for people who open the address of the contract in a browser ([LandingPage]).
//
// # Principles
//
//  1. The document is generated from the tables of package contract, which also define the served
//     interface, and from the schemas of package adapter. Facts that no table has, such as the type
//     of a computed field, are written here once (computed.go), and the recordings verify them.
//  2. A document belongs to a dialect and to a store: the attributes that the store adds are in it,
//     and fields that it withholds from every role are not. The same options give the same bytes.
//  3. Schemas are closed and have names. A record of several roles is one schema, in which no
//     field is required; extensions list the readers of a field and the views that show it. Facts
//     that OpenAPI cannot express are in extensions that begin with x-, and the description of the
//     document names them.
//  4. The reference shows calls with their roles, parameters, fields, errors and an example, and the
//     differences of the dialects. It is generated from the document. It consists of parts of
//     pages, which need no script and no style of their own: the server of the pages has the frame
//     and the style sheet.
//  5. Only browsers get the landing page: [LandingPage.Wanted] is true for GET and HEAD requests of
//     "/", and of the topics of a demo, whose Accept header prefers HTML. All other clients are
//     answered as if there were no page. The page shows strangers the name of the shop and the
//     dialect, but no version. It has no script, and asks no other host for anything.
//
// # How it is tested
//
// An independent library finds no fault in the documents, and another one finds none at night. Every
// recorded exchange of the contract suite is checked: each request that the contract accepts and
// each reply, in JSON and in XML, conforms to the document of its dialect, apart from a table of
// deviations with their reasons. Renaming any field of a schema makes a recorded reply fail. Every
// call and every field is on the reference pages, every link has its target, and texts from a store
// are escaped. A fuzz target covers Accept headers. The tests of package app serve the pages with
// the whole program, and open them in a browser.
package openapi
