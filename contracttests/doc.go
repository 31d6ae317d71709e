// Package contracttests tests an implementation of the store REST contract over HTTP. The
// implementation may be written in any language and use any store.
//
// A [Suite] holds the test cases. They are data: cases/ states the requirements of the
// contract clause by clause, in the language that cases/README.md describes; shapes/ lists
// the fields of records; makers.yaml describes how cases create objects; clauses.json lists
// the clauses of the contract document; and differences.yaml lists where the dialects
// differ. All of them cite sections of the specification in spec/. [Run] makes the cases
// subtests of a Go test, and cmd/contracttest runs them for any other implementation.
//
// The cases of three-legged OAuth are functions (consentcases.go): they ask for tokens as a
// program does, and fill in the forms of the pages as a user's browser does.
//
// An [Exchange] is a sequence of requests and replies that was recorded from a trusted
// implementation of the demo store. [Replay] compares a server's replies with the
// recorded ones byte for byte, and [Record] makes new recordings. A [Client] sends such
// requests to a server without comparing the replies, for programs that compare two
// servers.
//
// # Principles
//
//  1. The suite speaks HTTP only and knows nothing else of the server. Any implementation
//     with a base URL can be tested, including the original.
//  2. Requests are sent exactly as written. The target is not modified (doubled slashes,
//     raw brackets, absolute form), the method may be any token, and only the headers Host,
//     Authorization and Content-Length are added. Therefore this package writes requests
//     itself and uses net/http only to read replies.
//  3. Replies are compared completely: status, headers, every field of every record with
//     its type, and the rendering byte for byte. Only the order of the fields in a record is
//     free. The order of lists and of objects keyed by id, numbers versus texts, escapes and
//     blanks all count.
//  4. Cases run on any store. A case creates the objects that it needs under a unique name,
//     reads back its writes, and deletes the objects that it created, even if the run is
//     interrupted. It changes nothing else except fixtures that are marked writable. It
//     deletes an object that a server claims to have created only if the object has the
//     unique name.
//  5. Objects that cannot be created through the API are fixtures. A case that uses a
//     fixture which the store does not have is skipped with a reason; it never passes.
//  6. Exchanges start from the seeded data set. An exchange is left out only with a stated
//     reason: its recording does not hold in the dialect, or the target gives a reason.
//  7. Replies are untrusted: their size, depth and time are bounded. Reports contain no
//     secrets.
//
// # How it is tested
//
// Tables of replies show that each kind of difference is found and that the allowed
// variations are accepted. Recordings are replayed against a server in the test. Requests
// are checked as raw bytes on a listener. Every parser has a fuzz target. Every clause
// has a case, and a case that names a field or a message must contain it. The suite runs
// against Portico on every engine, in all dialects, on a store other than the demo
// store, with interruptions, and read-only (contracttests/program/suite_test.go). A proxy that
// changes one reply of Portico at a time shows that the suite notices
// (contracttests/program/mutants_test.go).
//
// # Spec
//
// Package spec holds the specification of the REST interface that Portico serves, and
// resolves citations of its sections.
//
// The specification is the Markdown pages in this folder. README.md lists the pages that
// apply to each dialect, and describes how sections are cited. Comments, clauses, cases
// and reports cite a section by page and number, such as "wire 6.5". The package finds
// such citations in a text and returns the web addresses of the sections.
//
// # How it is tested
//
// One test parses the pages: every heading below the title has a unique number, and every
// link leads to an existing file and heading. Another test reads the Go comments, the
// Markdown and YAML files and the clauses of the whole repository. It fails for a
// citation of a section that does not exist, or in another notation.
package contracttests
