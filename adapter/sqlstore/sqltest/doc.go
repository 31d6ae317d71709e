//go:build linux

// Package sqltest starts real servers for tests: databases, clusters of them, PgBouncer, an
// S3-compatible store, Medusa and Vendure.
//
// # Principles
//
//  1. The test binaries of a go command share one server of each kind, which the first of them starts, on
//     a free port of the loopback interface and in a temporary folder, which is in memory if there is
//     room. It ends with the go command, however that ends: a shell script waits for it, stops the
//     server and removes its folder. It does not touch other servers on the machine. A test binary
//     that nothing started with go has servers of its own, which end with it, and so has one that
//     uses a binary log.
//  2. Every call returns a new database, which is removed when the test ends. It is empty or a copy
//     of a [Template]. What tests change beyond it, such as a role, has a name of its own.
//  3. If a server is not installed, the test is skipped. With CI=true in the environment it fails
//     instead, so that CI leaves nothing out unnoticed.
//  4. A test that kills or pauses its server starts one of its own ([StartPostgres],
//     [StartMariaDB], [StartLoggedMariaDB]). Committed data survives that.
//  5. [StartGalera] starts three MariaDB nodes. A test may kill, pause or isolate a node, and have
//     it join again ([GaleraCluster.Rejoin]). [GaleraCluster.Balance] starts an HAProxy as
//     operators run it: one node takes the writes, and the others are its backups. The cluster
//     gives up a silent node after one second instead of five, as the operators' documentation
//     recommends.
//  6. [StartPatroni] starts PostgreSQL with failover: three nodes that Patroni manages, with a
//     synchronous standby, an etcd and an HAProxy. [PatroniCluster.KillPrimary] kills Patroni and
//     PostgreSQL together, as a power failure does. The times are short, about a fifth of Patroni's
//     defaults; the settings that decide which data survives are the production ones.
//  7. [StartBouncer] starts PgBouncer with its default settings except the pool mode. It has fewer
//     connections to the server than its clients have to it, so that clients share them.
//  8. [StartBucketServer] starts versitygw, which stores its objects in a folder and is built with
//     go.
//  9. [StartMedusa] and [StartVendure] take up to a minute, and minutes if npm has to install the
//     backend. Their tests run only on request: PORTICO_TEST_MEDUSA and PORTICO_TEST_VENDURE are 1,
//     or name a file with the output of start.sh for a running server with an empty shop. Otherwise
//     they are skipped.
//
// # How it is tested
//
// On real servers, and by killing a test binary in the middle of a test. The tests that use the
// clusters and the backends test the rest; stages of .ci/nightly run them.
package sqltest
