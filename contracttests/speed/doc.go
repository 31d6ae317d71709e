// Package speed measures how near the program comes to the fastest server that could give
// the same replies. It has benchmarks only, and no code of the program:
//
//	go test ./contracttests/speed -run '^$' -bench . -benchtime 1x
//
// prints the whole table, and -bench 'Hit/logs' one part of it.
//
// # Principles
//
//  1. Server and load generator are processes of their own, as no deployment runs them in one. The
//     load generator is wrk if it is installed, otherwise a process of the test binary.
//  2. Every figure is a ratio to a floor: a server that is written by hand for one request, and
//     gives the same reply, as tests check.
//  3. The program and the floor take turns, in pairs of slices of some seconds, and the median of
//     all pairs counts, so that other load on the machine affects both.
//  4. The processor time of a request is reported besides the rate. It is measured by the system for
//     the process of the server only, and noise hardly moves it.
//  5. The program runs with the settings of a default deployment. Only reads that are to reach the
//     database run without the reply cache.
//
// # Metrics
//
//	rate-ratio  requests a second of the program, as a part of the floor's
//	cpu-ratio   processor time of the program for a request, as a multiple of the floor's
//	us/request, floor-us/request
//	            the processor times, in microseconds
//
// Floors are handlers of net/http or gin with prepared statements on the same database and
// driver. They have no routes, roles, formats or list modifiers, no log and no metrics. Varnish
// and nginx, which serve the bytes of a cached reply, are measured where they are installed.
//
// # How it is tested
//
// TestReads and TestWrites check that the program and the floors give the same replies and write the
// same rows. A benchmark fails if any reply has an unexpected status.
//
// # Growth
//
// Package growth measures, in tests only, how the program performs as a store grows: reads, filters and
// starts with many products, many connections, and many cached replies.
//
// # Principles
//
//  1. The program is a process of its own, so that its memory and its processor time are the server's
//     alone.
//  2. A figure is a ratio to another one of the same run, such as the time of page 5,000 to that of
//     page 1. Calls that are compared take turns. Where a ratio makes no sense, as for the time of a
//     start, the processor time comes with it, which other programs hardly change.
//  3. Where the size of the program or its start matters, the program is built as for a release,
//     and is not the test binary.
//  4. Large stores are on disk, in /var/tmp unless TMPDIR names another folder, and are removed at
//     the end.
//
// # How it is run
//
// Without flags the benchmarks of a catalog are skipped. A million products take about a minute and
// 2 GB, ten million of PostgreSQL a quarter of an hour and 20 GB:
//
//	go test ./contracttests/speed -run '^$' -bench Catalog -benchtime 1x -timeout 2h -products=1000000 -engine postgres
//	go test ./contracttests/speed -run '^$' -bench 'Start|Connections' -benchtime 1x
//
// With -store the products stay in a database for further runs.
//
// # How it is tested
//
// A test compares the program's replies about generated products with its replies about the same products
// after it has written them itself, on each engine. Another one runs the statements of the guide to large
// catalogs, and checks that the engines use the indexes.
package speed
