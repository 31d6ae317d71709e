// Package guard protects the program from one failure domain, an upstream such as the
// database or the backend, with a deadline, a circuit breaker and a concurrency limit. It
// keeps a failing upstream from blocking the program, and spares it calls until it recovers.
//
// # Principles
//
//  1. Every call first acquires one of a limited number of slots, then asks the breaker, and
//     then runs with a deadline. A call that gets no slot in time, or that the open breaker
//     rejects, is not sent: it fails with kind Unavailable and the cause [ErrFull] or
//     [ErrOpen], and the time after which to retry. Calls that wait for a slot when the
//     breaker opens stop waiting, as rejected calls release their slots immediately.
//  2. Reads and writes have a breaker each, so that guests can read while a database takes no
//     writes. A breaker opens after a number of consecutive failures. When its time is over,
//     which differs between processes, it lets one call at a time through as a probe; the first
//     success closes it.
//  3. A failure is a failure of the upstream: kind Unavailable, or no answer within the
//     deadline, which is reported as kind Unavailable with the cause [ErrTimeout].
//  4. A success is any answer of the upstream: a result, a refusal of any kind but Internal,
//     kind Unavailable because of other writes of the same records ([adapter.ErrContention]),
//     or an error of a caller's function that ran on the answer, whatever its type and kind.
//     It is returned unchanged.
//  5. The breaker ignores all other outcomes, because they carry no information about the
//     upstream: a caller's context that ended, also by its own deadline; kind Internal and
//     panics, as a bug in one query must neither block all the others nor count as a sign of
//     health. If such a call was a probe, the next call is the probe. Callers must give calls
//     more time than [Options.Timeout] and [Options.MaxWait] together, or failures go
//     unnoticed.
//  6. However a call ends, panics included, the guard releases its slot and reports its
//     outcome to the breaker. The guard waits for the functions that it calls, which must
//     respect their context: a slot is released when the call has returned.
//  7. A guard knows nothing about the upstream but its calls. [Guard.Do] guards any call;
//     [Guard.Adapter], [Guard.Credentials] and [Guard.Media] guard Portico's own.
//
// # How it is tested
//
// The conformance suite of package adaptertest runs through a guard. The rules above are
// tested on a real store that hangs, fails and panics on demand and counts the calls that
// reach it, with the clock of testing/synctest. A benchmark measures a guarded call that
// does nothing.
package guard
