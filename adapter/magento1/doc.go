// Package magento1 reads the database of a legacy store, Magento 1 or OpenMage: the records of the
// whole store, credentials, the rights of REST roles, and settings. It returns records and
// credentials as types of package adapter, with their legacy ids.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the server itself makes
//     read-only (MySQL 5.6.5, MariaDB 10.0 or later).
//  2. The legacy store may be running. There is one connection. Records are read in batches of
//     bounded size by ascending id, each in a short transaction of its own, so that a record is
//     consistent with its parts and neither locks nor old row versions are held for long. Memory
//     use does not grow with the store, except for the parents of the categories and the last login
//     time of each customer. [ServerOptions] can limit the rows read per second. While a batch is
//     used, the next one is read. A batch is read once more if the connection is lost; if another
//     server has taken the first one's place, reading fails.
//  3. The schemas decide what is read: every column or EAV attribute with the name of an attribute
//     of the record, including attributes that the configuration adds. Attributes and entity types
//     are found by their codes, never by ids, which differ between stores. Tables in this package
//     list the columns that have other names, are in other places or may be missing. Columns and
//     tables that only later versions have may be missing, which is reported; without a table that
//     every version since 1.4.1 has, reading fails.
//  4. Values of store views are read as they are stored, whatever the scope of the attribute: a row
//     is a value, NULL is null, and no row is absent. Values that the original computes on reading
//     or indexing are computed here or read from its index: reviews, custom options, stock status,
//     prices of catalogue price rules.
//  5. Values that the contract cannot hold are converted as it requires: a zero date is null, or,
//     as the time of a record, the record's other time or 1970-01-01 00:00:00; a decimal has four
//     decimal places; a gender is 1 or 2 in the order of the attribute's options.
//  6. All rows and values that no record holds are reported ([Skipped]): rows with a reference to a
//     missing row, invalid values, ids that are not positive or beyond 2^53, attributes that the
//     configuration does not have. Rows of deleted records are found between the ids of existing
//     records; after the last one, only the first thousand are found.
//  7. Times are read as UTC, in which these stores hold them. A time_zone in the DSN overrides
//     that.
//  8. A program that follows a legacy store learns from package binlog which records have changed,
//     and then reads their current values. A read by [Database.ReadFrom] includes all changes up to
//     a given position in the server's binary log.
//  9. A REST role allows only the calls and fields that it names, as in the original: a missing
//     role allows nothing, and a missing list no field. Only a version without the tables has no
//     limits ([Roles]).
//  10. Errors help an administrator to act. Errors and reports contain neither the DSN nor values
//     of rows. Names of roles and rules are shown as one printable line of bounded length.
//
// # How it is tested
//
// The tests read from a MariaDB with three stores (package magento1test): one with broken rows, and
// two that an original filled. Cases name the meaning of the rows of the largest one. Further tests
// change the stores: table prefixes, missing tables, columns and rights, lost connections, other
// character sets, and more rows than one batch holds. Servers hang, change behind their address, or
// know only old versions of TLS. Fuzz tests convert arbitrary column values. Package binlog tests
// snapshots.
package magento1
