// Package gate stands before the legacy store: it decides which calls may be forwarded there,
// signs them again, caches replies, and names the records that forwarded writes have changed.
//
// # Principles
//
//  1. Calls that the legacy store answers run no handler. If they have to be signed again, they
//     pass the first steps of the pipeline, so that a caller is refused as Portico would refuse
//     it.
//  2. A cached reply depends on nothing that its key does not cover: only some headers of the
//     client are sent for it.
//  3. Replies that a forwarded write may have changed are invalidated before its reply is sent.
//
// It imports the finder of products, because a path may name a product by its SKU, and no other
// part of the handlers.
//
// # How it is tested
//
// Fuzz tests decode cached replies. Package mapping tests the records that a write names, and
// package httpapi forwards calls to a server.
package gate
