// Package recordtx writes records, as package rules decides.
//
// # Principles
//
//  1. Package rules decides the consequences of a write; [Tx] implements its transactions. On
//     servers its named locks are rows of write_lock.
//  2. A write locks the records that it depends on before it reads them. Records that belong to a
//     customer are locked after the customer.
//  3. Derived data is stored only if no index can provide it: the product listing (listing.go), which
//     is updated in the transaction that changes its sources.
//  4. Data of another system is stored under its ids and unchanged, with a transaction for each batch.
//
// # How it is tested
//
// By the conformance suite of package adaptertest, which package sqlstore runs on all engines.
package recordtx
