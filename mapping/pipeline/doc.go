// Package pipeline runs calls: the same steps in the same order for each of them, with the
// handler of the call in the middle.
//
// # Principles
//
//  1. The first step that fails ends the call. The order of the steps is the original's, since it
//     decides which fault a client sees (steps.go).
//  2. Errors become faults in one place (faults.go). Clients see the messages of the contract;
//     the log contains the cause.
//  3. Every byte that is held for a client is reserved from a budget first (budgets.go): the
//     query before authentication, the body after it, then their decoded forms and the batches of
//     lists. Guests get at most half of each budget.
//  4. Faults of a list are found before its first batch is sent. A later failure breaks the
//     connection, so that no client mistakes a part of the list for all of it (stream.go).
//  5. Package pipeline knows handlers only by the names of their calls.
//
// Files, from the top: serve.go makes a pipeline and runs calls, forwarded.go has the steps for
// calls that the legacy store answers, cached.go answers from the reply cache, render.go renders
// replies, stream.go sends long lists, steps.go holds the steps, body.go reads bodies, faults.go
// translates errors, and pipeline.go, budgets.go and run.go have the types that they share.
//
// # How it is tested
//
// The tests of package mapping cover the order of the steps, budgets, panics, slow clients and
// broken connections; the contract suite calls every route with every method as every role.
package pipeline
