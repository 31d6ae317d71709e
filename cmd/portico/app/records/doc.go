// Package records has the commands that bring records into Portico's database, or take them out:
// seed, import, follow, export, backup, restore and erase. The command ids works on the ID map, and
// mapping helps to write the mapping file of a backend.
//
// # Principles
//
//  1. The commands contain flags, texts, files and reports. The work is done elsewhere: package
//     importer copies a legacy store, package follow applies its changes, package replica joins a
//     backend, package reststore reads mapping files, package sqlstore erases customers, and package
//     backups writes and reads archives.
//  2. The file of a backup appears under its name when it is complete and on disk, and never replaces
//     another file.
//  3. "portico erase" erases a customer from the database and from the folder of recordings. The
//     receipt that it prints contains no name or e-mail address.
//
// # How it is tested
//
// The tests here check how files are read and written. Everything else is tested as users run it,
// with real databases: the tests of package importer cover import, follow, export and ids, the
// tests of package app cover mapping files, and contracttests/program covers the rest. There, no
// file and no table contains an erased customer's e-mail address or names; a backup restores a
// database that was destroyed, on every engine; and the program is killed in the middle of a
// backup.
package records
