// Package contract describes the store REST contract as data: its calls, who may make
// them, their default formats, the fields of its records and the texts of its errors, in
// all dialects.
//
// In this package and its callers, "the document" is the contract document, which the
// documented dialect follows, and "the original" is the shop software whose behavior the
// magento dialect reproduces.
//
// # Principles
//
//  1. Data, not code: a difference between calls, roles, fields or dialects is a row of a
//     table here; the pipeline in package mapping reads the tables and holds all code.
//  2. The route table is the only place that registers a call. A call that is not in the
//     table does not exist.
//  3. A dialect is a value. A difference between the dialects is a cell of a row or a
//     named flag of [Dialect]; handlers never test which dialect they serve.
//  4. [NewFields] applies the store's configuration (added fields, fields withheld from a
//     role) once, when it builds the tables. No other code knows about it.
//  5. The tables use the notation of the contract, so that a reader can compare them with
//     it line by line.
//
// # How it is tested
//
// Table tests compare the rows with the matrix of roles and methods and with the order in
// which routes are tried; package mapping verifies that every served call has a handler
// and every handler a call; the recorded exchanges verify the texts.
package contract
