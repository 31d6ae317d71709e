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
package orders
