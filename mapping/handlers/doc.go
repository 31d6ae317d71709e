// Package handlers implements the calls of the contract: on customers and their addresses, on
// orders, on stock items, and on products with their images, categories and websites.
//
// # Where to find code
//
// The name of a file begins with its resource: customers, orders, stockitems, products with
// products_writes, images (of products), and assignments (of products to categories and websites).
// These files help the calls on products:
//
//   - products_lookup.go finds the products and store views that calls name. An id in a path is
//     the number of a product or its SKU, as the original distinguishes them (products 3.6 and 3.7).
//   - prices.go and prices_buyer.go compute the prices of products for a buyer.
//   - urlkey.go generates the url_keys of products from texts (products 6).
//   - products_orderbyprice.go orders a list as the price index of the original does.
//
// # Principles
//
//  1. A call checks in the order of the original, since the order decides which fault a client
//     sees. Everything that needs no stored value is checked before the transaction of a write, and
//     passwords are hashed before it. Package input checks bodies by the rules of the contract;
//     handlers add only the checks that their resource alone needs, such as the regions of the
//     country of an address.
//  2. A save makes its decisions inside the backend's transaction. The values that it derives
//     from the stored and the sent values are a pure function of these, since the store may call the
//     function again. The stock item of a product is part of the same save, and follows the same
//     rules as a save of a stock item (stockitems_rules.go).
//  3. A batch takes a fixed number of queries, however many records it has: the parts of all
//     orders of a batch are read with one query for each part. The fields that a caller selects
//     determine which attributes a query reads, and apply to the parts, too (stock_orders 1.5).
//  4. A batch update saves record by record; a failure neither stops nor undoes the others.
//     Batches of stock items that overlap have the result of some order of whole batches: the
//     database stores each in one transaction with its rows locked, across all processes. With
//     another backend this holds for the batches of one process, which run one after the other.
//     If the original would crash on one of several assignments, nothing is written.
//  5. The store refuses an assignment that concurrent changes have made invalid; its errors become
//     the faults that the checks before it would have found.
//  6. Admins see another view of a product than Customers and Guests: each has a table of fields. A
//     caller who may not see a product gets the same fault as for an unknown one.
//  7. Prices are computed from stored values alone. The functions that name these values determine
//     the attributes that a query has to read. A buyer records when a computed price changes with
//     time, so that a cached reply does not outlive it.
//  8. An uploaded image is decoded as a whole before it is stored, since a truncated image is
//     refused. The images that are decoded at the same time have a limited number of pixels, so
//     that small files cannot exhaust the memory. The name of a file is derived from the name that
//     was sent, and leads to no other folder (images_name.go).
//
// # How it is tested
//
// Table and fuzz tests here cover the code that needs no store: prices and the times at which they
// change, url_keys, formats and names of images, and odd values for every field of a product. The
// tests of package mapping run the calls in both dialects: fields and values, odd bodies, the rights
// of roles, store views, queries of lists, side effects of saves, and overlapping writes. Tests of several processes are in contracttests/program.
package handlers
