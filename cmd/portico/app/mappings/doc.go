// Package mappings is the command "mapping": it helps to write the mapping file of a backend.
// Package reststore has all that is known about mapping files.
//
// # How it is tested
//
// As users run it: the tests write mapping files, and try them against a small backend.
package mappings
