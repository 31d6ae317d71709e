// Package contract is the store REST contract as data: which calls there are,
// who may make them, what they answer by default, which fields records have and
// which texts refusals carry, in both dialects.
//
// # Principles
//
//  1. Data, not code: what differs between calls, roles, fields or dialects is a
//     row of a table here; the pipeline in package mapping reads the tables and
//     holds the only code.
//  2. The route table is the only registration of a call. What is not in it does
//     not exist.
//  3. A dialect is a value. Where the documented dialect and the original's
//     differ, the difference is a cell of a row or a named flag of [Dialect],
//     never a question a handler asks.
//  4. What a store's configuration makes of the fields, some of its own and some
//     that a role is kept from, is put into the tables once, as they are made
//     ([NewFields]). Nothing else knows of it.
//  5. The tables are written in the notation of the contract, so that they can
//     be held beside it.
//
// # How it is tested
//
// Table tests hold the rows against the matrix of roles and methods and against
// the order in which routes are tried; package mapping proves that every call
// that is served has a handler and every handler a call; the recorded exchanges
// prove the texts.
package contract
