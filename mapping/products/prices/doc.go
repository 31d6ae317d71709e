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
package prices
