// Package guard stands between the program and one failure domain, an upstream
// that is well or ill as a whole: it keeps an ill one from taking the program
// with it, and lets it alone until it is well again.
//
// # Principles
//
//  1. Every call takes a place among those in flight, then asks the breaker, then
//     has a deadline. A call that gets no place in time, or that the open breaker
//     refuses, is not sent: it fails with kind Unavailable, [ErrFull] or [ErrOpen],
//     and says when to try again. Who waits for a place when the breaker opens waits
//     no longer: calls that are not sent take none.
//  2. The breaker opens after failures in a row. When its time is over, one call
//     at a time is sent to find out; one that succeeds closes it.
//  3. A failure is that of the domain: kind Unavailable, or no answer within the
//     deadline, which ends as kind Unavailable and [ErrTimeout].
//  4. A success is an answer of the domain: a result, a refusal of any other kind
//     but Internal, or the error of a function of the caller that was run on what
//     the domain answered, whatever its type and kind. It comes back unchanged.
//  5. All else tells nothing about the domain and counts as nothing: the context
//     of the caller that ended, by its own deadline too; kind Internal and a panic,
//     because a mistake in one query must neither cut off all the others nor pass
//     for a sign of health. The next call is then the one to find out. So that
//     failures are seen at all, callers give calls longer than [Options.Timeout]
//     and [Options.MaxWait] together.
//  6. However a call ends, its place is free and the breaker has its outcome; a
//     panic goes on. The guard waits for what it has called, which has to keep to
//     its context: a place is given back when a call is over, and not when it
//     ought to be.
//  7. A guard knows no more of the domain than the calls it is given. [Guard.Do]
//     guards any; Adapter, Credentials, Nonces and Media give it those there are.
//
// # How it is tested
//
// The conformance suite of package adaptertest runs through a guard. The rules
// are tested on a real store that can be told to hang, to fail and to panic and
// that counts what reaches it, with the clock of testing/synctest; a benchmark
// compares a guarded Get with the bare one.
package guard
