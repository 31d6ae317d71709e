// Package contracttests replays recorded exchanges of the store REST contract
// against a running server and says where the answers differ. The
// recordings are in exchanges/; [Case] describes their form.
//
// # Principles
//
//  1. It talks HTTP only and knows nothing of the server behind it: any
//     implementation with a base URL can be held to the contract, the original
//     included.
//  2. A request goes out as recorded. The target is sent unmodified (doubled
//     slashes, raw brackets, absolute form), the method may be any token, and no
//     header is added but Host, Authorization and Content-Length. That is why
//     requests are written by hand and net/http only reads the replies.
//  3. A reply is compared byte for byte, with two allowances: the placeholders
//     of a recording, and the order of the fields inside a record. Everything
//     else counts: the order of lists and of objects keyed by id, a number
//     against a text, 1 against 1.0, every escape, every blank.
//  4. Every case starts from the seeded data set. A case is left out only
//     visibly: it differs in this dialect, or the target gives a reason. A
//     [Summary] has numbers worth committing.
//  5. What comes back is hostile: replies are bounded in size, depth and time.
//     Secrets never reach a report.
//
// # How it is tested
//
// An in-test server answers with recordings, and a table of mutations shows
// that each kind of difference is found and that the allowances hold. Requests
// are checked as raw bytes on a listener. A failing Replay runs in a process of
// its own. Every parser has a fuzz target. clauses.json lists what the contract
// document says; every clause has a case of the document's own.
package contracttests
