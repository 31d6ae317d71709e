// Package writes handles the calls that create, change and delete products.
//
// # Principles
//
//  1. Everything that can be checked without stored values is checked before the transaction, in
//     the order of the original (check.go). Package input checks fields by the rules of the
//     contract.
//  2. The values that a save derives from stored ones are a pure function of these, since the store
//     may call it again (change.go).
//  3. The stock item of a product is part of the same save (stock.go).
//
// Files: calls.go has the calls, pricelists.go stores group and tier prices, layoutupdate.go checks
// layout updates, stockdata.go reads the stock in a body, and writes.go has the types that they
// share.
//
// # How it is tested
//
// Tests here check and change products without a store, and fuzz odd values for every field. Tests
// of package mapping save products in both dialects.
package writes
