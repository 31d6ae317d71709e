// Package magento1test creates databases of Magento 1 for tests, and changes them as a running
// legacy store does. A [LiveShop] changes the tables as an administrator and a checkout do. A
// [ShopAdapter] serves the tables, so that a Portico with it answers as the original's REST
// interface does, and stores the writes of clients in the tables.
//
// # Principles
//
//  1. The tables come from a late release with the keys that reads use (tables.sql). Tests of
//     older releases drop columns and tables. The database is on a real server, which package
//     sqltest starts.
//  2. Four stores have every case that a reader must handle. Broken is small and has rows that no
//     store should have (broken.sql). Demo and Rich are copies of databases that an original filled
//     (testdata): Rich has all types of products, values of store views, images, reviews, prices of
//     all kinds, and orders of every state. OwnAttributes is Rich with attributes of its own. These
//     have foreign keys (keys.sql), with which their rows agree; Broken cannot have any.
//  3. Each action of a [LiveShop] is one transaction that writes the rows the original writes. It
//     locks the rows that it depends on, and runs again after a deadlock. Actions with a random
//     source do the same for the same source and tables.
//  4. A [ShopAdapter] answers from the current tables: a read that begins after a commit returns
//     it, whichever client has committed. It reads through package magento1 into a memstore, again
//     whenever the checksum of a table has changed. That takes a time proportional to the store, so
//     stores must be small.
//  5. A write of a client locks the rows of its record, is executed by a copy of that memstore, and
//     is then stored value by value. Only changed values are written, so that concurrent changes of
//     other values in the same record are not undone.
//
// Clients only read orders and images. The settings and the time of customers' last log-in are not
// followed. As in the original, nothing prevents two products from getting the same SKU at the same
// moment.
//
// # How it is tested
//
// The tests of this package compare the adapter's answers with the tables after actions and writes,
// also concurrent ones. Tests of package importer replay the recordings of the original.
package magento1test
