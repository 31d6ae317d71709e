// Package customers handles the calls on customers and their addresses.
//
// # Principles
//
//  1. Package input checks bodies by the rules of the contract; form.go adds the checks that only
//     customers and addresses need: the options of the shop, and regions, which depend on the
//     country of the address (directory.go).
//  2. A call looks up the record before it checks the fields, as the original does, and passwords
//     are hashed before the write's transaction.
//
// Files: customers.go and addresses.go have the calls.
//
// # How it is tested
//
// The tests of package mapping cover the values of each field, odd bodies, which roles read and
// write which records, and overlapping writes.
package customers
