// Package capacity plans how many replicas, which Redis and which database a load takes: a model of
// Portico with its cache, fed by measured costs.
//
// # Principles
//
//  1. Costs are processor time and counts, which are measured with real servers (costs.json) and change
//     little while a machine is busy. Times on the wire are assumptions of a [Plan].
//  2. The cache of the model has the rules of package cache: generations and leases in Redis, a look-up,
//     preparing and storing as round trips of their own, shared fills, and a message to all replicas
//     for each write. Replies are keys without contents.
//  3. What a formula can say (hit ratios, connections), a formula says. The simulation has the same
//     requests meet: queues, fills that concurrent writes void, and fills that replicas repeat.
//  4. A seed repeats a simulation exactly.
//
// # Limitations
//
// Servers serve in the order of arrival and never fail; the circuit breakers and limits of Portico,
// locks of rows and memory of servers are left out. A station that has more work than it can do is
// reported as such: what clients then see depends on what the model leaves out.
//
// # How it is tested
//
// Against exact counts of a cache by hand, against the formulas, and, in package trial, against real
// replicas that get the same requests.
package capacity
