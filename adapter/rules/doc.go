// Package rules holds the consequences that every write of a store's records has, whatever
// database stores them: an update sets updated_at, a customer has one default address of each
// kind, a change at a store view is stored at the scope of its attribute, and a new image
// gets a position and a file name. A database implements [Database] and [Tx], which store
// records without knowing these rules, and gets its stores from [Stores].
//
// # Principles
//
//  1. A write is one transaction. It locks the records that it depends on before it reads
//     them, and returns an error to undo everything.
//  2. Records that belong to a customer, a product or an order are locked after it. All
//     writes of one product, of its images and of its assignments therefore run one after
//     the other.
//  3. Every write of a product, of its images or of its assignments is a save of the
//     product, at the default scope or at a store view: updated_at is set, and the images
//     keep the values that they show at that scope (product_parts 2.7).
//  4. Where no unique key can decide, for the SKU and for file names, writes take a named
//     lock and run one after the other.
//  5. Functions of the caller run within the transaction; their errors are returned as
//     [adapter.RefusedError].
//  6. Imports have no consequences: package imports, above this one, stores records
//     unchanged, in the same transactions.
//
// A parameter named level is a scope: 0 for the default scope, or the id of a store view.
//
// # How it is tested
//
// Packages sqlstore and memstore use it. Each runs the conformance suite of package
// adaptertest, and sqlstore runs more tests of writes on all its engines.
package rules
