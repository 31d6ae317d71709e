// Package rules holds what every write of a shop's records entails, whatever database
// stores them: that an update sets updated_at, that a customer has one default address of
// each kind, that a change at a store view is stored at the scope of its attribute, what a
// new image is numbered and named. A database implements [Database] and [Tx], which store
// records and know nothing of these rules, and gets its stores from [Stores].
//
// # Principles
//
//  1. A write is one transaction. It locks what it depends on before it reads it, and
//     returns an error for everything to be undone.
//  2. What belongs to a customer, a product or an order is locked after it. All writes of
//     one product, of its images and of its assignments therefore run one after the other.
//  3. Every write of a product, of its images or of its assignments is a save of the
//     product, at the default scope or at a store view: updated_at is set, and the images
//     keep what they show at that level (product_parts 2.7).
//  4. Where no unique key can decide, for the SKU and for file names, writes take a named
//     lock and run one after the other.
//  5. Callers' callbacks run within the transaction; their errors are returned unchanged.
//  6. Imports entail nothing: package imports, above this one, stores records as they are, in
//     the same transactions.
//
// Level means the default scope, 0, or a store view, by its id.
//
// # How it is tested
//
// Packages sqlstore and memstore use it. Each runs the conformance suite of package
// adaptertest, and sqlstore runs more tests of writes on all its engines.
package rules
