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
package records
