// Package rowchanges says which records, credentials and settings of a legacy shop a changed row
// of its database concerns.
//
// # Principles
//
//  1. Which records a row belongs to, and what foreign keys do when it is deleted, is a table
//     (tables.go). It follows from what package magento1 reads, and from the foreign keys of a
//     shop.
//  2. A [Set] names records, and never says what they are like now. It names more than changes
//     where that is simpler: reading a record again does no harm. Its size is bounded.
//  3. Ids that lead to a record only through another table are looked up when the set is read,
//     so that a row can be added without the database.
//
// # How it is tested
//
// The meaning of each table of a shop is held, and compared with the shop's foreign keys. Package
// binlog tests it with the log of a real server.
package rowchanges
