// Package limits TODO.
//
// # Budget
//
// Package budget limits the total amount of a resource that all requests hold together:
// bytes of memory, bytes on disk, or places in a queue.
//
// # Principles
//
//  1. A request takes from the budget before it uses the resource, and returns the amount
//     when the resource is free again. An amount that is not returned is lost until the
//     process ends, so every Take has its Return next to it, deferred where possible.
//  2. When the budget is exhausted, a request waits for a moment before it is rejected: many
//     short requests share a budget better by waiting than by failing.
//  3. A part limits how much of a budget some requests may take, so that anonymous callers
//     cannot exhaust the share of authenticated callers.
//
// # How it is tested
//
// With goroutines that take more than the budget, on a fake clock, under the race detector.
//
// # Ratelimit
//
// Package ratelimit bounds how often each of many callers may call. A key identifies each
// caller, such as the number of a client program or the network it calls from.
//
// # Principles
//
//  1. Each caller has a bucket of tokens: a call takes one, and time fills the bucket.
//     A refused call takes none.
//  2. Memory is bounded. When there are more callers than are counted, the one that has
//     not called for the longest time starts with a full bucket again.
//  3. A limiter decides by the counts of its process, so no call waits for another process. With
//     [Limiter.Share], processes report their counts to each other after the fact, for each
//     sixteenth of a bucket or each call, and learn the counts of the others then. So all of them
//     together allow a caller at most so much more for each process, and the calls that it sends
//     within the time of a message, which is about a tenth of a second; they are charged to the
//     caller later. Processes that cannot reach each other count on their own.
//
// # How it is tested
//
// Call by call on a clock that the tests set, with many calls at once, and with limiters that share.
package limits
