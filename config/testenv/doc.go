// Package testenv TODO.
//
// # Jsonschemas
//
// Package jsonschemas compiles the JSON Schemas that the program prints or ships, for tests.
//
// # How it is tested
//
// By the tests that validate files with them.
//
// # Nightly
//
// Package nightly distinguishes runs of the tests for every commit, which test samples,
// from nightly runs, which test everything.
//
// # Principles
//
//  1. The run for every commit finds faults of a change within minutes. Repetitions on
//     another engine, with more values or for a longer time run at night.
//  2. A test that runs only at night says so when it is skipped, and names the stage of
//     .ci/nightly that runs it.
//
// # How it is tested
//
// The stages of .ci/nightly, which set the environment variable that this package reads,
// run the tests that use it.
//
// # Programs
//
// Package programs finds and starts external programs that tests need, such as servers
// and browsers.
//
// # Principles
//
//  1. A developer without a program can run all other tests: the tests that need it are
//     skipped with a message.
//  2. In CI no test may be skipped for a missing program: there the tests that need it
//     fail.
//  3. Portico's own programs run from the test binary. Building them would take seconds,
//     and the race detector would not look into them.
//
// # How it is tested
//
// A table of programs and environments on a testing.TB that records how the test ends,
// and programs that the test binary holds, of which one does not exit by itself.
//
// # Chromium
//
// Package chromium starts a headless browser for tests of HTML pages.
//
// # Principles
//
//  1. As in package programs, a developer without Chromium can run all other tests.
//  2. The browser exits with its test, and after five minutes at the latest, however long
//     a page takes.
//
// # How it is tested
//
// The tests of pages use it.
//
// # Redisservers
//
// Package redisservers starts private Redis Clusters and Redis servers with Sentinels, which tests
// can break.
//
// # Principles
//
//  1. A cluster has three masters with a replica each, and a group of Sentinels watches a master
//     with two replicas: the least that both recommend.
//  2. All servers listen on free ports of the loopback interface, keep their data in temporary
//     folders, and end with the test, even if it crashes.
//  3. A failover takes as long as the node timeout that a test chooses.
//
// # How it is tested
//
// Each kind is started, loses a master, and answers again under the promoted replica.
//
// # Servers
//
// Package servers runs servers of other programs that belong together, such as the members of a
// cluster and the proxy before them, for one test.
//
// # Principles
//
//  1. All files are in one temporary folder, which is in memory if there is room, and all servers
//     listen on free ports of the loopback interface.
//  2. Database servers refuse to run as root, so that all servers run as another user if the tests
//     are root.
//  3. However the test binary ends, the servers are ended and the folder is removed: a shell script
//     watches a pipe that closes with the binary. It ends the processes whose ids are in files: the
//     processes that the group has started, and the servers that these have started, such as the
//     PostgreSQL of a Patroni.
//
// # How it is tested
//
// With processes that a killed one has left behind, and by the tests of clusters.
//
// # Otlptest
//
// Package otlptest is a collector for tests: it receives traces by OTLP over HTTP on the
// loopback interface and decodes them.
package testenv
