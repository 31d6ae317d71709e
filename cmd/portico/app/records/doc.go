// Package records has the commands that bring records into Portico's database, or take them out:
// seed, import, follow, export, and ids for the ID map.
//
// The commands are flags, texts and reports. Package transfer copies an old shop, package follow
// follows it, and package replica joins a backend.
//
// # How it is tested
//
// By the tests of package app, which run the commands with real databases. The tests here check
// how files are read and written.
//
// # Mappings
//
// Package mappings is the command "mapping": it helps to write the mapping file of a backend.
// Package reststore has all that is known about mapping files.
//
// # How it is tested
//
// As users run it: the tests write mapping files, and try them against a small backend.
//
// # Erase
//
// Package erase has the command "portico erase", which erases a customer from the database and from
// the folder of recordings, and prints a receipt that names nobody.
//
// # How it is tested
//
// With the program: a customer is erased, and then no file and no table has the e-mail address or the
// names. Package erasures of the SQL store is tested on every engine.
//
// # Backup
//
// Package backup has the commands that save Portico's database with its images, and bring it back:
// "portico backup" and "portico restore".
//
// The commands are flags, texts and files; package backups of the SQL store has the archive. A file
// appears under its name when it is complete and on disk, and never replaces another one.
//
// # How it is tested
//
// With the program: on every engine, everything is destroyed and restored, and the program is killed
// in the middle of a backup.
package records
