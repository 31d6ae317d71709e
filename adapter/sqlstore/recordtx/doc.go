// Package recordtx writes records, as package rules decides.
//
// # Principles
//
//  1. What a write entails is decided by package rules, whose transactions [Tx] implements. On
//     servers its named locks are rows of write_lock.
//  2. A write locks what it depends on before it reads it. What belongs to a customer is locked after
//     the customer.
//  3. Derived data is stored only if no index can provide it: the product listing (listing.go), which
//     is updated in the transaction that changes its sources.
//  4. Data of another system is stored under its ids and unchanged, with a transaction for each batch.
//
// # How it is tested
//
// By the conformance suite of package adaptertest, which package sqlstore runs on all engines.
package recordtx
