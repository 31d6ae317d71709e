// Package backups writes a database and its images into one archive, and restores them from it.
//
// # Principles
//
//  1. All rows of an archive are of one moment: they are read in one transaction that sees a
//     snapshot, while clients go on writing. The images that these rows name follow. Bytes of an
//     image never change under its name, and are never removed while the store is in use.
//  2. Running the migrations on an empty SQLite file yields the list of tables: a new table is in
//     every backup without being listed anywhere. Tables about the processes that use a database,
//     and about its identity, are left out: a restored database is a different one.
//  3. Rows are JSON, in the same form on all engines. Values that Portico encrypts stay encrypted.
//  4. The last entry of an archive is its manifest, with the number of rows and a checksum of each
//     table and of the images. Without it an archive is refused: it ends too early.
//  5. The rows are restored in one transaction, which commits only after the rows and images have
//     been compared with the manifest. A database is either restored completely or unchanged.
//  6. The same transaction renews the epoch of the store, so that no process uses older replies
//     from its own cache or from Redis.
//  7. Memory is bounded by a piece of a table and the names of the images.
//
// # How it is tested
//
// On every engine: back up while clients write, drop everything, restore, and compare all tables and
// images; with archives that are cut off and changed at every part; and by killing the program.
package backups
