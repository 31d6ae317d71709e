// Package gate stands before the legacy system: it decides which calls may be forwarded there,
// signs them again, caches replies, and says which records forwarded writes have changed.
//
// # Principles
//
//  1. Calls that the legacy system answers run no handler. If they have to be signed again, they
//     pass the first steps of the pipeline, so that a caller is refused as Portico would refuse
//     it.
//  2. A cached reply depends on nothing that its key does not cover: only some headers of the
//     client are sent for it.
//  3. What a forwarded write may have changed is invalidated before its reply is sent.
//
// It imports the finder of products, because a path may name a product by its SKU, and no other
// part of the handlers.
//
// # How it is tested
//
// Fuzz tests decode cached replies. Package mapping tests which records a write names, and package
// httpapi forwards calls to a server.
package gate
