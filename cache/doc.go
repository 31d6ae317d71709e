// Package cache caches replies of reads that are the same for all callers, in the memory
// of the process and in a Redis that replicas share. It also uses Redis to share used
// nonces between replicas. The package handles keys, bytes and tags; their meaning is up
// to the caller.
//
// Terms:
//
//   - A tag ("catalog", "product:12") names data that replies depend on. Every reply also
//     depends on the tag all.
//   - The generation of a tag is a random token in Redis, and a counter in each process. A
//     reply is current as long as the generations of its tags are those that were read
//     before it was made. Changing a generation invalidates all replies with the tag.
//   - The epoch is the generation of the tag all.
//   - A lease is a key in Redis that marks a write in progress.
//   - The upstream is whatever the caller makes replies from.
//
// # Principles
//
//  1. Acknowledged writes are visible. A writer calls [Cache.BeginWrite] with the tags that
//     it may change before it commits, and done afterwards. A lookup that begins after done
//     has returned does not return an older reply.
//  2. Nothing is deleted by key. A reply whose generations are missing, expired, evicted or
//     different is a miss.
//  3. A write changes generations twice: before the commit, so that replies made earlier are
//     invalid even if the writer is killed right after committing, and after the commit,
//     which invalidates replies that were read in between. From the first change to the
//     second, the tag has a lease in Redis. A reader that makes a reply reads, for each tag,
//     the generation first and then the lease, and does not store the reply if there is a
//     lease. So either the reader sees the lease, or the write will still change the
//     generation that the reader has read. A reply that was read before a commit therefore
//     never outlives it, even if done is never called. After such a crash, replies with
//     these tags are not stored until the lease expires, by default after 5 s.
//  4. Redis is accessed with single round trips of plain commands: no scripts, no
//     transactions and no multi-key commands, so a cluster works. The generation and the
//     lease of a tag are on the same node. Round trips have their own deadline and are not
//     retried. The number of concurrent lookups is limited; others wait for a slot, and are
//     misses if they do not get one.
//  5. Redis never fails a call. Errors count as misses, and are counted in metrics. After
//     three consecutive failures, one failed invalidation, or the loss of the subscription,
//     a circuit breaker opens, and only the monitor accesses Redis, once per [OpenFor]. The
//     monitor starts a new epoch before it closes the breaker, because invalidations may
//     have been missed in the meantime, or lost by a Redis that restarted with old data. If
//     another invalidation is missed while it does so, it starts yet another epoch.
//  6. With Redis, memory answers without asking Redis for at most MemoryTTL, and
//     invalidates what other replicas publish. It is invalidated when Redis is lost and when
//     it is back. While Redis is unavailable, memory is the only tier, and knows only the
//     writes of its own process.
//  7. Concurrent callers that miss the same key under the same generations share one fill.
//     The fill does not end with any of them.
//  8. What other programs change of the upstream without calling BeginWrite is the business of
//     [Changes]. Before a lookup returns a reply, it waits until these have invalidated what
//     was changed before. With Redis, each replica invalidates the tags there when it notices
//     a change, so that no reply of another replica that is older is returned to it.
//  9. When the upstream cannot answer, the last reply that no write has invalidated is
//     returned instead.
//
// # Limitations
//
// The guarantees hold for a single Redis that keeps all acknowledged writes. In the
// following cases a reply may be outdated until its ttl has passed, plus StaleTTL if the
// upstream cannot answer:
//
//   - A replica that cannot reach a Redis that other replicas can reach cannot tell them of
//     its writes until it reconnects and starts a new epoch. The same applies from a pause of
//     Redis until the epoch of the replica that wrote during the pause, at most [OpenFor] and
//     two pings, unless the other replicas noticed the pause. They notice if it lasts four
//     times [PingEvery], or through [FailuresToOpen] failed calls.
//   - A replica notices that Redis restarted with old data by the loss of its subscription,
//     or by missing pings if the host disappeared without closing connections. A process
//     started in the meantime cannot notice it.
//   - A failover may lose writes that were not yet replicated, and a Redis that is short of
//     memory may evict a lease: relevant if a writer is killed at that time.
//   - A commit takes longer than the lease, and the writer is killed afterwards.
//   - A write that begins while Redis is unavailable has no lease: relevant if Redis returns
//     before the write is done, and the writer is killed afterwards.
//   - While [Changes] cannot tell what has changed, a call may share the fill of another one
//     that began before a change.
//   - With MemoryTTL above 0, a replica that misses the message about another replica's write
//     may return older replies for MemoryTTL.
//
// Configure Redis with maxmemory and an eviction policy: clients determine how many
// different replies are stored.
//
// # How it is tested
//
// With real Redis servers that the tests start, kill, pause and restart, empty or with
// their data on disk, and with servers that send nonsense. A history checker reads and
// writes through two replicas concurrently, also while Redis fails and recovers. The tests
// count fills and attempted round trips instead of measuring times.
package cache
