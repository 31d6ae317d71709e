// Package contracttests holds an implementation of the store REST contract to the
// contract, over HTTP: any implementation, in any language, on any store.
//
// A [Suite] is what it is held to: cases, which state what the contract asks clause
// by clause. They are data, in cases/, whose README describes their language;
// shapes/ says what records look like, makers.yaml how cases make what they need,
// clauses.json what the document says, and differences.yaml where the two dialects
// part. What is right is specified in spec/, whose sections they all cite. [Run]
// makes them subtests of a Go test; cmd/contracttest is for everybody else. An
// [Exchange] is a conversation recorded from a trusted implementation of the demo
// store; [Replay] compares a server with it byte for byte, and [Record] makes new
// ones. An [Asker] makes their requests of any server, for who compares two.
//
// # Principles
//
//  1. It talks HTTP only and knows nothing of the server behind it: any
//     implementation with a base URL can be held to the contract, the original
//     included.
//  2. A request goes out as it is written. The target is sent unmodified (doubled
//     slashes, raw brackets, absolute form), the method may be any token, and no
//     header is added but Host, Authorization and Content-Length. That is why
//     requests are written by hand and net/http only reads the replies.
//  3. A reply is compared whole: status, headers, every field of every record with
//     its type, and the rendering byte for byte. The order of the fields inside a
//     record is free. Everything else counts: the order of lists and of objects
//     keyed by id, a number against a text, every escape, every blank.
//  4. A case runs on any store. It makes what it needs under a name of its own,
//     reads back what it has done, and deletes what it made, also when the run is
//     interrupted. Nothing else is changed but fixtures that say they are writable,
//     and what a server claims to have made is believed only if it bears the name.
//  5. What cannot be made is a fixture. A case that names what a store does not
//     have is skipped with the reason, never passed.
//  6. An exchange starts from the seeded data set. One is left out only visibly: it
//     differs in this dialect, or the target gives a reason.
//  7. What comes back is hostile: replies are bounded in size, depth and time.
//     Secrets never reach a report.
//
// # How it is tested
//
// A table of answers shows that each kind of difference is found and that the
// allowances hold; a server of the test's own answers with recordings. Requests are
// checked as raw bytes on a listener. Every parser has a fuzz target. Every clause
// has a case, and a case that names a field or a message must show it. The suite
// runs against Portico on every engine, in both dialects, on a store that is not the
// demo, interrupted and reading only (cmd/portico/suite_test.go), and a proxy that
// breaks Portico in one place at a time shows that it notices
// (cmd/portico/mutants_test.go).
package contracttests
