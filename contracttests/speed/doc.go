// Package speed measures how fast the program is, in relation to the fastest server that could give
// the same replies, and how its performance changes as a store grows. It has benchmarks and tests
// only:
//
//	go test ./contracttests/speed -run '^$' -bench . -benchtime 1x
//
// prints the whole table, and -bench 'Hit/logs' one part of it. Without flags the benchmarks of a
// catalog are skipped. A million products take about a minute and 2 GB, ten million on PostgreSQL a
// quarter of an hour and 20 GB:
//
//	go test ./contracttests/speed -run '^$' -bench Catalog -benchtime 1x -timeout 2h -products=1000000 -engine postgres
//
// With -store the products stay in a database for further runs.
//
// # Principles
//
//  1. Server and load generator are processes of their own, as in a deployment, so that memory and
//     processor time are the server's alone. The load generator is wrk if it is installed, otherwise
//     a process of the test binary.
//  2. A figure is a ratio to another one of the same run: to a floor, or, for growth, to another
//     call, such as page 5,000 to page 1. A floor is a server that is written by hand for one
//     request and gives the same reply: a handler of net/http or gin with prepared statements on the
//     same database and driver. It has no routes, roles, formats, list modifiers, log or metrics.
//     Varnish and nginx, which serve the bytes of a cached reply, are measured where they are
//     installed.
//  3. The servers or calls that are compared take turns, in pairs of slices of some seconds, and the
//     median of all pairs counts, so that other load on the machine affects both.
//  4. The processor time of a request is reported besides the rate, because other load hardly
//     changes it. Where a ratio makes no sense, as for the time of a start, it is the figure to
//     compare.
//  5. The program runs with the settings of a default deployment. Only reads that must reach the
//     database run without the reply cache. Where the size of the program or its start matters, the
//     program is built as for a release.
//  6. Large stores are on disk, in /var/tmp unless TMPDIR names another folder, and are removed at
//     the end.
//
// # Metrics
//
//	rate-ratio  requests per second of the program, as a fraction of the floor's
//	cpu-ratio   processor time of the program for a request, as a multiple of the floor's
//	us/request, floor-us/request
//	            the processor times, in microseconds
//
// # How it is tested
//
// TestReads, TestGrowths and TestWrites check that the program and the floors give the same replies and
// write the same rows. A benchmark fails if any reply has an unexpected status. TestGeneratedProducts compares
// replies about generated products with replies about the same products that the program has written
// itself, on each engine. TestGuideIndexes runs the statements of the guide to large catalogs, and
// checks that the engines use the indexes.
package speed
