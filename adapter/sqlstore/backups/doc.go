// Package backups writes a database and its images into one archive, and restores them from it.
//
// # Principles
//
//  1. All rows of an archive are of one moment: they are read in one transaction that sees a
//     snapshot, while clients go on writing. Then come the images that these rows name. Bytes of an
//     image never change under its name, and are never removed while the store is in use.
//  2. The tables are those that the migrations make, found by running them on an empty SQLite file:
//     a new table is in every backup without being listed anywhere. Left out are the tables about the
//     processes that use a database, and about what database it is: a restored one is another one.
//  3. Rows are JSON, in the same form on all engines. Values that Portico encrypts stay encrypted.
//  4. The last entry of an archive is its manifest, with the number of rows and a checksum of each
//     table and of the images. Without it an archive is refused: it ends too early.
//  5. The rows are restored in one transaction, which commits after the manifest has been compared
//     with what was read. A database is either restored whole or as it was.
//  6. The same transaction renews the epoch of the store, so that no process uses what it, or a Redis,
//     has cached from before.
//  7. Memory is bounded by a piece of a table and the names of the images.
//
// # How it is tested
//
// On every engine: back up while clients write, drop everything, restore, and compare all tables and
// images; with archives that are cut off and changed at every part; and by killing the program.
package backups
