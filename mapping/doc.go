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
//  5. There is one file for each resource, named like its path. To find what a
//     call does, take its name from "portico routes" and open the file beside it.
//
// # How it is tested
//
// The recorded exchanges of the original and the document's own cases run
// against a whole server (package contracttests). The tests here run on a real
// store: the pipeline's order, the matrix of routes, methods and roles as the
// contract writes it, the rules of each resource value by value, batches that
// overlap, and a fuzz target for bodies.
package mapping
