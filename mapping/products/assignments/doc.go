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
package assignments
