// Package passthrough sends requests on to the old system that a migration starts
// from, and its replies back; rules say which requests those are.
//
// # Principles
//
//  1. Nothing is changed on the way that need not be: method, target, headers and
//     bodies arrive as they came, byte for byte. Headers that HTTP limits to one
//     connection end there, Portico writes the X-Forwarded headers, and where it signs
//     the request again the Authorization header. Headers that replace the target or
//     the method, and what an untrusted client says of its address, are removed
//     (headers.go): the rules, the cache and the breaker have to see the request that
//     the old system answers. Interim replies, upgrades to other protocols and CONNECT
//     are not passed on.
//  2. Bodies stream in both directions, without a limit of size: the old system has
//     its own. Time is limited by whoever serves.
//  3. The old system is a failure domain of its own. Only waiting for the headers of
//     its reply counts against it; a client that is slow or gone does not.
//  4. The old system gets nothing of a request whose reply is for other clients too but
//     what the caller names: see [System.AskForAll].
//  5. A reply that has not begun is an error, for the caller to tell in its own
//     words. One that has begun cannot be taken back: it breaks off.
//
// # How it is tested
//
// Over TCP, between clients and old systems that send what a library would not:
// odd targets, broken replies, halves of bodies. The recorded exchanges run through
// two whole servers, one in each role, in cmd/portico.
package passthrough
