// Package cache caches replies of reads that are the same for all callers, in the memory
// of the process and in a Redis that replicas share. It also uses Redis to share used
// nonces between replicas. The package handles keys, bytes and tags; their meaning is up
// to the caller.
//
// Terms:
//
//   - A tag ("catalog", "product:12") names data that replies depend on. Every reply also
//     depends on the tag all.
//   - The generation of a tag is a random token in Redis, and a counter in each process. A reply is
//     current as long as its tags still have the generations that were read before it was made.
//     Changing a generation invalidates all replies with the tag.
//   - The epoch is the generation of the tag all.
//   - A lease is a key in Redis that marks a write in progress.
//   - The upstream is the source from which the caller makes replies.
//   - The store epoch is a text that changes whenever the store is replaced by something that calls
//     no BeginWrite, such as a restored backup.
//   - The prefix begins the names of all keys and channels in Redis. Replicas of one store have the
//     same prefix; stores that share a Redis have different ones.
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
//  4. Redis is accessed with single round trips of plain commands: no scripts, no transactions and
//     no multi-key commands, so a cluster works. The generation and the lease of a tag are on the
//     same node. Round trips have their own deadline. Commands may be repeated, so the value of a
//     nonce's key identifies the first caller. While a round trip with lookups is under way, other
//     lookups wait and share the next one, which reads each key once. If the first takes longer than
//     a few milliseconds, there is a second one beside it. Lookups that wait too long are misses.
//  5. Redis never fails a call. Errors count as misses, and are counted in metrics. After
//     three consecutive failures, one failed invalidation, or the loss of the subscription or
//     of a master of the cluster, a circuit breaker opens, and only the monitor accesses Redis,
//     once per [OpenFor]. A timeout during which this process did not run is no failure.
//  6. Replicas lose and regain Redis at different times. Each pings all masters, so that all
//     notice a loss within a second and a half. A write that cannot tell the others is
//     acknowledged only after that time. When Redis is back, the monitor reloads the topology of
//     a cluster and starts a new epoch, because invalidations may have been missed in the
//     meantime, or lost by a Redis that restarted with old data. From then on it sends
//     invalidations again, but trusts replies only a second later, when all others do the same.
//     If another invalidation is missed while it starts the epoch, it starts yet another one.
//  7. With Redis, memory answers without asking Redis for at most MemoryTTL, and invalidates the
//     tags that other replicas publish. It is invalidated when Redis is lost and when it is back.
//     After MemoryTTL, [Cache.GetLocal] reads only the generations of a reply in memory. If they have
//     not changed since before the reply was made, the reply is current, and is not read again. A
//     reply that was made under a lease is always read again.
//     While Redis is unavailable, memory is the only tier, and knows only the writes of its own
//     process.
//  8. Concurrent callers that miss the same key under the same generations share one fill.
//     The fill does not end with any of them. If the generations are unknown, they share only
//     a fill that begins after they called.
//     With Redis, a replica that misses takes a lease of the key under its generations. Others that
//     miss wait a quarter of a second at most for its reply before they fill themselves.
//  9. [Changes] handle the changes that other programs make to the upstream without calling
//     BeginWrite. Before a lookup returns a reply, it waits until Changes has invalidated all
//     replies whose data changed earlier. With Redis, each replica also invalidates the tags there
//     when it notices a change, so that it does not get an older reply of another replica.
//  10. When the upstream cannot answer, the last reply that no write has invalidated is
//     returned instead.
//  11. The key of a reply in Redis depends on the store epoch, so that no reply outlives a store that
//     was replaced. The checksum of a reply covers its key, so that the value of another key is a
//     miss, and it is computed with [Options].Secret, so that nobody can make one without it.
//     Somebody who can write to Redis can still bring back an earlier reply under its own key,
//     together with its generations.
//  12. [Buckets] add up the counts of all replicas for rate limits, after the fact, and at most
//     twenty times a second.
//
// # Limitations
//
// The guarantees hold for a Redis that all replicas lose at about the same time, if they lose
// it: a single one, one that Sentinels watch, or a cluster, whose node timeout must be at least
// two seconds so that all replicas notice the loss of a master before another one is promoted.
// In the following cases a reply may be outdated until its ttl has passed, plus StaleTTL if the
// upstream cannot answer:
//
//   - A replica that cannot reach a Redis that other replicas can reach cannot tell them of
//     its writes until it reconnects and starts a new epoch, unless that takes less than a
//     second and a half.
//   - A process that is started while others cannot reach Redis trusts it at once.
//   - A failover may lose writes that were not yet replicated, and a Redis that is short of
//     memory may evict a lease: relevant if a writer is killed at that time.
//   - A commit takes longer than the lease, and the writer is killed afterwards.
//   - A write that begins while Redis is unavailable has no lease: relevant if Redis returns
//     before the write is done, and the writer is killed afterwards.
//   - With MemoryTTL above 0, a replica that misses the message about another replica's write
//     may return older replies for MemoryTTL.
//
// Configure Redis with maxmemory and an eviction policy: clients determine how many
// different replies are stored.
//
// # How it is tested
//
// With real Redis servers that the tests start, kill, pause and restart, empty or with
// their data on disk, with clusters and Sentinels that promote replicas, with a process that is
// stopped, and with servers that send nonsense. A history checker reads and writes through two
// replicas concurrently, also while Redis fails and recovers. The tests count fills and attempted
// round trips instead of measuring times.
package cache
