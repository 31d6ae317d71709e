// Package proxy forwards requests to the legacy store of a migration and returns its replies
// ([System]). [Rules] define which requests it forwards. [Tap] copies requests and their replies
// for watchers while they are served, such as the recorder and the comparison of two systems.
//
// # Principles
//
//  1. Requests and replies change as little as possible: method, target, headers and bodies
//     arrive byte for byte as they were sent. Hop-by-hop headers end at Portico, Portico
//     writes the X-Forwarded headers, and when it signs the request again it writes the
//     Authorization header. Headers that override the target or the method, and claims of
//     an untrusted client about its address, are removed (headers.go): the rules, the cache
//     and the breaker must see the request that the legacy store answers. Interim replies,
//     upgrades to other protocols and CONNECT are not forwarded.
//  2. Bodies stream in both directions without a size limit, because the legacy store has
//     its own. The caller limits the time.
//  3. The legacy store is a failure domain of its own. Only the wait for the headers of its
//     reply counts as its failure; a slow or disconnected client does not.
//  4. For a reply that is shared between clients, the legacy store gets only the parts of
//     the request that the caller names: see [System.FetchShared].
//  5. Before the reply has begun, every failure is an error that the caller can report in
//     its own words. After that, a failure breaks off the reply.
//  6. Watchers change nothing and do not slow down clients: a [Watcher] is called after the handler
//     has written the whole reply, and must not block. Bodies are copied up to a limit, and only if
//     a watcher wants them. An incomplete copy is marked as such.
//
// # How it is tested
//
// Over TCP, between clients and legacy stores that send bytes that no library would send:
// odd targets, broken replies, halves of bodies. Watchers see bodies around the limit, streams, and
// replies that break off. In cmd/portico/app the recorded exchanges run through two whole servers,
// one in each role.
package proxy
