// Package stockitems handles the calls on stock items, and has the rules for the side effects of
// a save of a stock item.
//
// # Principles
//
//  1. A save makes its decisions inside the backend's transaction, from the stored and the sent
//     values (rules.go). Package writes saves the stock item of a product by the same rules.
//  2. A batch update saves item by item; a failure neither stops nor undoes the others. Batches
//     that overlap have the result of some order of whole batches (items.go): the database
//     stores each in one transaction with its rows locked, across all processes. With another
//     backend this holds for the batches of one process, which run one after the other.
//
// # How it is tested
//
// Tests in package mapping check each rule in both dialects, the side effects of a save, and
// batch updates that overlap in one process. Tests of several processes are in package
// endurance.
package stockitems
