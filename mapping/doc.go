// Package mapping is the contract's behaviour: the one pipeline every call goes
// through, and a handler for each call of the route table.
//
// # Principles
//
//  1. Every call runs the same steps in the same order, one function each
//     (pipeline.go); the first failure answers. A handler is only the middle: it
//     gets a decoded call and returns a reply or a fault.
//  2. What the contract says lies in package contract as tables. Handlers read
//     them; none asks for its dialect by name or knows a second place where a
//     route, a field or a message is written.
//  3. Upstreams are reached through package adapter alone, and what a write
//     decides it decides inside the upstream's transaction.
//  4. One place turns errors into faults (faults.go). Clients see the contract's
//     texts; the log sees the cause.
//  5. What lists are remembered by (listcache.go) only saves queries. Every write of
//     a store ends it, whoever wrote (invalidation.go), and so does a minute.
//  6. What a body may hold are rows of package contract: a form (forms.go), or
//     rules (productcheck.go, stockrules.go). What any value sent may mean stands
//     in values.go; values with rules of their own have a file each. Whatever can be
//     found out before a write's transaction is found out before it, passwords'
//     hashes first of all.
//  7. There is one file for each resource, named like its path. To find what a
//     call does, take its name from "portico routes" and open the file beside it.
//  8. Every byte that is held for a client is counted before it is held (budgets.go):
//     the query before anybody is authenticated, the body once its caller is known,
//     what it is decoded to, the batches of lists. Guests get half at most.
//  9. A list takes the memory of a batch of its records, however long it is and
//     however long each is (rows.go, stream.go). What can be wrong with it is found out with the first
//     batch; what fails later breaks the connection, so that no client takes
//     part of a list for all of it.
//  10. Replies to Guests' reads of products are kept finished (replycache.go), by
//     package cache behind an interface. What ends them is a table of the resources
//     that calls write (invalidation.go), and applies inside each write's transaction;
//     how long they hold besides is until a price changes by itself.
//  11. Calls that the old system of a migration answers do not run here. The service
//     only admits them, where they are signed anew, and refuses what could not be
//     passed on in the contract's words (legacy.go).
//
// # How it is tested
//
// The recorded exchanges of the original and the document's own cases run
// against a whole server (package contracttests). The tests here run on a real
// store: the pipeline's order, the matrix of routes, methods and roles as the
// contract writes it, the rules of each resource value by value, batches that
// overlap, pages at random against adapter.Apply, whose records each caller reads
// and writes, odd values for every field, a service that keeps replies beside one
// that does not after every kind of write, and fuzz targets for bodies and for every
// value that is parsed. That a refused call changes nothing is seen in the rows and
// files themselves.
package mapping
