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
package lookup
