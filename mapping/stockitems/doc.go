// Package stockitems handles the calls on stock items, and has the rules of what a save of a
// stock item entails.
//
// # Principles
//
//  1. A save makes its decisions inside the backend's transaction, from the stored values and
//     those that were sent (rules.go). Package writes saves the stock item of a product by the
//     same rules.
//  2. A batch update saves item by item; a failure neither stops nor undoes the others. Batches
//     run one after the other (items.go).
//
// # How it is tested
//
// Tests in package mapping check each rule in both dialects, what else a save changes, and batch
// updates that overlap.
package stockitems
