// Package testenv finds and starts the parts of their environment that tests need: external
// programs, a headless browser, groups of servers such as a Redis Cluster, and a receiver of
// traces. It also distinguishes nightly runs of the tests from the run for every commit.
//
// # Principles
//
//  1. A developer without a program can run all other tests: [Need] skips the tests that need it,
//     with a message. In CI it fails them, because no test may be skipped there.
//  2. The run for every commit tests a sample, and finds faults of a change within minutes.
//     Repetitions on another engine, with more values or for a longer time run at night
//     ([Nightly]). A test that runs only at night is skipped with the name of the stage of
//     .ci/nightly that runs it ([OnlyNightly]).
//  3. Portico's own programs run from the test binary ([Main], [Self]). Building them would take
//     seconds, and the race detector would not cover them.
//  4. Everything ends with its test, and servers end even if the test binary crashes. For a
//     [ServerGroup] a shell script waits on a pipe that closes with the binary. It then ends the
//     processes of the group and the servers that these have started, and removes the folder of
//     the group. A browser exits after five minutes at the latest.
//  5. Servers listen on free ports of the loopback interface, and keep their files in temporary
//     folders. A group has one folder, which is in memory if there is room. If the tests run as
//     root, its servers run as another user, because database servers refuse to run as root.
//  6. A [RedisCluster] has three masters with a replica each, and [RedisSentinels] watch a master
//     with two replicas, the minimum that the documentation of Redis recommends. A failover takes as
//     long as the node timeout that the test chooses.
//  7. A busy machine delays a test, and does not fail it: a test waits with [Await], [Poll] or [Receive],
//     which give up after a fifth of the time that the test binary has left ([Patience]).
//
// # How it is tested
//
// Table tests of [Need] use a testing.TB that records how the test ends. Other tests start programs
// of the test binary, one of which does not exit by itself, and a group of servers whose test binary
// is killed. Each kind of Redis loses a master, and answers again under the promoted replica. The
// tests that use the browser and the receiver of traces test these.
package testenv
