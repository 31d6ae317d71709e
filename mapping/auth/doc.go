// Package auth identifies the senders of calls: it verifies OAuth 1.0a credentials and API
// keys and returns a [Principal] (wire 12; Authentication).
//
// # Principles
//
//  1. Only an OAuth Authorization header requests authentication, and a Bearer one where API
//     keys are enabled. Everyone else is a Guest, whatever the query or the body contains.
//  2. The checks run in the order of wire 12 and the first failure determines the reply, so
//     that the same two faults always give the same text.
//  3. Rejected credentials are a [*Problem], for which calls are answered with 401. Any other
//     error means that the credentials could not be checked: an unavailable credential
//     store does not make them wrong.
//  4. Nothing is stored for a caller without a valid signature. Such a caller's nonces are held in
//     bounded memory and affect that caller only.
//  5. Signatures are compared in constant time, and no secret appears in an error. At debug level
//     the log has the base string that a refused client should have signed (refusal.go); it masks
//     every value that may be personal or help to sign.
//  6. Credentials and unknown keys are cached for a few seconds, in a bounded number; a
//     revoked token becomes invalid after that time.
//  7. The token endpoints (grant.go) run the same checks; an interface hides the storage of
//     tokens. The exchange of a token reads its current state, never the cache.
//  8. The work is bounded by sorting the input; the server limits the size of the input.
//
// # How it is tested
//
// Every check has its cases, and for every two adjacent checks there is a call that fails both.
// Exchanges recorded from the original are replayed from testdata/recorded.json. Base strings are
// compared with a simple second implementation, by table and by fuzzing. The test stores count
// their calls, which shows which lookups are cached and that nothing is stored for unknown
// consumers.
package auth
