// Package handlers TODO.
//
// # Customers
//
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
//
// # Orders
//
// Package orders handles the calls on orders, their items, addresses and comments.
//
// # Principles
//
//  1. The parts of the orders of a batch are read with one query for each part, not for each
//     order.
//  2. The caller's selection of fields applies to the parts, too (stock_orders 1.5).
//
// Files: orders.go has the calls on orders, parts.go the calls on their parts, part.go reads a
// part, and comments.go writes comments.
//
// # How it is tested
//
// The tests of package mapping list orders in pages and batches, and write comments of every
// type.
//
// # Stockitems
//
// Package stockitems handles the calls on stock items, and has the rules for the side effects of
// a save of a stock item.
//
// # Principles
//
//  1. A save makes its decisions inside the backend's transaction, from the stored and the sent
//     values (rules.go). Package writes saves the stock item of a product by the same rules.
//  2. A batch update saves item by item; a failure neither stops nor undoes the others. Batches
//     that overlap have the result of some order of whole batches (items.go): the database
//     stores each in one transaction with its rows locked, across all processes. With another
//     backend this holds for the batches of one process, which run one after the other.
//
// # How it is tested
//
// Tests in package mapping check each rule in both dialects, the side effects of a save, and
// batch updates that overlap in one process. Tests of several processes are in package
// endurance.
//
// # Products
//
// Package products handles the calls that read products.
//
// # Principles
//
//  1. Admins see another view of a product than Customers and Guests: a table of fields each.
//  2. The fields that a caller selects determine which attributes a query reads, and the data that
//     is loaded besides the products (fields.go). A batch takes a fixed number of queries.
//  3. The parts of a product have packages below this one: its prices, images, categories and
//     websites. Package writes saves products.
//
// Files: reads.go has the calls, fields.go computes fields that no single attribute holds,
// orderbyprice.go orders a list as the price index of the original does, and products.go has the
// types that they share.
//
// # How it is tested
//
// The tests of package mapping cover every field in both views, the caller's store view, category
// and website, and the queries that a list takes.
//
// # Assignments
//
// Package assignments handles the calls that assign products to categories and to websites.
//
// # Principles
//
//  1. The store refuses an assignment that concurrent changes have made invalid; its errors
//     become the faults that the checks before it would have found.
//  2. Of several assignments in one body, a failure neither stops nor undoes the others, unless
//     the original would crash on one: then nothing is written (assigner.go).
//
// Files: categories.go and websites.go have the calls, but POST to websites is in assigner.go.
//
// # How it is tested
//
// The tests of package mapping cover single assignments and lists, copies between store views, and
// concurrent changes.
//
// # Images
//
// Package images handles the calls on images of products.
//
// # Principles
//
//  1. An upload is decoded as a whole before it is stored, since a truncated image is refused
//     (check.go). The images that are decoded at the same time have a limited number of pixels,
//     so that small files cannot exhaust the memory.
//  2. The name of a file is made of the name that was sent, and leads to no other folder
//     (name.go).
//
// Files: images.go has the calls that read, writes.go the calls that write, and mediapaths.go
// the addresses of files.
//
// # How it is tested
//
// Table and fuzz tests cover formats, names and base64. Tests of package mapping upload, change
// and remove images at store views.
//
// # Lookup
//
// Package lookup finds the products and store views that calls name.
//
// # Principles
//
//  1. An id in a path is the number of a product or its SKU. The distinction follows the
//     original (products 3.6 and 3.7).
//  2. A caller who may not see a product gets the same fault as for an unknown one.
//
// # How it is tested
//
// The tests of package mapping cover spellings of ids, foreign store views, and products that a
// caller may not see.
//
// # Prices
//
// Package prices computes the prices of products for a buyer: the customer group, the website
// and the taxes of a caller.
//
// # Principles
//
//  1. Prices are computed from stored values alone. The functions that name these values
//     determine the attributes that a query has to read.
//  2. A buyer notes when a price that was computed changes with time, so that a cached reply does
//     not outlive it.
//
// # How it is tested
//
// Table tests cover every source of a price, the moments at which it changes, and rounding.
//
// # Urlkey
//
// Package urlkey generates the url_keys of products from texts (products 6): letters, spelled in
// Latin, and digits, with dashes between words.
//
// # How it is tested
//
// Table tests cover alphabets, accents, signs and texts without a usable character.
//
// # Writes
//
// Package writes handles the calls that create, change and delete products.
//
// # Principles
//
//  1. Everything that can be checked without stored values is checked before the transaction, in
//     the order of the original (check.go). Package input checks fields by the rules of the
//     contract.
//  2. The values that a save derives from stored ones are a pure function of these, since the store
//     may call it again (change.go).
//  3. The stock item of a product is part of the same save (stock.go).
//
// Files: calls.go has the calls, pricelists.go stores group and tier prices, layoutupdate.go checks
// layout updates, stockdata.go reads the stock in a body, and writes.go has the types that they
// share.
//
// # How it is tested
//
// Tests here check and change products without a store, and fuzz odd values for every field. Tests
// of package mapping save products in both dialects.
package handlers
