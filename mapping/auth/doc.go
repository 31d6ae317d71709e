// Package auth tells who sends a call: it verifies OAuth 1.0a credentials and
// returns a [Principal] (wire 12; Authentication).
//
// # Principles
//
//  1. Only an Authorization value of the OAuth scheme asks for authentication, and
//     where API keys are let in one of the Bearer scheme. Everything else is a Guest,
//     whatever its query or body says.
//  2. The checks run in the order of wire 12 and the first failure answers, so
//     two faults in one call always give the same text.
//  3. A refusal is a [*Problem], answered with 401 where it is a call's. Any other error says that
//     the answer could not be found out, never that the caller is wrong: a
//     credential store out of reach is not a bad credential.
//  4. Nothing is written for a caller whose signature is not valid. What such a caller
//     may notice of its nonces is kept in memory, bounded, and counts for it alone.
//  5. Signatures are compared in constant time, and no secret enters an error.
//  6. Found credentials and unknown keys alike are remembered for a few
//     seconds, in a bounded number; a revoked token stops after that time.
//  7. The endpoints that hand out tokens (grant.go) run the checks of calls; what
//     they store lies behind an interface. A token is exchanged as it is at that
//     moment, never as it is remembered.
//  8. Work grows no faster than a sort of what was sent; sizes themselves are
//     bounded by the server.
//
// # How it is tested
//
// Every check has its cases, and every two neighbouring checks a call with both
// faults. The exchanges recorded from the original are replayed from
// testdata/recorded.json. Base strings are compared with a plain second
// implementation, by table and by fuzzing. The stores of the tests count their
// calls, which shows what is cached and that unknown consumers store nothing.
package auth
