// Package binlog says which records of a legacy system have changed, by reading the binary log
// of its database server: MySQL 5.7 or later with GTIDs, or MariaDB 10.2 or later.
//
// # Principles
//
//  1. The log says which records have changed, never what they are like. Its rows are
//     understood as little as possible: the columns that [Table] names, mostly ids.
//     Rows of other tables are not decoded. What records are like now is read from the
//     tables, in a snapshot that holds the change ([magento1.Database.ReadFrom]). So it
//     does no harm to read an event twice, or to name a record that has not changed.
//  2. What cannot be told exactly becomes more, not less. A statement in place of rows, a
//     changed schema, TRUNCATE, rows without the columns that count and rows that cannot be
//     decoded stand for all records of the table, with a [Finding] where somebody should do
//     something. What foreign keys delete is not in the log; the tables of package rowchanges
//     say what a deleted row takes along.
//  3. Where the log does not go on, [ErrGap] says that everything must be compared: it has been
//     purged or reset, it is another server's, or an event in it cannot be decoded.
//  4. A batch holds whole transactions of the source, so that records of one transaction that
//     block each other can be stored together. Those of an XA transaction come when it is
//     committed, not when it is prepared and logged.
//  5. Reading never waits for whoever takes the batches. Changes that nobody has taken are
//     combined in a set of bounded size, which names a whole part when too many of its
//     records have changed. The memory that reading takes is that of one event and this set,
//     however large a transaction is; except for MySQL's binlog_transaction_compression.
//  6. Values of rows are in no error and in no log.
//
// # What it does not notice
//
// Changes without a log: by a session with sql_log_bin = 0, or in a table that the server's
// configuration leaves out. Values of an attribute whose eav_attribute.backend_table is a table of
// its own. A program that follows a shop finds these by comparing all records from time to time.
//
// # How it is tested
//
// On a MariaDB 10.11 with a shop of package magento1test whose rows, columns and formats change,
// and by commits that the server is made to hold back between its log and its tables. Fuzz tests
// decode broken rows and statements. MySQL differs in the statements that ask where the log ends
// and in its GTIDs: that follows its documentation, is tested with events made by hand, and has
// not been tried with a server.
//
// # Rowchanges
//
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
package binlog
