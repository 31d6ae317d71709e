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
package products
