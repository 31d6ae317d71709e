// Package restroles reads the rights of REST roles in a shop of Magento 1 or OpenMage: which calls
// an administrator or a Customer may make, and which fields each kind of user may read and write.
//
// # Principles
//
//  1. What a role does not name is not allowed, as in the shop: a missing role allows nothing, and a
//     missing list no field. Only a version without the tables has no limits.
//  2. Names of roles and rules are texts of the shop. What is said of them is one line of bounded
//     length that a terminal can show.
//
// # How it is tested
//
// By the tests of package magento1, with the tables of a shop on a real server.
package restroles
