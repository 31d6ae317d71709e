// Package limits protects the server from its clients: a [Budget] limits the total amount of a
// resource that all requests hold together, such as bytes of memory, bytes on disk or places in a
// queue, and a [Limiter] limits how often each of many callers may call.
//
// # Principles
//
//  1. A request takes from a budget before it uses the resource, and returns the amount when the
//     resource is free again. An amount that is not returned is lost until the process ends, so
//     every Take has its Return next to it, deferred where possible.
//  2. When a budget is exhausted, a request waits for a moment before it is rejected: many
//     short requests share a budget better by waiting than by failing.
//  3. A part limits how much of a budget some requests may take, so that anonymous callers
//     cannot exhaust the share of authenticated callers.
//  4. A limiter has a bucket of tokens for each caller, whom a key identifies, such as the number of
//     a client program or the network it calls from. A call takes one token, and time fills the
//     bucket. A refused call takes none.
//  5. The memory of a limiter is bounded. When there are more callers than it counts, the one that
//     has not called for the longest time starts with a full bucket again.
//  6. A limiter decides by the counts of its own process, so no call waits for another process. With
//     [Limiter.Share], processes report their counts to each other afterward, for each sixteenth of
//     a bucket or each call. Together they may therefore exceed the limit: by that amount for each
//     process, and by the calls within the time of a message, about a tenth of a second. These calls
//     are charged to the caller later. Processes that cannot reach each other count on their own.
//
// # How it is tested
//
// On a clock that the tests set: goroutines that take more than a budget, under the race detector;
// limiters call by call, with many calls at once, and with limiters that share.
package limits
