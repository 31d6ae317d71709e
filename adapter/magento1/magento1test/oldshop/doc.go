// Package oldshop lets tests run a legacy system: its database, which package magento1test
// creates, changes as that of a running shop does.
//
// A [Shop] does what an administrator and a checkout do to the tables. An [Adapter] serves
// the tables, so that a Portico with it answers as the legacy system's REST interface does,
// and clients' writes are in the tables.
//
// # Principles
//
//  1. Each action is one transaction that writes the rows the original writes, in the tables
//     that package magento1 reads. It locks the rows that it depends on, and runs again
//     after a deadlock.
//  2. The adapter answers from the tables as they are: a read that begins after a commit
//     shows it, whoever has committed. It reads through package magento1 into a memstore,
//     again whenever the checksum of a table has changed. That takes a time proportional
//     to the shop, so shops must be small.
//  3. A write locks the rows of its record, is executed by a copy of that memstore, and then
//     stored value by value: only what differs is written, so that it takes nothing back
//     that others change in the same record.
//  4. Actions with a random source do the same for the same source and tables.
//
// Clients only read orders and images. The shop's configuration and the time of customers'
// last log-in are not followed. As in the original, nothing prevents two products from
// getting the same SKU at the same moment.
//
// # How it is tested
//
// The tests of this package compare what the adapter returns with the tables after actions
// and writes, also concurrent ones. Tests of cmd/portico/app replay the recordings of the
// original.
package oldshop
