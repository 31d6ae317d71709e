// Package magento1 reads customers, addresses, orders and credentials from a legacy system,
// the database of Magento 1 or OpenMage. It returns them as records and credentials of
// package adapter, with the ids that they have there.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the server itself
//     makes read-only (MySQL 5.6.5, MariaDB 10.0 or later).
//  2. The shop may be running. Records are read in batches of bounded size by ascending id,
//     each in a short transaction of its own, so that a record is consistent with its parts
//     and neither locks nor old row versions are held for long. Memory use does not grow with
//     the shop, except for the last login time of each customer.
//  3. The schemas decide what is read: every column or EAV attribute with the name of an
//     attribute of the record, including those that the store's configuration adds. Tables in
//     this package list the columns that have other names, are in other places or may be
//     missing. Columns and tables that only later versions have may be missing; without a
//     table that every version has, reading fails.
//  4. Values that the contract cannot hold are converted as it requires: a zero date is null,
//     a decimal has four decimal places, a gender is 1 or 2 in the order of the attribute's
//     options.
//  5. Times are read as UTC, which is how these shops store them. A time_zone in the DSN
//     overrides that.
//  6. Errors contain neither the DSN nor values of rows.
//
// # How it is tested
//
// The tests read from a MariaDB with such tables (package magento1test): with a table prefix,
// NULLs, zero dates, deleted customers, guests' orders, texts in several scripts, and more
// rows than one batch holds. Fuzz tests convert arbitrary column values.
package magento1
