// Package binlog finds the records, credentials and settings of a legacy store that have changed.
// It reads the binary log of the store's database server: MySQL 5.7 or later with GTIDs, or MariaDB
// 10.2 or later.
//
// # Principles
//
//  1. The log only identifies changed records. Of its rows, only the columns that [Table] names are
//     decoded, mostly ids; rows of other tables are not decoded at all. The current records are
//     then read from the tables, in a snapshot that holds the change
//     ([magento1.Database.ReadFrom]). So it does no harm to read an event twice, or to name a
//     record that has not changed.
//  2. A table (tables.go) lists the records that a row of each table belongs to, and the rows that
//     foreign keys delete along with it, which the log does not have. It follows from the columns
//     that package magento1 reads.
//  3. If the exact records cannot be determined, more are named, never fewer. A statement in place
//     of rows, a changed schema, TRUNCATE, rows without the necessary columns and rows that cannot
//     be decoded stand for all records of the table, with a [Finding] if an administrator should
//     act.
//  4. [ErrGap] means that the log cannot be continued and everything must be compared: the log has
//     been purged or reset, belongs to another server, or has an event that cannot be decoded.
//  5. A batch holds whole transactions, so that records of one transaction that block each other
//     can be stored together. Changes of an XA transaction come when it is committed, not when it
//     is prepared.
//  6. Reading never waits for the consumer of the batches. Changes that have not been taken are
//     combined in a [Set] of bounded size, which names a whole part of the store if too many of its
//     records have changed. Reading takes the memory of one event and this set, however large a
//     transaction is; except with MySQL's binlog_transaction_compression.
//  7. A row can be added to a [Set] without the database. Ids that lead to a record only through
//     another table are looked up when the set is read.
//  8. No error and no log line contains values of rows.
//
// # What it does not notice
//
// Changes without a log: by a session with sql_log_bin = 0, or in a table that the server's
// configuration leaves out. Values of an attribute whose eav_attribute.backend_table is a table of
// its own. A program that follows a legacy store finds these by comparing all records from time to
// time.
//
// # How it is tested
//
// On a MariaDB 10.11 with a store of package magento1test whose rows, columns and formats change,
// and with commits that the server holds back between its log and its tables. The table of foreign
// keys is compared with the foreign keys of a store. Fuzz tests decode broken rows and statements.
// MySQL differs in its GTIDs and in the statements that return the end of the log: this code
// follows the documentation, is tested with events made by hand, and has not been tried with a
// server.
package binlog
