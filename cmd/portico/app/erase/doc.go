// Package erase has the command "portico erase", which erases a customer from the database and from
// the folder of recordings, and prints a receipt that names nobody.
//
// # How it is tested
//
// With the program: a customer is erased, and then no file and no table has the e-mail address or the
// names. Package erasures of the SQL store is tested on every engine.
package erase
