// Package magento1 reads a legacy system, the database of Magento 1 or OpenMage: the records
// of a whole shop, credentials, and what its configuration says. It returns them as records
// and credentials of package adapter, with the ids that they have there.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the server itself
//     makes read-only (MySQL 5.6.5, MariaDB 10.0 or later).
//  2. The shop may be running. Records are read in batches of bounded size by ascending id,
//     each in a short transaction of its own, so that a record is consistent with its parts
//     and neither locks nor old row versions are held for long. Memory use does not grow with
//     the shop, except for the parents of the categories and the last login time of each
//     customer. Options.Rate leaves the database time for the shop. A batch is read once
//     more if the connection is lost.
//  3. The schemas decide what is read: every column or EAV attribute with the name of an
//     attribute of the record, including those that the store's configuration adds.
//     Attributes and entity types are found by their codes, never by ids, which differ
//     between shops. Tables in this package list the columns that have other names, are in
//     other places or may be missing. Columns and tables that only later versions have may
//     be missing, which is reported; without a table that every version since 1.4.1 has,
//     reading fails.
//  4. Values of store views are read as they are stored, whatever the scope of the
//     attribute: a row is a value, NULL is null, and no row is absent. What the old shop
//     computes when it is read or indexed is computed here or read from its index:
//     reviews, custom options, stock status, prices of catalogue price rules.
//  5. Values that the contract cannot hold are converted as it requires: a zero date is null,
//     or, as the time of a record, the record's other time, or 1970-01-01 00:00:00, a
//     decimal has four decimal places, a gender is 1 or 2 in the order of the attribute's
//     options.
//  6. Everything in a table that no record holds is reported ([Skipped]): rows that refer to
//     nothing, values that are none, ids that are not positive or beyond 2^53, attributes
//     that the configuration does not have. Rows of deleted records are found between the
//     ids of the others; of those after the last one only the first thousand are.
//  7. Times are read as UTC, which is how these shops store them. A time_zone in the DSN
//     overrides that.
//  8. A program that follows a shop learns which records have changed, and then reads them as
//     they are now. A read by [Database.ReadFrom] includes all changes up to a given position in
//     the server's binary log. Package rowchanges says which records a row belongs to.
//  9. Errors and reports contain neither the DSN nor values of rows.
//
// # How it is tested
//
// The tests read from a MariaDB with three shops (package magento1test): one with broken
// rows, and two that an original filled. Cases name what the rows of the largest one mean.
// Further tests change the shops: table prefixes, missing tables, columns and rights, lost
// connections, other character sets, rows that refer to nothing, and more rows than one
// batch holds. Fuzz tests convert arbitrary column values.
//
// # Server
//
// Package server reads rows from the database server of a legacy shop, MySQL 5.6.5 or MariaDB 10.0
// or later, and knows nothing of what they mean.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the server itself
//     makes read-only. It runs once more if the connection is lost ([Conn.Retry]).
//  2. The shop may be running. There is one connection, and Options.Rate leaves the server time
//     for the shop.
//  3. All rows come from the same server: if another one has taken its place, reading fails.
//  4. A snapshot can be made to hold everything up to a place in the server's binary log
//     ([Conn.ReadFrom]).
//  5. Errors say what an administrator can do, and contain neither the DSN nor values of rows.
//
// # How it is tested
//
// With servers that hang, that change behind an address, and that only know old versions of
// TLS. Package magento1 reads through it, and tests lost connections, missing rights and character
// sets with whole shops; package binlog tests snapshots.
//
// # Restroles
//
// Package restroles reads the rights of REST roles in a shop of Magento 1 or OpenMage: which calls
// an administrator or a Customer may make, and which fields each kind of user may read and write.
//
// # Principles
//
//  1. What a role does not name is not allowed, as in the shop: a missing role allows nothing, and a
//     missing list no field. Only a version without the tables has no limits.
//  2. Names of roles and rules are texts of the shop. What is said of them is one line of bounded
//     length that a terminal can show.
//
// # How it is tested
//
// By the tests of package magento1, with the tables of a shop on a real server.
package magento1
