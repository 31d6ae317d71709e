// Package cache keeps finished replies of reads that are the same for everybody,
// in the memory of the process and in a Redis that replicas share, and tells replicas
// by that Redis which nonces others have used. It knows keys, bytes and tags; what they
// mean is the caller's business.
//
// # Principles
//
//  1. What was acknowledged is seen. A reply depends on tags ("catalog",
//     "product:12"), and always on all. A write names the tags it may change, and
//     calls [Cache.BeginWrite] before it is committed and done afterwards. A look-up
//     that begins after done has returned hands out nothing older.
//  2. Nothing is removed by key. A tag has a generation, a random token in Redis
//     and a counter in each process; a reply carries those that were read before
//     it was made, and is current only while they are. What is missing, expired
//     or evicted is a miss.
//  3. Generations change twice: before the commit, and after it. Before, because
//     the writer may be killed once it has committed, and then nothing made
//     earlier may be current. After, because replies that were read between the
//     first time and the commit must not be either. Between the two a lease lies
//     in Redis. Who makes a reply reads, for each tag, the generation and then
//     whether there is a lease, and stores nothing if there is: either the lease
//     shows, or the generation read is one that the change still ends. So nothing
//     that was read before a commit outlives it, even if done is never called:
//     the crash costs replicas the storing of those tags for the lease, 5 s.
//  4. Redis is asked in one round trip of plain commands: no scripts, no
//     transactions, no command on several keys, so that a cluster will do; the
//     generation and the lease of a tag lie on one node. Round trips have a
//     deadline of their own and are not repeated. A few are on their way at once;
//     the others wait for a place, and are misses if they get none.
//  5. Redis never fails a call. What it cannot tell is a miss and a count. After
//     three failures in a row, or one that should have ended replies, or when the
//     subscription breaks, a breaker opens, and nobody but the keeper talks to
//     Redis: one attempt each [OpenFor]. The keeper begins a new epoch,
//     the generation of all, before it closes the breaker, since changes may have
//     been missed meanwhile, or forgotten by a Redis restarted with old data. A
//     change that falls between the two has it begin another.
//  6. Memory answers by itself for MemoryTTL only, where there is Redis, and ends
//     what other replicas publish; it is emptied when Redis is lost and when it
//     is back. While Redis is away it is the only tier there is, and knows the
//     writes of its own process alone.
//  7. One fill for all who miss the same key under the same generations. It
//     belongs to none of them.
//  8. An upstream that cannot answer is stood in for by the last reply that no
//     change has ended.
//
// # What does not hold
//
// All this is exact for one Redis that keeps what it has acknowledged, and bounded
// by the ttl, and when the upstream is away by StaleTTL beyond it, for the rest:
//
//   - A replica that is cut off from a Redis which others reach cannot tell them of
//     its writes until it is back, when a new epoch ends all. The same goes for the
//     time from a pause of Redis to the epoch of the replica that wrote in it, at
//     most [OpenFor] and two pings, as far as others have not noticed the pause.
//     They have if it lasted for four times [PingEvery], or through
//     [FailuresToOpen] calls of theirs.
//   - A Redis that is restarted with old data is noticed by the subscription that
//     breaks. When that shows only later, because its host vanished without a word,
//     the pings tell. A process that is started in the meantime has nothing to
//     compare with.
//   - A failover may lose what the old master had not passed on, and a Redis short
//     of memory may evict a lease: this matters when a writer is killed meanwhile.
//   - A commit that takes longer than the lease, of a writer that is then killed.
//   - A change that begins while Redis is away has no lease: it matters when Redis
//     comes back before it is done, and the writer is then killed.
//   - MemoryTTL above 0 is how long one replica may hand out what another has
//     changed, if the message about it is lost.
//
// A Redis for this wants maxmemory with a policy that evicts: whoever asks for
// what nobody asked for before stores a reply.
//
// # How it is tested
//
// On real Redis servers that the tests start, kill, pause and restart, empty and
// with what they had on disk, and on ones that answer nonsense. A history checker
// writes and reads through two replicas at the same time, also while Redis comes
// and goes. Counted are calls of fill and round trips attempted, not times.
package cache
