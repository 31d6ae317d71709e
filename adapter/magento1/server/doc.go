// Package server reads rows from the database server of a legacy shop, MySQL 5.6.5 or MariaDB 10.0
// or later, and knows nothing of what they mean.
//
// # Principles
//
//  1. Nothing is written. Every statement is a SELECT in a transaction that the server itself
//     makes read-only. It runs once more if the connection is lost ([Conn.Retry]).
//  2. The shop may be running. There is one connection, and Options.Rate leaves the server time
//     for the shop.
//  3. All rows come from the same server: if another one has taken its place, reading fails.
//  4. A snapshot can be made to hold everything up to a place in the server's binary log
//     ([Conn.ReadFrom]).
//  5. Errors say what an administrator can do, and contain neither the DSN nor values of rows.
//
// # How it is tested
//
// With servers that hang, that change behind an address, and that only know old versions of
// TLS. Package magento1 reads through it, and tests lost connections, missing rights and character
// sets with whole shops; package binlog tests snapshots.
package server
