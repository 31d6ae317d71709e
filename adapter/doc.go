// Package adapter is the boundary between the contract and what stands behind
// it: the types every upstream speaks, and the semantics every upstream keeps.
//
// # Principles
//
//  1. An adapter knows no role, no legacy field name, no message and no HTTP
//     status. It stores and finds [Record] values of a [Resource], described by
//     that resource's [Schema]. All contract logic lives above, in mapping.
//  2. Writes decide inside the transaction. The functions in [UpdateParams],
//     [CreateParams] and [DeleteParams] run on the locked current record, are
//     pure, and may run again after a conflict. What they return as an error
//     comes back from the call unchanged, and nothing has been written.
//  3. Push-down is an optimisation, never the truth. A list may answer
//     [ListResult.Partial]; [Apply] then finishes the query. The conformance
//     suite checks every store against [Apply].
//  4. Text is compared through [Fold] on every engine; numbers by value; times
//     as their canonical texts, which sort as the moments they name.
//  5. No floats. Decimals are texts with exactly four places, times are texts
//     "2006-01-02 15:04:05" in UTC, flags and ids are integers.
//  6. Errors are [*Error] with a closed list of kinds; each method says which
//     kinds it may return, and the suite fails on any other.
//  7. Everything is safe for concurrent use, takes its context first and never
//     keeps it.
//
// # How it is tested
//
// Package adaptertest holds the conformance suite; an adapter's own test file
// calls adaptertest.Run with a function that opens a store of the demo data
// set. Fold and Apply have table tests here; Apply is the reference the suite
// compares stores with.
package adapter
