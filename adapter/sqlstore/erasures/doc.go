// Package erasures erases a customer from all tables.
//
// # Principles
//
//  1. The customer, the addresses, the tokens and API keys, and their data in an outbox, an ID map
//     and logs of imports are deleted.
//  2. Orders are records of the store's books: their numbers, times, lines and amounts stay. Values
//     that identify the person who ordered are overwritten with NULL, also in orders that were placed
//     as a guest with the same e-mail address. The country of an address stays, because taxes depend
//     on it.
//  3. Notes in free text that have the e-mail address are deleted, wherever they came from.
//  4. All of it is one transaction. A receipt counts rows, and contains no names. The caller can note it
//     in the same transaction, so that a process that dies behind the commit leaves it for the next one.
//
// # How it is tested
//
// On every engine: a customer gets something in every table that can hold it, is erased, and then no
// column of any table has the e-mail address, the names or the address.
package erasures
