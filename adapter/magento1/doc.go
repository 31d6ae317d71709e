// Package magento1 reads customers, addresses, orders and credentials out of a
// database of Magento 1 or OpenMage, as the records and credentials of package
// adapter, under the ids they have there.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the
//     server itself keeps from writing (MySQL 5.6.5, MariaDB 10.0 or later).
//  2. A shop is read while it runs: in batches of bounded size by ascending id, each in
//     a short transaction of its own, so that a record and its parts are of one moment
//     and no lock or old version of a row is held for long. Memory does not grow with
//     the shop, but for the time of each customer's last log-in.
//  3. The schemas say what is wanted. A column or an EAV attribute is read when it is
//     called as an attribute of the record, those that the store's configuration adds
//     included. Where it is called otherwise, lies elsewhere or may be missing is a row
//     of a table. A shop that lacks a column or a table that came late has no such
//     values; one that lacks a table every version has is a fault.
//  4. What the contract cannot hold becomes what it says of it: a date of zeros is no
//     date, a decimal has four places, a gender is 1 or 2 in the order of the
//     attribute's options.
//  5. Times are taken as UTC, which is how these shops keep them. A time_zone in the
//     DSN is heeded for a shop that does not.
//  6. No error holds the DSN, and none a value of a row.
//
// # How it is tested
//
// Against a MariaDB with such tables, which the tests fill: with a table prefix, NULLs,
// zero dates, deleted customers, guests' orders, texts in several scripts, and more rows
// than a batch holds. Fuzzing reads hostile column values.
package magento1
